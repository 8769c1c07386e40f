/**
 * A result that a person states of a lost call passes the operator's output schema, as one that the operator gives
 * does.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createTestKernel, memoryLedger, type TestKernel } from "../../src/testing/index.ts";
import { counted, decide, intent, payloads, refusalOf, step, story } from "./story.ts";

const Sent = z.object({ sent: z.string().transform((text) => `by ${text}`), by: z.string().default("hand") });

/** `send` may take effect and never answers; `tell` needs what it gave. */
function lostCall(output: z.ZodType = Sent) {
  const send = counted(
    "Note.Send",
    { effect: "write_draft", timeoutSec: 1, output },
    () => new Promise(() => undefined),
  );
  const tell = counted("Note.Tell");
  const rows = [
    step("send", send, { params: { text: "a" } }),
    step("tell", tell, { depends_on: ["send"], params: { heard: "{{send.output}}" } }),
  ];
  return { send, tell, capability: story([send, tell], rows) };
}

const settle = (t: TestKernel, id: string, result?: unknown) =>
  decide(t, id, {
    decision: "approve",
    gate_id: "gate-send_doubt1",
    payload: { resolution: "done", ...(result !== undefined && { result }) },
  });

describe("a result that a person states of a lost call", () => {
  it.each<readonly [string, unknown]>([
    ["lacks a member", {}],
    ["has another type", { sent: 7 }],
    ["is null", null],
    ["is a text", "sent"],
  ])("and that %s is refused with what is wrong of it, and the gate stays open", async (_how, result) => {
    const { capability } = lostCall();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const refused = await refusalOf(settle(t, workflow_id, result));
    expect([refused.code, refused.detail["operator"]]).toEqual(["T5_RESULT_INVALID", "Note.Send"]);
    expect(refused.detail["errors"]).not.toEqual([]);
    expect((await t.kernel.workflow(workflow_id)).state).toBe("waiting_for_user");
    expect(await payloads(t, workflow_id, "ACTION_SETTLED")).toEqual([]);
  });

  it("is what the schema makes of it, once, for later steps, the record and whoever repeats it", async () => {
    const { capability, tell } = lostCall();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const first = await settle(t, workflow_id, { sent: "ann" });
    expect(await settle(t, workflow_id, { sent: "ann" })).toEqual(first);
    expect((await refusalOf(settle(t, workflow_id, { sent: "bob" }))).code).toBe("T5_GATE_CONFLICT");
    expect((await t.rest(workflow_id)).state).toBe("completed");
    const parsed = { sent: "by ann", by: "hand" };
    expect(await payloads(t, workflow_id, "ACTION_SETTLED")).toMatchObject([{ result: parsed }]);
    expect(tell.calls.map(({ input }) => input)).toEqual([{ heard: parsed }]);
    expect(await t.kernel.replay(workflow_id)).toMatchObject({ identical: true });
  });

  it("is refused where the schema throws, or gives no JSON", async () => {
    const throwing = z.object({ sent: z.string() }).refine(({ sent }) => {
      if (sent === "ann") throw new Error("no");
      return true;
    });
    for (const output of [throwing, z.object({ sent: z.string().transform(() => new Map()) })]) {
      const { capability } = lostCall(output);
      await using t = await createTestKernel({ capabilities: [capability] });
      const { workflow_id } = await t.run(intent);
      expect((await refusalOf(settle(t, workflow_id, { sent: "ann" }))).code).toBe("T5_RESULT_INVALID");
    }
  });

  it("need not be stated", async () => {
    const { capability, tell } = lostCall();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await settle(t, workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(tell.calls.map(({ input }) => input)).toEqual([{ heard: null }]);
  });

  it("stays as it is where a process does not know the operator", async () => {
    const ledger = memoryLedger();
    const { capability } = lostCall();
    const id = await (async () => {
      await using t = await createTestKernel({ capabilities: [capability], ledger });
      return (await t.run(intent)).workflow_id;
    })();
    await using t = await createTestKernel({ ledger, seed: 2 });
    await settle(t, id, { sent: 7 });
    expect(await payloads(t, id, "ACTION_SETTLED")).toMatchObject([{ result: { sent: 7 } }]);
  });
});

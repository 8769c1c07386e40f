/**
 * What policy masks is told by nothing that is made of it: no record of the decision, no text, no stream, no memory.
 */
import { describe, expect, it } from "vitest";
import type { LedgerEvent } from "../../src/contract/event.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { counted, eventsOf, intentType, listOf, oneStep, ruleOf } from "../journey/parts.ts";

const secret = "+43-660-1234567";
const mask = (stage: "action" | "outcome") =>
  ruleOf(
    [stage],
    ({ subject: { payload } }) =>
      "phone" in (payload as object) ? { decision: "ALLOW_WITH_REDACTION", redactions: ["phone"] } : null,
    "mask",
  );

/** What the ledger and the streams tell, but for what the operator itself gave. */
async function reportedOf({ kernel, ...t }: TestKernel, workflow_id: string): Promise<string> {
  const events = await eventsOf({ kernel, ...t } as TestKernel, workflow_id);
  const isGiven = ({ event_type: type }: LedgerEvent): boolean => type === "ACTION_SUCCEEDED";
  return JSON.stringify([
    events.filter((event) => !isGiven(event)),
    await kernel.workflow(workflow_id),
    await kernel.trace(workflow_id),
    await listOf(kernel.progress(workflow_id, { live: false })),
    await listOf(kernel.assistant(workflow_id, { live: false })),
    t.logged,
  ]);
}

describe("what is masked", () => {
  it.each([
    ["action", ["INTENT_RECEIVED", "PLAN_CREATED"]],
    ["outcome", ["INTENT_RECEIVED", "PLAN_CREATED", "ACTION_STARTED", "STEP_STREAMED", "ACTION_SUCCEEDED"]],
  ] as const)("[PLC-07] at stage %s stands in the events before it, and in no other", async (stage, before) => {
    const write = counted("Notes.Write", {}, ({ input, stream }) => {
      stream(`Call ${String(input["phone"])} today`);
      return input;
    });
    const params = { phone: secret };
    const capability = oneStep(write, { outcome: "Note", params });
    await using t = await createTestKernel({ capabilities: [capability], policies: [mask(stage)] });
    const { workflow_id } = await t.run(intentType, params);
    const events = await eventsOf(t, workflow_id);
    const holding = events.filter((event) => JSON.stringify(event).includes(secret));
    expect([...new Set(holding.map(({ event_type: type }) => type))]).toEqual(before);
  });

  it("[PLC-07] beside a transform is masked in the decision on record too, that holds the whole payload", async () => {
    const write = counted("Notes.Write");
    const stamp = ruleOf(
      ["action"],
      ({ subject: { payload } }) => ({
        decision: "TRANSFORM",
        transform: { ...(payload as object), stamped: true },
      }),
      "stamp",
    );
    const capability = oneStep(write, { gate: { reason: "a person looks" } });
    await using t = await createTestKernel({ capabilities: [capability], policies: [stamp, mask("action")] });
    const { workflow_id } = await t.run(intentType);
    const ann = { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } };
    const payload = { edit: { phone: secret } };
    await t.kernel.decideGate(workflow_id, { ...ann, gate_id: "gate-s1", decision: "approve", payload });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(write.calls.map(({ input }) => input)).toMatchObject([{ phone: "[redacted]", stamped: true }]);
    expect(await reportedOf(t, workflow_id)).not.toContain(secret);
    expect(await t.kernel.replay(workflow_id)).toMatchObject({ identical: true });
  });

  it.each([
    ["the text made of it", { phone: secret, note: "rain" }],
    [
      "the text that its operator gave",
      { data: { phone: secret, note: "rain" }, output_text: `Call ${secret}.`, status: "COMPLETED" },
    ],
  ])(
    "[PLC-07] of an outcome is not told by %s: as progress, as the answer, in the thread's memory",
    async (_of, given) => {
      const write = counted("Notes.Write", {}, () => given);
      const capability = oneStep(write, { outcome: "Note" });
      await using t = await createTestKernel({ capabilities: [capability], policies: [mask("outcome")] });
      const { workflow_id } = await t.run(intentType, {}, { thread_id: "t1" });
      const told = await reportedOf(t, workflow_id);
      expect(told).toContain("MEMORY_WRITTEN");
      expect(told).not.toContain(secret);
      expect((await t.kernel.workflow(workflow_id)).steps[0]?.output_text).toBe('{"phone":"[redacted]","note":"rain"}');
      expect(await t.kernel.replay(workflow_id)).toMatchObject({ identical: true });
    },
  );
});

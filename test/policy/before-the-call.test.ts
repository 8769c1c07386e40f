/** What policy said before another release took over, and before anything was called, is asked of the policy of now. */
import { describe, expect, it } from "vitest";
import { operatorError } from "../../src/index.ts";
import { createTestKernel, memoryLedger, testCaller } from "../../src/testing/index.ts";
import { intent, Note, step, story } from "../gates/story.ts";
import { counted, eventsOf, intentType, ofType, oneStep, ruleOf } from "../journey/parts.ts";

describe("a step that was judged by a policy and taken up under another", () => {
  it("[PLC-04] is judged by that before its first call, and called no more where it denies", async () => {
    const write = counted("Notes.Write");
    const ledger = memoryLedger();
    const slow = { name: "slow", before: () => new Promise<never>(() => undefined) };
    const first = await createTestKernel({ ledger, capabilities: [oneStep(write)], middleware: [slow] });
    const { workflow_id } = await first.kernel.submit({
      tenant_id: 1,
      principal: { type: "user", id: 1, role: "user" },
      intent_hint: { intent_type: intentType, inputs: {} },
    });
    await first.clock.settle();
    const judged = async (t: typeof first) =>
      ofType(await eventsOf(t, workflow_id), "POLICY_DECIDED")
        .filter(({ payload }) => payload["stage"] === "action")
        .map(({ payload }) => payload["decision"]);
    expect(await judged(first)).toEqual(["ALLOW"]);
    await first.kernel.stop({ drainMs: 0 });
    const stop = ruleOf(["action"], () => ({ decision: "DENY", reason: "from today on" }), "stop");
    await using second = await createTestKernel({ ledger, capabilities: [oneStep(write)], policies: [stop], seed: 2 });
    expect((await second.rest(workflow_id)).status).toBe("blocked");
    expect([await judged(second), write.calls]).toEqual([["ALLOW", "DENY"], []]);
  });
});

describe("a step that is called again after a failure", () => {
  it("[MID-05] gets what policy made of its payload, and policy is not asked a second time", async () => {
    let calls = 0;
    const write = counted("Notes.Write", { retry: "STANDARD" }, () => {
      calls += 1;
      if (calls === 1) throw operatorError({ code: "BUSY", message: "not now", category: "transient" });
      return {};
    });
    const transform = { text: "as policy has it" };
    const change = ruleOf(["action"], () => ({ decision: "TRANSFORM", transform }), "change");
    await using t = await createTestKernel({ capabilities: [oneStep(write)], policies: [change] });
    const { workflow_id } = await t.run(intentType);
    await t.clock.advance(10_000);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(write.calls.map(({ input }) => input)).toEqual([transform, transform]);
    const asked = ofType(await eventsOf(t, workflow_id), "POLICY_DECIDED");
    expect(asked.filter(({ payload }) => payload["stage"] === "action")).toHaveLength(1);
  });

  it("is the call that was begun, under its key, though an edit elsewhere would make its params others", async () => {
    const draft = counted("Note.Draft", {}, () => ({ text: "a draft" }));
    let calls = 0;
    const send = counted("Note.Send", { effect: "write_draft", retry: "STANDARD" }, () => {
      calls += 1;
      if (calls === 1) throw operatorError({ code: "BUSY", message: "not now", category: "transient" });
      return {};
    });
    const publish = counted("Note.Publish", { effect: "final_write" });
    const params = { text: "{{draft.output.text}}" };
    const rows = [
      step("draft", draft, { outcome: "Draft.Note" }),
      step("send", send, { params, depends_on: ["draft"] }),
      step("publish", publish, { params, applies: "draft", depends_on: ["draft"] }),
    ];
    const capability = story([draft, send, publish], rows, { outcomes: { "Draft.Note": Note } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const hint = { intent_type: intent, inputs: {} };
    const { workflow_id } = await t.kernel.submit({ ...testCaller, intent_hint: hint });
    await t.clock.settle();
    const gate_id = "gate-publish";
    const edit = { text: "an edit" };
    await t.kernel.decideGate(workflow_id, { ...testCaller, gate_id, decision: "approve", payload: { edit } });
    await t.clock.advance(10_000);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(send.calls.map(({ input }) => input)).toEqual([{ text: "a draft" }, { text: "a draft" }]);
    expect(new Set(send.calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(publish.calls.map(({ input }) => input)).toEqual([edit]);
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });
});

/** What policy said before another release took over, and before anything was called, is asked of the policy of now. */
import { describe, expect, it } from "vitest";
import { operatorError } from "../../src/index.ts";
import { createTestKernel, memoryLedger } from "../../src/testing/index.ts";
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
});

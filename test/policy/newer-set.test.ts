/** A workflow that goes on under another policy: what the one before allowed is asked again. */
import { describe, expect, it } from "vitest";
import { definePolicySet, type RuleSet } from "../../src/index.ts";
import { createTestKernel, memoryLedger, testCaller } from "../../src/testing/index.ts";
import { counted, intent, step, story } from "../gates/story.ts";

const denying = (version: string, operator: string): RuleSet =>
  definePolicySet({
    version,
    rules: [
      { name: "barred", stages: ["action"], when: { operators: [operator] }, decision: "DENY", reason: "barred" },
    ],
  });

describe("a workflow that goes on under another policy", () => {
  it("[PLC-01][INV-06] is asked again for a step that the policy before had allowed", async () => {
    const ledger = memoryLedger();
    const send = counted("Pay.Send", {}, () => {
      throw new Error("not yet");
    });
    const options = { capabilities: [story([send], [step("s1", send)])], ledger, limits: { maxReplans: 0 } };
    const before = await createTestKernel({ ...options, policies: [denying("v1", "Other.*")] });
    const { workflow_id: id, state } = await before.run(intent);
    expect([state, send.calls.length]).toEqual(["failed", 1]);
    await before.kernel.stop();
    await using t = await createTestKernel({ ...options, seed: 2, policies: [denying("v2", "Pay.*")] });
    await t.kernel.retry(id, { ...testCaller, mode: "resume_failed_steps" });
    expect(await t.rest(id)).toMatchObject({ state: "failed", error: { code: "T5_POLICY_DENIED" } });
    expect(send.calls.length).toBe(1);
  });
});

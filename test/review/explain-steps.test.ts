/** Of each step the explanation says whether it had an effect: the action that it took, or none. */
import { describe, expect, it } from "vitest";
import { definePolicy } from "../../src/index.ts";
import { createTestKernel, testCaller } from "../../src/testing/test-kernel.ts";
import { counted, intent, step, story } from "../gates/story.ts";

const denying = definePolicy({
  name: "not that",
  stages: ["action"],
  evaluate: ({ subject }) => (subject.operator === "Note.Barred" ? { decision: "DENY", reason: "no" } : null),
});

describe("explain", () => {
  it("names the action of a step that ran, and none of one that was denied", async () => {
    const [free, barred] = [counted("Note.Free"), counted("Note.Barred")];
    const capabilities = [story([free, barred], [step("free", free), step("barred", barred)])];
    await using t = await createTestKernel({ capabilities, policies: [denying], limits: { maxReplans: 0 } });
    const { workflow_id } = await t.run(intent);
    const [action] = await t.kernel.actions(workflow_id);
    const { steps } = await t.kernel.explain(workflow_id, testCaller);
    expect(steps.map(({ step_id, effect, attempts }) => [step_id, effect, attempts])).toEqual([
      ["free", `action ${action?.action_id}`, 1],
      ["barred", "none", 0],
    ]);
  });
});

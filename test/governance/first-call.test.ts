/** A ceiling is of what is used: before the first call of a workflow that is nothing. */
import { describe, expect, it } from "vitest";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { flow, intent, payloads, skill, step } from "../execution/flow.ts";

describe("the first call of a workflow", () => {
  it.each([
    ["tokens", { max_tokens: 40 }],
    ["invocations", { max_invocations: 1 }],
    ["both", { max_tokens: 40, max_invocations: 1 }],
  ])("[CAP-03] fits a ceiling of just its own %s; the second does not", async (_what, limits) => {
    const operator = skill("Probe.Work", () => "done", { resources: { tokens: 40 }, limits });
    const steps = [step("s1", "Probe.Work"), step("s2", "Probe.Work", { depends_on: ["s1"] })];
    await using t = await createTestKernel({ capabilities: [flow([operator], steps)] });
    const { workflow_id, steps: ended } = await t.run(intent);
    expect(ended.map(({ state }) => state)).toEqual(["succeeded", "failed"]);
    expect(await payloads(t, workflow_id, "ACTION_STARTED")).toHaveLength(1);
  });
});

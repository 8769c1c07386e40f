/** The care that a rule asks for stands on the gate that it opens, beside what the plan asks for. */
import { describe, expect, it } from "vitest";
import { definePolicySet } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { counted, intentType, oneStep } from "../journey/parts.ts";

const large = (confirm: string) =>
  definePolicySet({
    version: "7",
    rules: [
      {
        name: "payments.large",
        stages: ["action"],
        when: { amounts: [{ path: "total", above: 1000 }] },
        decision: "REQUIRE_HUMAN_APPROVAL",
        confirm,
        reason: "a large payment is read twice",
      },
    ],
  });

describe("a rule that asks for care", () => {
  it.each([
    ["type", undefined, 5000, "type"],
    ["second_step", undefined, 5000, "second_step"],
    ["type", "second_step", 5000, "type"],
    ["second_step", "type", 5000, "type"],
    ["type", "second_step", 10, "second_step"],
  ] as const)("%s beside the plan's %s, for %i: the gate says %s", async (byRule, byPlan, total, expected) => {
    const pay = counted("Payments.Pay");
    const gate = { reason: "every payment", ...(byPlan !== undefined && { confirm: byPlan }) };
    const capabilities = [oneStep(pay, { params: { total }, gate })];
    await using t = await createTestKernel({ capabilities, policies: [large(byRule)] });
    const { workflow_id, gates } = await t.run(intentType);
    expect(gates[0]?.confirm).toBe(expected);
    const demanded = gates[0]?.reasons.filter(({ source }) => source === "policy");
    expect(demanded).toMatchObject(total > 1000 ? [{ rule: "payments.large", confirm: byRule }] : []);
    await t.approve(workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(pay.calls.map(({ input }) => input)).toEqual([{ total }]);
  });
});

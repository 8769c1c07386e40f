/** Every kind of operator waits for a person, whoever asks for one. */
import { describe, expect, it } from "vitest";
import type { Operator } from "../../src/contract/operator.ts";
import type { PlanStepDraft } from "../../src/contract/plan.ts";
import { definePolicy } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { errand, intentType, operator, step, tool } from "./fixture.ts";

type More = Pick<Parameters<typeof operator>[2] & object, "policyTags" | "effect">;

/** One operator of each kind, and how often it was called. */
function ofKind(
  kind: "skill" | "llm" | "tool",
  more: More,
): { readonly operator: Operator; readonly calls: () => number } {
  let calls = 0;
  const count = (): string => `call ${++calls}`;
  const request = async () => ({ content: [{ type: "text", text: count() }] });
  const made =
    kind === "tool" ? tool("Test.Do", { request }, more) : operator("Test.Do", count, { kind, retry: "NONE", ...more });
  return { operator: made, calls: () => calls };
}

const asking = definePolicy({
  name: "asking",
  stages: ["action"],
  evaluate: () => ({ decision: "REQUIRE_HUMAN_APPROVAL", reason: "look first" }),
});

interface Demand {
  readonly more?: More;
  readonly row?: Partial<PlanStepDraft>;
  readonly policies?: readonly (typeof asking)[];
}

const demands: Readonly<Record<string, Demand>> = {
  policy: { policies: [asking] },
  plan: { row: { gate: { reason: "look first" } } },
  operator: { more: { policyTags: ["human_approval"] } },
};
const kinds = ["skill", "llm", "tool"] as const;
const cases = kinds.flatMap((kind) => Object.keys(demands).map((source) => [kind, source] as const));

describe("a call that a person is to approve", () => {
  it.each(cases)("[OPR-05] of a %s waits where the %s asks for it, and is made once approved", async (kind, source) => {
    const { more = {}, row = {}, policies = [] } = demands[source] as Demand;
    const { operator: one, calls } = ofKind(kind, more);
    await using t = await createTestKernel({ capabilities: [errand([step("s1", "Test.Do", row)], [one])], policies });
    const parked = await t.run(intentType);
    expect(parked.state).toBe("waiting_for_user");
    expect(parked.gates).toMatchObject([{ gate_id: "gate-s1", status: "open", reasons: [{ source }] }]);
    expect(calls()).toBe(0);
    await t.approve(parked.workflow_id);
    expect((await t.rest(parked.workflow_id)).state).toBe("completed");
    expect(calls()).toBe(1);
  });

  it.each(kinds)("[OPR-05] of a %s is not made once rejected", async (kind) => {
    const { operator: one, calls } = ofKind(kind, {});
    await using t = await createTestKernel({
      capabilities: [errand([step("s1", "Test.Do")], [one])],
      policies: [asking],
    });
    const { workflow_id } = await t.run(intentType);
    await t.reject(workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("cancelled");
    expect(calls()).toBe(0);
  });
});

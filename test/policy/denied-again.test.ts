/** A step that policy denied: what runs it again once the rules allow it. */
import { expect, it } from "vitest";
import { createTestKernel } from "../../src/testing/index.ts";
import { counted, intentType, oneStep, refusalOf, ruleOf } from "../journey/parts.ts";

it.each(["action", "outcome"] as const)(
  "a step that was denied at stage %s is not repeated by a plain retry, and runs again when it is regenerated",
  async (stage) => {
    let isDenied = true;
    const rule = ruleOf([stage], () => (isDenied ? { decision: "DENY", reason: "not now" } : null), "freeze");
    const write = counted("Notes.Write", {}, () => ({ text: "a note" }));
    await using t = await createTestKernel({ capabilities: [oneStep(write, { outcome: "Note" })], policies: [rule] });
    const { workflow_id, error } = await t.run(intentType);
    expect(error?.code).toBe("T5_POLICY_DENIED");
    isDenied = false;
    const caller = { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } };
    const refusal = await refusalOf(t.kernel.retry(workflow_id, caller));
    expect(refusal).toMatchObject({ code: "T4_WORKFLOW_CONFLICT", message: expect.stringContaining("regenerate") });
    await t.kernel.retry(workflow_id, { ...caller, mode: "regenerate", step_ids: ["s1"] });
    expect((await t.rest(workflow_id)).state).toBe("completed");
  },
);

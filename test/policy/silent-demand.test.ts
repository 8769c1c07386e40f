/** A rule that demands a person and says no more demands one all the same. */
import { describe, expect, it } from "vitest";
import { createTestKernel } from "../../src/testing/index.ts";
import { counted, intentType, oneStep, ruleOf } from "../journey/parts.ts";

describe("a demand without a reason", () => {
  it.each(["action", "plan"] as const)(
    "[PLC-05] at stage %s opens the gate, and nothing runs before",
    async (stage) => {
      const write = counted("Notes.Write");
      const policies = [ruleOf([stage], () => ({ decision: "REQUIRE_HUMAN_APPROVAL" }), "silent")];
      await using t = await createTestKernel({ capabilities: [oneStep(write)], policies });
      const parked = await t.run(intentType);
      expect(parked.state).toBe("waiting_for_user");
      expect(parked.gates).toMatchObject([{ gate_id: "gate-s1", status: "open" }]);
      expect(parked.gates[0]?.reasons).toHaveLength(1);
      expect(write.calls).toEqual([]);
      await t.approve(parked.workflow_id);
      expect((await t.rest(parked.workflow_id)).state).toBe("completed");
      expect(write.calls).toHaveLength(1);
    },
  );
});

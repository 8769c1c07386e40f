/** An effect that nobody approved but the clock says so: the gate's expiry stands where a person's decision would. */
import { describe, expect, it } from "vitest";
import { createTestKernel, testCaller } from "../../src/testing/test-kernel.ts";
import { gatedSteps, intent } from "../gates/story.ts";

const minute = 60_000;

describe("explain", () => {
  it.each([
    ["allow", "approve"],
    ["deny", "reject"],
  ] as const)(
    "a gate that expired with %s is told as a decision of nobody to %s what was shown",
    async (action, decision) => {
      const { capability, sent } = gatedSteps(1, { gate: { expiry: { after_ms: minute, action } } });
      await using t = await createTestKernel({ capabilities: [capability] });
      const { workflow_id, gates } = await t.run(intent);
      await t.clock.advance(minute);
      await t.rest(workflow_id);
      expect(sent()).toEqual(action === "allow" ? ["s1"] : []);
      const [link] = (await t.kernel.explain(workflow_id, testCaller)).chain;
      expect(link?.approval).toMatchObject({
        decision,
        principal: null,
        payload_digest: gates[0]?.payload_digest,
        edited: false,
        same_as_executed: action === "allow" ? true : null,
      });
    },
  );
});

/** What a rejection ends, and what it leaves to others. */
import { expect, it } from "vitest";
import { createTestKernel } from "../../src/testing/index.ts";
import { gatedSteps, gateOf, intent } from "./story.ts";

it("a rejection leaves gates of other branches open; the workflow ends as cancelled after them", async () => {
  const { capability, sent } = gatedSteps(2);
  await using t = await createTestKernel({ capabilities: [capability] });
  const { workflow_id } = await t.run(intent);
  await t.reject(workflow_id, "gate-s1");
  const between = await t.rest(workflow_id);
  expect([between.state, between.steps.map(({ state }) => state)]).toEqual(["waiting_for_user", ["failed", "running"]]);
  expect((await gateOf(t, workflow_id, "gate-s2")).status).toBe("open");
  await t.approve(workflow_id, "gate-s2");
  expect([(await t.rest(workflow_id)).state, sent()]).toEqual(["cancelled", ["s2"]]);
});

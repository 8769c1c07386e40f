/** What a person writes at a gate is text: no edit and no comment of theirs is read for references. */
import { expect, it } from "vitest";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { gateOf, intent, publishing } from "./story.ts";

it("[STP-06] [GAT-01] an edit of an outcome reaches the call to the byte", async () => {
  const { capability, publish } = publishing();
  await using t = await createTestKernel({ capabilities: [capability] });
  const { workflow_id } = await t.run(intent);
  const written = "{{draft.output}} {{publish.output}} {{draft.output.text}}";
  const { gate_id, payload_digest } = await gateOf(t, workflow_id);
  await t.kernel.decideGate(workflow_id, {
    ...testCaller,
    gate_id,
    decision: "approve",
    payload: { payload_digest, edit: { text: written }, comment: "{{draft.output}}" },
  } as never);
  expect((await t.rest(workflow_id)).state).toBe("completed");
  expect(publish.calls.map(({ input }) => input)).toEqual([{ text: written, to: "board" }]);
});

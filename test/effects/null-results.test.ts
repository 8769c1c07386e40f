/** Nothing is a result too: a key whose call gave null is answered with null, not called again. */
import { describe, expect, it } from "vitest";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { counted, intent, Note, payloads, step, story } from "../gates/story.ts";

/** One draft and two steps that apply it, each behind a gate: they share a key, and applying gives nothing. */
function twoApplies() {
  const draft = counted("Note.Draft", {}, () => ({ text: "a draft" }));
  const publish = counted("Note.Publish", { effect: "final_write" }, () => null);
  const applying = (id: string) => step(id, publish, { applies: "draft", params: { text: "{{draft.output.text}}" } });
  const rows = [step("draft", draft, { outcome: "Draft.Note" }), applying("a"), applying("b")];
  return { publish, capability: story([draft, publish], rows, { outcomes: { "Draft.Note": Note } }) };
}

describe("a stored null", () => {
  it("[IDM-03] answers the same key within a workflow, and the operator is not called again", async () => {
    const { publish, capability } = twoApplies();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    for (const gate of ["gate-a", "gate-b"]) {
      await t.approve(workflow_id, gate);
      await t.rest(workflow_id);
    }
    expect((await t.kernel.workflow(workflow_id)).state).toBe("completed");
    expect(publish.calls).toHaveLength(1);
    const ended = (await payloads(t, workflow_id, "ACTION_SUCCEEDED")).slice(1);
    expect(ended.map(({ result, cached }) => [result, cached])).toEqual([
      [null, false],
      [null, true],
    ]);
  });

  it("[IDM-03] answers the same key in the workflow that does the work again", async () => {
    const look = counted("Note.Look", {}, () => null);
    const tell = counted("Note.Tell", {}, () => "told");
    const rows = [step("look", look), step("tell", tell, { depends_on: ["look"] })];
    await using t = await createTestKernel({ capabilities: [story([look, tell], rows)] });
    const { workflow_id } = await t.run(intent);
    const again = await t.kernel.retry(workflow_id, { ...testCaller, mode: "regenerate", step_ids: ["tell"] });
    const done = await t.rest(again.workflow_id);
    expect(done.state).toBe("completed");
    expect([look.calls.length, tell.calls.length]).toEqual([1, 2]);
  });
});

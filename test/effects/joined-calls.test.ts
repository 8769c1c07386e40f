/** Who joins a call under way records its end as one that was answered, not made; and not as one that came too late. */
import { describe, expect, it } from "vitest";
import { operatorError } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { counted, held, intent, Note, payloads, step, story } from "../gates/story.ts";

/** Two steps that apply one draft, both approved while the first one's call is under way. */
async function joined(end: (call: ReturnType<typeof held<object>>) => void) {
  const call = held<object>();
  const draft = counted("Note.Draft", {}, () => ({ text: "a draft" }));
  const publish = counted("Note.Publish", { effect: "final_write" }, () => call.promise.then(answer));
  const answer = (said: object): object => {
    if ("fails" in said) throw operatorError({ code: "GONE", message: "no board", category: "validation" });
    return said;
  };
  const applying = (id: string) => step(id, publish, { applies: "draft", params: { text: "{{draft.output.text}}" } });
  const rows = [step("draft", draft, { outcome: "Draft.Note" }), applying("a"), applying("b")];
  const capabilities = [story([draft, publish], rows, { outcomes: { "Draft.Note": Note } })];
  await using t = await createTestKernel({ capabilities, limits: { maxReplans: 0 } });
  const { workflow_id } = await t.run(intent);
  await Promise.all([t.approve(workflow_id, "gate-a"), t.approve(workflow_id, "gate-b")]);
  await t.clock.settle();
  end(call);
  await t.rest(workflow_id);
  expect(publish.calls).toHaveLength(1);
  const succeeded = (await payloads(t, workflow_id, "ACTION_SUCCEEDED")).slice(1);
  const failed = await payloads(t, workflow_id, "ACTION_FAILED");
  return { succeeded, failed };
}

describe("a joined call", () => {
  it("[IDM-04] that succeeds is recorded twice: as made, and as answered", async () => {
    const { succeeded } = await joined((call) => call.release({ id: 7 }));
    expect(succeeded.map(({ result, cached, late }) => ({ result, cached, late }))).toEqual([
      { result: { id: 7 }, cached: false, late: false },
      { result: { id: 7 }, cached: true, late: false },
    ]);
  });

  it("[IDM-04] that fails is recorded twice: as made, and as answered", async () => {
    const { failed } = await joined((call) => call.release({ fails: true }));
    expect(failed.map(({ cached, pending }) => ({ cached, pending }))).toEqual([
      { cached: false, pending: false },
      { cached: true, pending: false },
    ]);
  });
});

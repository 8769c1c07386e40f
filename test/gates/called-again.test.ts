/** A call that is made again is the one that its gate showed, whatever another gate has made of the outcome since. */
import { describe, expect, it } from "vitest";
import { operatorError } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { counted, decide, gateOf, intent, Note, step, story } from "./story.ts";

/** `a` and `b` apply one outcome; the first call of `a` comes to nothing known, or fails in passing. */
function twoApply(first: () => unknown) {
  const draft = counted("Note.Draft", {}, () => ({ text: "first" }));
  const publish = counted("Note.Publish", { effect: "final_write", retry: "STANDARD", timeoutSec: 1 }, () =>
    publish.calls.length === 1 ? first() : { done: publish.calls.length },
  );
  const applying = (id: string) => step(id, publish, { applies: "draft", params: { text: "{{draft.output.text}}" } });
  const rows = [step("draft", draft, { outcome: "Draft.Note" }), applying("a"), applying("b")];
  return { publish, capability: story([draft, publish], rows, { outcomes: { "Draft.Note": Note } }) };
}

/** Both gates are approved, the second on another text, before the call of the first is made again. */
async function editBetween(t: TestKernel, id: string): Promise<void> {
  await decide(t, id, { decision: "approve", gate_id: "gate-b", payload: { edit: { text: "second" } } });
}

const never = (): Promise<never> => new Promise(() => undefined);

describe("a call that is made again after its outcome was edited at another gate", () => {
  it("[GAT-05] [IDM-08] as a person asked for it in doubt: the same payload, version and key", async () => {
    const { publish, capability } = twoApply(never);
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
    const { workflow_id: id } = await t.run(intent);
    await decide(t, id, { decision: "approve", gate_id: "gate-a" });
    await t.rest(id);
    expect((await gateOf(t, id, "gate-a_doubt1")).status).toBe("open");
    await editBetween(t, id);
    await t.rest(id);
    await decide(t, id, { decision: "approve", gate_id: "gate-a_doubt1", payload: { resolution: "retry" } });
    await t.rest(id);
    const ofA = publish.calls.filter(({ context }) => context.step_id === "a");
    expect(ofA.map(({ input }) => input)).toEqual([{ text: "first" }, { text: "first" }]);
    expect(ofA.map(({ context }) => context.target?.version)).toEqual([1, 1]);
    expect(new Set(ofA.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect((await t.kernel.replay(id)).difference).toBeNull();
  });

  it("[GAT-05] as it had failed in passing", async () => {
    const { publish, capability } = twoApply(() => {
      throw operatorError({ code: "BUSY", message: "not now", category: "transient" });
    });
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
    const { workflow_id: id } = await t.run(intent);
    await decide(t, id, { decision: "approve", gate_id: "gate-a" });
    await t.clock.settle();
    expect(publish.calls).toHaveLength(1);
    await editBetween(t, id);
    await t.rest(id);
    const ofA = publish.calls.filter(({ context }) => context.step_id === "a");
    expect(ofA.map(({ input }) => input)).toEqual([{ text: "first" }, { text: "first" }]);
    expect((await t.kernel.replay(id)).difference).toBeNull();
  });
});

/** The versions of steps in workflows that repeat ended work: which steps are made anew, and which are answered. */
import { describe, expect, it } from "vitest";
import { operatorError } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { ruleOf } from "../journey/parts.ts";
import { asShown, counted, intent, step, story } from "./story.ts";

const regenerate = (t: TestKernel, id: string, step_ids: string[]) =>
  t.kernel.retry(id, { ...testCaller, mode: "regenerate", step_ids });

describe("regenerating what has ended", () => {
  it("a second time is a call of its own, with its own feedback: neither is answered by the other's", async () => {
    const draft = counted("Note.Draft", {}, ({ context }) => ({ text: context.feedback ?? "first" }));
    await using t = await createTestKernel({ capabilities: [story([draft], [step("draft", draft)])] });
    const { workflow_id: first } = await t.run(intent);
    const again = async (id: string, feedback: string) => {
      const answer = await t.kernel.retry(id, { ...testCaller, mode: "regenerate", step_ids: ["draft"], feedback });
      const { steps: done } = await t.rest(answer.workflow_id);
      return { id: answer.workflow_id, text: JSON.parse(done[0]?.output_text as string).text };
    };
    const [shorter, longer] = [await again(first, "shorter"), await again(first, "longer")];
    const [further, other] = [await again(shorter.id, "further"), await again(longer.id, "other")];
    expect([shorter, longer, further, other].map(({ text }) => text)).toEqual([
      "shorter",
      "longer",
      "further",
      "other",
    ]);
    expect(new Set(draft.calls.map((call) => call.idempotencyKey)).size).toBe(5);
    for (const { id } of [shorter, longer, further, other])
      expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("one step leaves the others as the workflow has them by now, and a replay leaves all of them", async () => {
    const work = counted("Note.Work", { effect: "write_draft" }, () => ({ n: work.calls.length }));
    const rows = [
      step("a", work),
      step("b", work, { params: { of: "{{a.output.n}}" }, depends_on: ["a"] }),
      step("c", work),
    ];
    await using t = await createTestKernel({ capabilities: [story([work], rows)] });
    const ns = async (id: string) => (await t.rest(id)).steps.map((s) => JSON.parse(s.output_text as string).n);
    const next = async (id: string, more: object) => {
      const answer = await t.kernel.retry(id, { ...testCaller, ...more });
      return { id: answer.workflow_id, ns: await ns(answer.workflow_id) };
    };
    const first = (await t.run(intent)).workflow_id;
    const [a, , c] = await ns(first);
    const second = await next(first, { mode: "regenerate", step_ids: ["a"] });
    expect([second.ns[0] > a, second.ns[2]]).toEqual([true, c]);
    const third = await next(second.id, { mode: "regenerate", step_ids: ["c"] });
    expect(third.ns.slice(0, 2)).toEqual(second.ns.slice(0, 2));
    const calls = work.calls.length;
    for (const { id, ns: had } of [second, third]) expect((await next(id, { mode: "replay" })).ns).toEqual(had);
    expect(work.calls).toHaveLength(calls);
  });

  it("what was made anew at a gate is a version of its own, and is not made again where it is left alone", async () => {
    const work = counted("Note.Work", { effect: "write_draft" }, () => ({ n: work.calls.length }));
    const rows = [step("a", work), step("b", work, { gate: {}, depends_on: ["a"] }), step("c", work)];
    await using t = await createTestKernel({ capabilities: [story([work], rows)] });
    const { workflow_id: first } = await t.run(intent);
    await regenerate(t, first, ["a"]);
    await t.rest(first);
    await t.approve(first, "gate-b", await asShown(t, first, "gate-b"));
    const ended = await t.rest(first);
    expect([ended.state, work.calls.length]).toEqual(["completed", 4]);
    const { workflow_id: second } = await regenerate(t, first, ["c"]);
    const again = await t.rest(second);
    const nOf = ({ steps: all }: typeof ended, id: string) =>
      all.findLast((s) => s.step_id.startsWith(id))?.output_text;
    expect([again.state, work.calls.length]).toEqual(["completed", 5]);
    for (const id of ["a", "b"]) expect(nOf(again, id)).toBe(nOf(ended, id));
    const replay = await t.kernel.retry(first, { ...testCaller, mode: "replay" });
    expect([nOf(await t.rest(replay.workflow_id), "b"), work.calls.length]).toEqual([nOf(ended, "b"), 5]);
    expect(await t.kernel.replay(second)).toMatchObject({ identical: true });
  });

  it("what a later plan no longer has is not made anew by a replay", async () => {
    const work = counted("Note.Work", { effect: "write_draft" }, () => ({ n: work.calls.length }));
    const flaky = counted("Note.Flaky", { effect: "write_draft" }, () => {
      if (flaky.calls.length !== 2) return { ok: true };
      throw operatorError({ code: "GONE", message: "not now", category: "validation" });
    });
    const rows = [step("a", work), step("b", flaky, { depends_on: ["a"] })];
    await using t = await createTestKernel({ capabilities: [story([work, flaky], rows)] });
    const { workflow_id: first } = await t.run(intent);
    const { workflow_id: second } = await regenerate(t, first, ["a", "b"]);
    const { state } = await t.rest(second);
    const calls = work.calls.length;
    const { workflow_id: third } = await t.kernel.retry(second, { ...testCaller, mode: "replay" });
    const again = await t.rest(third);
    expect([state, again.state, calls, work.calls.length]).toEqual(["completed", "completed", 2, 2]);
    expect(await t.kernel.replay(third)).toMatchObject({ identical: true });
  });

  it("an order that policy stopped before its plan is an order of its own once it is repeated", async () => {
    const draft = counted("Note.Draft", {}, () => ({ n: draft.calls.length }));
    const stops = { now: false };
    const rule = ruleOf(["plan"], () => (stops.now ? { decision: "DENY", reason: "not now" } : null));
    await using t = await createTestKernel({
      capabilities: [story([draft], [step("draft", draft)])],
      policies: [rule],
    });
    const { workflow_id: first } = await t.run(intent);
    stops.now = true;
    const { workflow_id: second } = await regenerate(t, first, ["draft"]);
    const { state } = await t.rest(second);
    stops.now = false;
    const { workflow_id: third } = await t.kernel.retry(second, { ...testCaller, mode: "replay" });
    const ended = await t.rest(third);
    expect([state, ended.state, draft.calls.length]).toEqual(["failed", "completed", 2]);
    expect(new Set(draft.calls.map((call) => call.idempotencyKey)).size).toBe(2);
  });
});

/** The consequence of a rejection, as a step states it: the end, going on without the step, another plan. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, defineOperator, ref, when } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { ann, bob, reject } from "./people.ts";
import { decide, gatedSteps, gateOf, intent, payloads, refusalOf } from "./story.ts";

const minute = 60_000;
const calls: unknown[] = [];
const send = defineOperator({
  name: "Note.Send",
  effect: "write_draft",
  input: z.looseObject({}),
  output: z.object({ sent: z.unknown() }),
  run: ({ input }) => {
    calls.push(input);
    return { sent: input };
  },
});

type OnReject = "end" | "continue" | "replan";

/** A gated step `first`, and a step `after` that is given the output of the first, or `none`. */
const noting = (on_reject: OnReject, gate = {}) =>
  defineCapability({
    intentType: intent,
    version: "1.0",
    input: z.looseObject({}),
    operators: [send],
    plan: ({ step, situation }) => {
      const { round, failed } = situation;
      const asked = { name: "First", operator: "Note.Send", gate } as const;
      const params = { round, told: failed.map(({ code, message }) => `${code} ${message}`) };
      if (on_reject !== "continue")
        return { reasoning: "one note", steps: [step({ step_id: "first", ...asked, params, on_reject })] };
      const first = step({ step_id: "first", ...asked, params, on_reject });
      const { rejected } = first.output;
      const was = { code: ref(rejected.code, { or: "none" }), comment: ref(rejected.comment, { or: null }) };
      const after = step({ step_id: "after", name: "After", operator: "Note.Send", params: { was } });
      const isSent = when(rejected).missing();
      const if_sent = step({ step_id: "if_sent", name: "If sent", operator: "Note.Send", params: {}, when: isSent });
      return { reasoning: "two notes", steps: [first, after, if_sent] };
    },
  });

async function opened(on_reject: OnReject, gate = {}): Promise<{ t: TestKernel; id: string }> {
  calls.length = 0;
  const t = await createTestKernel({ capabilities: [noting(on_reject, gate)] });
  return { t, id: (await t.run(intent)).workflow_id };
}

const stepsOf = async (t: TestKernel, id: string) =>
  (await t.rest(id)).steps.map(({ step_id, state, skip_reason }) => [step_id, state, skip_reason]);

describe("a rejection at a gate of a step with on_reject: continue", () => {
  it("skips the step, gives its comment to those after it, and lets the plan go on to its end", async () => {
    const { t, id } = await opened("continue");
    await using _ = t;
    expect((await gateOf(t, id, "gate-first")).consequences.reject).toBe(
      "Note.Send is not called; the step is skipped, your comment becomes its result, and the plan goes on.",
    );
    await decide(t, id, { decision: "reject", payload: { comment: "not to them" } });
    const state = await t.rest(id);
    expect([state.state, state.error]).toEqual(["completed", null]);
    expect(calls).toEqual([{ was: { code: "T5_HUMAN_DENIED", comment: "not to them" } }]);
    expect(await stepsOf(t, id)).toEqual([
      ["first", "skipped", "declined"],
      ["after", "succeeded", null],
      ["if_sent", "skipped", "condition"],
    ]);
    expect(await payloads(t, id, "STEP_SKIPPED")).toMatchObject([
      { reason: "declined", output: { rejected: { code: "T5_HUMAN_DENIED", comment: "not to them" } } },
      { reason: "condition" },
    ]);
    expect((await t.kernel.replay(id)).identical).toBe(true);
    expect((await t.kernel.verify()).ok).toBe(true);
  });

  it("is followed by all steps if it is approved: the default stands in for the refusal", async () => {
    const { t, id } = await opened("continue");
    await using _ = t;
    await t.approve(id);
    expect((await t.rest(id)).state).toBe("completed");
    expect(calls).toEqual([{ round: 0, told: [] }, { was: { code: "none", comment: null } }, {}]);
  });

  it("is what follows as well if nobody decides in time", async () => {
    const { t, id } = await opened("continue", { expiry: { after_ms: minute, action: "deny" } });
    await using _ = t;
    await t.clock.advance(minute);
    expect((await t.rest(id)).state).toBe("completed");
    expect(calls).toEqual([{ was: { code: "T5_GATE_EXPIRED", comment: null } }]);
  });

  it("needs the votes that reject where the gate has a quorum", async () => {
    const { t, id } = await opened("continue", { quorum: { approvals: 2, rejections: 2 } });
    await using _ = t;
    await reject(t, id, ann);
    expect((await t.kernel.workflow(id)).state).toBe("waiting_for_user");
    await reject(t, id, bob);
    expect(await stepsOf(t, id)).toContainEqual(["first", "skipped", "declined"]);
  });

  it("leaves the gates of other steps open", async () => {
    const { capability, sent } = gatedSteps(2, { on_reject: "continue" });
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await t.reject(workflow_id, "gate-s1");
    expect((await gateOf(t, workflow_id, "gate-s2")).status).toBe("open");
    await t.approve(workflow_id, "gate-s2");
    expect([(await t.rest(workflow_id)).state, sent()]).toEqual(["completed", ["s2"]]);
  });

  it("asks again about nothing when failed steps are resumed: a declined step is no failed one", async () => {
    const { t, id } = await opened("continue");
    await using _ = t;
    await t.reject(id);
    await t.rest(id);
    expect(await refusalOf(t.kernel.retry(id, { ...testCaller, mode: "resume_failed_steps" }))).toMatchObject({
      code: "T4_WORKFLOW_CONFLICT",
    });
  });

  it("is refused in a plan that rests on the output without a default", async () => {
    const plan = {
      reasoning: "no default",
      steps: [
        { step_id: "first", name: "First", operator: "Note.Send", gate: {}, on_reject: "continue" },
        { step_id: "after", name: "After", operator: "Note.Send", params: { was: "{{first.output.sent}}" } },
      ],
    } as const;
    const capability = defineCapability({
      ...{ intentType: intent, version: "1.0", input: z.looseObject({}), operators: [send] },
      plan: { ...plan, steps: [plan.steps[0], { ...plan.steps[1], depends_on: ["first"] }] },
    });
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    expect((await t.rest(workflow_id)).error).toMatchObject({
      code: "T3_PLAN_INVALID",
      message: expect.stringContaining("step first is left out if it is rejected at its gate"),
    });
  });
});

describe("a rejection at a gate of a step with on_reject: replan", () => {
  it("asks the planner for another plan, which is told the comment; its own gate asks again", async () => {
    const { t, id } = await opened("replan");
    await using _ = t;
    await decide(t, id, { decision: "reject", payload: { comment: "write it shorter" } });
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    const [gate] = await t.kernel.gates({ workflow_id: id }, testCaller);
    expect(gate?.payload).toEqual({ round: 1, told: ["T5_HUMAN_DENIED gate-first was rejected: write it shorter"] });
    await t.approve(id, gate?.gate_id);
    expect([(await t.rest(id)).state, calls]).toEqual(["completed", [gate?.payload]]);
    expect((await t.kernel.replay(id)).identical).toBe(true);
  });

  it("ends the workflow as cancelled once no further plan may be made", async () => {
    const { t, id } = await opened("replan");
    await using _ = t;
    for (let i = 0; i < 20 && (await t.rest(id)).state === "waiting_for_user"; i += 1) {
      const [gate] = await t.kernel.gates({ workflow_id: id }, testCaller);
      await t.reject(id, gate?.gate_id);
    }
    const { state, error } = await t.rest(id);
    expect([state, error?.code, calls]).toEqual(["cancelled", "T5_HUMAN_DENIED", []]);
  });
});

it("a rejection at a gate of any other step ends the workflow, also where the plan says so", async () => {
  const { t, id } = await opened("end");
  await using _ = t;
  await t.reject(id);
  expect([(await t.rest(id)).state, calls]).toEqual(["cancelled", []]);
  expect((await payloads(t, id, "PLAN_CREATED"))[0]?.plan.steps[0]).not.toHaveProperty("on_reject");
});

describe("a rejection at a gate of a step with on_reject: end_all", () => {
  const undone: unknown[] = [];
  const unsend = defineOperator({
    name: "Note.Unsend",
    effect: "write_draft",
    input: z.looseObject({}),
    run: ({ input }) => void undone.push(input),
  });
  const note = { operator: "Note.Send", params: {} };
  const gate = { expiry: { after_ms: minute, action: "deny" } } as const;
  const steps = [
    { step_id: "sent", name: "Sent", ...note, undo: { operator: "Note.Unsend", params: { was: "{{sent.output}}" } } },
    { step_id: "first", name: "First", ...note, depends_on: ["sent"], gate, on_reject: "end_all" },
    { step_id: "other", name: "Other", ...note, depends_on: ["sent"], gate: {} },
    { kind: "sleep", step_id: "later", name: "Later", depends_on: ["sent"], params: { ms: 60 * minute } },
  ] as const;
  const open = async () => {
    calls.length = undone.length = 0;
    const own = { intentType: intent, version: "1.0", input: z.looseObject({}), operators: [send, unsend] };
    const capability = defineCapability({ ...own, plan: { reasoning: "two gates", steps } as never });
    const t = await createTestKernel({ capabilities: [capability] });
    return { t, id: (await t.run(intent)).workflow_id };
  };

  it.each(["T5_HUMAN_DENIED", "T5_GATE_EXPIRED"])("closes the gates of the others at once (%s)", async (code) => {
    const { t, id } = await open();
    await using _ = t;
    const first = await gateOf(t, id, "gate-first");
    expect(first.consequences.reject).toContain("its other steps are not begun, and their gates close");
    await (code === "T5_GATE_EXPIRED" ? t.clock.advance(minute) : t.reject(id, "gate-first"));
    const { state, error } = await t.rest(id);
    expect([state, error?.code, calls.length, undone.length]).toEqual(["cancelled", code, 1, 1]);
    expect((await stepsOf(t, id)).slice(0, 4)).toEqual([
      ["sent", "succeeded", null],
      ["first", "failed", null],
      ["other", "skipped", "rejected"],
      ["later", "skipped", "rejected"],
    ]);
    expect((await gateOf(t, id, "gate-other")).status).not.toBe("open");
    expect(await t.kernel.gates({ workflow_id: id }, testCaller)).toEqual([]);
    expect([(await t.kernel.replay(id)).identical, (await t.kernel.verify()).ok]).toEqual([true, true]);
  });

  it("does nothing where another gate is rejected, or this one is approved", async () => {
    const { t, id } = await open();
    await using _ = t;
    await t.reject(id, "gate-other");
    expect((await gateOf(t, id, "gate-first")).status).toBe("open");
    await t.approve(id, "gate-first");
    expect(await stepsOf(t, id)).toContainEqual(["first", "succeeded", null]);
  });
});

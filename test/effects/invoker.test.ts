/** The operator boundary: what a call by key is given, and what a key that is known answers. */
import { describe, expect, it } from "vitest";
import { digest } from "../../src/contract/digest.ts";
import { toExecutorError } from "../../src/contract/error.ts";
import { defineOperator, operatorError } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { answerKey } from "../../src/tiers/t4-execution/decide/call/answer-key.ts";
import { joinCall } from "../../src/tiers/t4-execution/perform/call-operator.ts";
import {
  anyObject,
  type Counted,
  counted,
  eventsOf,
  held,
  intent,
  Note,
  payloads,
  step,
  story,
} from "../gates/story.ts";
import { calling, callOnce, wanted } from "./boundary.ts";

/**
 * A draft, and two steps that apply it: they share a key. The second one comes `beside` the first, or once a slow step
 * has ended that begins with it.
 */
function shared(work: Counted, { beside = false } = {}) {
  const draft = counted("Note.Draft", { effect: "none" }, () => ({ text: "a draft" }));
  const slow = held<object>();
  const wait = counted("Note.Wait", { effect: "none" }, () => slow.promise);
  const rows = [
    step("draft", draft, { outcome: "Draft.Note" }),
    step("wait", wait),
    step("a", work, { applies: "draft", depends_on: ["draft"] }),
    step("b", work, { applies: "draft", depends_on: beside ? ["draft"] : ["draft", "wait"] }),
  ];
  const capability = story([draft, wait, work], rows, { outcomes: { "Draft.Note": Note } });
  const options = { capabilities: [capability], defaultPolicies: false, limits: { maxReplans: 0 } } as const;
  return { options, goOn: () => slow.release({}) };
}

/** Runs both steps, the second after the first, and gives their steps as they ended. */
async function runShared(work: Counted) {
  const { options, goOn } = shared(work);
  await using t = await createTestKernel(options);
  const id = await t.submit(intent);
  await t.clock.advance(20_000);
  goOn();
  const { steps, state } = await t.rest(id);
  const actions = (await t.kernel.actions(id)).filter((one) => one.operator_name === work.name);
  const [a, b] = ["a", "b"].map((stepId) => steps.find((one) => one.step_id === stepId));
  return { a, b, state, actions, ends: await payloads(t, id, "ACTION_SUCCEEDED") };
}

describe("a call", () => {
  it("[OPR-01] is handed payload, authority, key and correlation, and its result is kept under the key", async () => {
    const work = counted("Note.Work", {}, ({ input }) => ({ got: input["text"] }));
    const capability = story([work], [step("s1", work, { params: { text: "a" } })]);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const [action] = await t.kernel.actions(workflow_id);
    const [{ correlation_id } = { correlation_id: "" }] = await eventsOf(t, workflow_id);
    expect(work.calls).toHaveLength(1);
    expect(work.calls[0]).toMatchObject({
      input: { text: "a" },
      idempotencyKey: action?.idempotency_key,
      context: { auth: { principal_id: 1, tenant_id: 1 }, correlation_id },
    });
    expect(action).toMatchObject({ operator_name: "Note.Work", status: "succeeded", result_payload: { got: "a" } });
  });

  it("[OPR-01] is made with what the boundary is given, and ends in one result", async () => {
    const work = counted("Note.Work", {}, ({ input }) => ({ got: input["text"] }));
    const { ends, timers } = await callOnce(work.operator);
    expect(ends).toMatchObject([{ status: "succeeded", result: { got: "a" }, usage: {}, cached: false, late: false }]);
    expect(work.calls).toMatchObject([{ input: { text: "a" }, idempotencyKey: "key 1", attempt: 1 }]);
    expect(timers).toBe(0);
  });

  it("[IDM-01] without a key is refused before the operator is called", async () => {
    const work = counted("Note.Work", { effect: "write_draft" });
    for (const key of ["", undefined as never, null as never]) {
      const { ends } = await callOnce(work.operator, { key });
      expect(ends).toMatchObject([
        { status: "failed", error: { code: "T4_IDEMPOTENCY_KEY_MISSING", retry_eligible: false }, pending: false },
      ]);
    }
    expect(work.calls).toHaveLength(0);
  });
});

describe("a key", () => {
  it("[IDM-01] [IDM-02] [IDM-03] [EXE-03] is called once, and answered from the record after that", async () => {
    const work: Counted = counted("Note.Work", {}, () => ({ n: work.calls.length, deep: [{ a: 1 }] }));
    const { a, b, state, actions, ends } = await runShared(work);
    expect(state).toBe("completed");
    expect(work.calls).toHaveLength(1);
    expect(actions).toMatchObject([{ status: "succeeded", result_payload: { n: 1, deep: [{ a: 1 }] } }]);
    expect(actions[0]?.idempotency_key).toBe(work.calls[0]?.idempotencyKey);
    expect(actions[0]?.idempotency_key).not.toBe("");
    expect([a?.output_text, b?.state]).toEqual([b?.output_text, "succeeded"]);
    expect(ends.filter(({ cached }) => cached)).toMatchObject([{ result: { n: 1, deep: [{ a: 1 }] } }]);
  });

  it("[IDM-02] that is another is another call", async () => {
    const work = counted("Note.Work");
    const rows = ["s1", "s2"].map((id) => step(id, work, { params: { text: "a" } }));
    await using t = await createTestKernel({ capabilities: [story([work], rows)] });
    await t.run(intent);
    expect(new Set(work.calls.map((call) => call.idempotencyKey)).size).toBe(2);
  });

  it("[IDM-04] that is under way is joined: one call, and its end is the end of both", async () => {
    const end = held<object>();
    const work = counted("Note.Work", {}, () => end.promise);
    const { options, goOn } = shared(work, { beside: true });
    await using t = await createTestKernel(options);
    const id = await t.submit(intent);
    goOn();
    await t.clock.settle();
    const started = (await payloads(t, id, "ACTION_STARTED")).filter((one) => one.operator_name === "Note.Work");
    expect(started).toHaveLength(2);
    expect(started[0]?.action_id).toBe(started[1]?.action_id);
    end.release({ n: 1 });
    expect((await t.rest(id)).state).toBe("completed");
    const ends = (await payloads(t, id, "ACTION_SUCCEEDED")).filter((one) => one.operator_name === "Note.Work");
    expect(ends.map(({ result, cached }) => [result, cached])).toEqual([
      [{ n: 1 }, false],
      [{ n: 1 }, true],
    ]);
    expect(work.calls).toHaveLength(1);
  });

  it("[IDM-04] that is under way is waited for no longer than the caller's own timeout", async () => {
    const { at, clock, ends } = calling(counted("Note.Work").operator);
    const { payload: _p, ...call } = wanted;
    const joined = joinCall(at, { ...call, do: "join", timeout_ms: 500 }, new Promise(() => undefined));
    await clock.advance(499);
    expect(ends).toEqual([]);
    await clock.advance(1);
    await joined;
    expect(ends).toMatchObject([{ status: "failed", pending: true, error: { code: "T4_TOOL_TIMEOUT" } }]);
  });

  it("[IDM-05] that has failed for good gives the same failure without a call", async () => {
    const work = counted("Note.Work", {}, () => {
      throw operatorError({ code: "BAD", message: "bad input", category: "validation" });
    });
    const { a, b } = await runShared(work);
    expect([a?.state, b?.state]).toEqual(["failed", "failed"]);
    expect(a?.error).toMatchObject({ message: "bad input" });
    expect(b?.error).toEqual(a?.error);
    expect(work.calls).toHaveLength(1);
  });

  it("[IDM-05] that has failed retryably is called again up to the limit, then gives the stored failure", async () => {
    const work: Counted = counted("Note.Work", { retry: "STANDARD" }, () => {
      throw operatorError({ code: "BUSY", message: `busy ${work.calls.length}`, category: "transient" });
    });
    const { a, b } = await runShared(work);
    expect(work.calls).toHaveLength(3);
    expect([a?.error?.message, b?.error?.message]).toEqual(["busy 3", "busy 3"]);
  });
});

/** What the record says of `key 1`, and whether its call is under way in this process. */
function answerOf(seen: string | null, { here = false, idempotent = false, result = {} as unknown, made = 1 } = {}) {
  const { operator } = counted("Note.Work", { effect: "write_draft", idempotent });
  const error = { code: "X" };
  const record = {
    action_id: "act_1",
    idempotency_key: "key 1",
    payload_hash: digest({}),
    result_payload: result,
    error,
    tokens: null,
    cost: null,
    trace: null,
  };
  const actions = new Map(seen === null ? [] : [["act_1", { record, seen }]]);
  const keys = new Map(seen === null ? [] : [["key 1", "act_1"]]);
  const handles = new Map(here ? [["s1/act_1/1/1", { key: "key 1", charged: null }]] : []);
  const steps = new Map([["other", { action_id: "act_1", attempt: made }]]);
  const plan = { steps: [{ step_id: "other" }] };
  const settings = { registry: { findOperator: () => operator } };
  const run = { log: { record: { keys, actions, steps, plan, regenerated_from: null } }, handles, settings };
  const prepared = { operator, payload: {}, hash: digest({}) } as never;
  return answerKey(run as never, { prepared, attempt: 2, key: "key 1" });
}

describe("what a key answers", () => {
  it.each([
    ["[IDM-02]", "is new", null, {}, { seen: "unseen", recovered: false }],
    ["[IDM-03]", "has succeeded", "succeeded", {}, { seen: "succeeded", result: {} }],
    ["[IDM-03]", "has succeeded with null", "succeeded", { result: null }, { seen: "succeeded", result: null }],
    ["[IDM-04]", "is under way here", "running", { here: true }, { seen: "running", action_id: "act_1" }],
    ["[IDM-04]", "is lost", "running", {}, { seen: "in_doubt", action_id: "act_1" }],
    ["[IDM-04]", "is lost and may be repeated", "running", { idempotent: true }, { seen: "unseen", recovered: true }],
    ["[IDM-05]", "has failed for good", "failed_final", {}, { seen: "failed_final", error: { code: "X" } }],
    ["[IDM-05]", "has failed retryably", "failed_retryable", {}, { seen: "unseen", recovered: false }],
    [
      "[IDM-05]",
      "has failed retryably, called as often",
      "failed_retryable",
      { made: 2 },
      { seen: "spent", error: { code: "X" } },
    ],
    ["[IDM-05]", "is in doubt", "in_doubt", { idempotent: true }, { seen: "in_doubt", action_id: "act_1" }],
  ] as const)("%s one that %s", (_id, _what, seen, more, answer) => {
    expect(answerOf(seen, more)).toMatchObject(answer);
  });
});

describe("what an operator throws", () => {
  const later = { code: "X", message: "later", category: "transient", retry_after_ms: 70 } as const;
  const thrown: readonly (readonly [string, unknown, string, boolean])[] = [
    ["an Error", new Error("broken"), "broken", true],
    ["a text", "just words", "just words", true],
    ["nothing at all", undefined, "undefined", true],
    ["an object", { odd: true }, "", true],
    ["its own error", operatorError({ code: "X", message: "no board", category: "validation" }), "no board", false],
    ["a hint", operatorError(later), "later", true],
  ];

  it.each(thrown)("[OPR-03] %s becomes an error with category, retryable and message", async (...row) => {
    const [what, value, message, retryable] = row;
    const work = counted("Note.Work", {}, () => {
      throw value;
    });
    const [end] = (await callOnce(work.operator)).ends;
    const error = end?.status === "failed" ? toExecutorError(end.error) : null;
    expect(error?.retryable).toBe(retryable);
    expect(error?.message).toContain(message);
    expect(error?.category).toMatch(/^(validation|transient|dependency|operator_bug)$/);
    if (what === "a hint") expect(error?.retry_after_ms).toBe(70);
  });

  it("[OPR-03] a rejected promise is no different", async () => {
    const work = defineOperator({ name: "Note.Work", input: anyObject, run: () => Promise.reject(new Error("later")) });
    expect((await callOnce(work)).ends).toMatchObject([{ status: "failed", error: { message: "later" } }]);
  });
});

/** Idempotency keys: how they are made, and what a key that was seen before answers. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../src/contract/digest.ts";
import type { PlanStepDraft } from "../../src/contract/plan.ts";
import { type OperatorError, operatorError } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { deriveKey, type KeyMaterial } from "../../src/tiers/t4-execution/decide/call/derive-key.ts";
import { asShown, count, counted, decide, gateOf, held, intent, Note, payloads, step, story } from "../gates/story.ts";

type Answer = Parameters<typeof counted>[2];

/** One draft and two steps that apply it, each behind a gate of its own: `a` and `b` share a key. */
function twoApplies(answer?: Answer, more: Parameters<typeof counted>[1] = {}, params: Record<string, object> = {}) {
  const draft = counted("Note.Draft", {}, () => ({ text: `draft ${draft.calls.length}` }));
  const publish = counted("Note.Publish", { effect: "final_write", ...more }, answer);
  const applying = (id: string): PlanStepDraft =>
    step(id, publish, { applies: "draft", params: { text: "{{draft.output.text}}", ...params[id] } });
  const rows = [step("draft", draft, { outcome: "Draft.Note" }), applying("a"), applying("b")];
  return { draft, publish, capability: story([draft, publish], rows, { outcomes: { "Draft.Note": Note } }) };
}

const actionsOf = async (t: TestKernel, id: string, stepId: string) =>
  (await t.kernel.actions(id)).filter((a) => a.step_id === stepId);

async function approveBoth(t: TestKernel, id: string): Promise<void> {
  for (const gate of ["gate-a", "gate-b"]) {
    await t.approve(id, gate);
    await t.rest(id);
  }
}

const outputOf = async (t: TestKernel, id: string, stepId: string): Promise<unknown> => {
  const types = await payloads(t, id, "STEP_SUCCEEDED");
  const { steps } = await t.kernel.workflow(id);
  return types[steps.filter((s) => s.state === "succeeded").findIndex((s) => s.step_id === stepId)]?.output;
};

describe("a key", () => {
  it("[IDM-01] comes with every call, and is in every action record", async () => {
    const { draft, publish, capability } = twoApplies();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await approveBoth(t, workflow_id);
    const calls = [...draft.calls, ...publish.calls];
    expect(calls.every((c) => c.idempotencyKey.length > 0)).toBe(true);
    const actions = await t.kernel.actions(workflow_id);
    expect(actions.map((a) => a.idempotency_key)).toEqual(calls.map((c) => c.idempotencyKey));
  });

  it("[IDM-05] in doubt is not called again because a hook refused another step that shares it", async () => {
    const { publish, capability } = twoApplies(() => Promise.reject(new Error("reset behind the write")));
    let settleFirst = (): void => undefined;
    const middleware = {
      name: "limits",
      before: ({ step_id }: { readonly step_id: string }) => {
        if (step_id === "b") throw operatorError({ code: "RATE", message: "not now", category: "transient" });
      },
      onError: ({ step_id }: { readonly step_id: string }) =>
        step_id === "a" ? new Promise<void>((resolve) => (settleFirst = resolve)) : undefined,
    };
    await using t = await createTestKernel({ capabilities: [capability], middleware: [middleware] });
    const { workflow_id: id } = await t.run(intent);
    await t.approve(id, "gate-a");
    await t.clock.settle();
    await t.approve(id, "gate-b");
    await t.clock.settle();
    settleFirst();
    const rested = await t.rest(id);
    expect([rested.state, publish.calls.length]).toEqual(["waiting_for_user", 1]);
    expect((await gateOf(t, id, "gate-a_doubt1")).status).toBe("open");
    expect(rested.steps.find((s) => s.step_id === "b")?.error?.code).toBe("T4_ACTION_IN_DOUBT");
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it.each([
    ["for good", { code: "NO", message: "not this one", category: "dependency" }],
    ["once, as the last attempt that it had", { code: "RATE", message: "not now", category: "transient" }],
  ] as const)(
    "[IDM-05] is unseen though a hook has refused a step that shares it, %s: the other calls",
    async (_how, no) => {
      const { publish, capability } = twoApplies(() => ({ n: 1 }), { effect: "write_draft" }, { b: { to: "all" } });
      const before = ({ step_id }: { readonly step_id: string }): void => {
        if (step_id === "a") throw operatorError(no);
      };
      const middleware = [{ name: "guard", before }];
      await using t = await createTestKernel({ capabilities: [capability], middleware, limits: { maxReplans: 0 } });
      const { workflow_id: id } = await t.run(intent);
      await approveBoth(t, id);
      const { steps } = await t.kernel.workflow(id);
      expect(steps.map(({ step_id, state }) => `${step_id} ${state}`)).toEqual([
        "draft succeeded",
        "a failed",
        "b succeeded",
      ]);
      expect(publish.calls.map(({ input, context }) => [input, context.step_id])).toEqual([
        [{ text: "draft 1", to: "all" }, "b"],
      ]);
      const [action, ...more] = (await t.kernel.actions(id)).filter((one) => one.step_id !== "draft");
      expect(more).toEqual([]);
      expect(action).toMatchObject({ step_id: "b", status: "succeeded", input_payload: { to: "all" }, error: null });
      expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
    },
  );

  it("[IDM-05] whose call has failed answers with that, not with what a hook refused a later attempt for", async () => {
    let isRefusing = false;
    const busy = { code: "BUSY", message: "the call was refused", category: "transient" } as const;
    const { publish, capability } = twoApplies(
      () => {
        isRefusing = true;
        throw operatorError(busy);
      },
      { effect: "write_draft", retry: "TWICE" },
    );
    const before = ({ step_id }: { readonly step_id: string }): void => {
      if (step_id === "a" && isRefusing) throw operatorError({ code: "NO", message: "a hook", category: "dependency" });
    };
    await using t = await createTestKernel({
      ...{ capabilities: [capability], middleware: [{ name: "guard", before }], limits: { maxReplans: 0 } },
      ...{ retryPolicies: { TWICE: 2 } },
    });
    const { workflow_id: id } = await t.run(intent);
    await approveBoth(t, id);
    const { steps } = await t.kernel.workflow(id);
    expect(steps.map(({ error }) => error?.message)).toEqual([undefined, "a hook", busy.message]);
    expect(publish.calls.length).toBe(1);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("[IDM-02] that is new runs the operator, keeps its result and gives it", async () => {
    const work = counted("Note.Work", {}, () => ({ n: 1, list: ["a"] }));
    const next = counted("Note.Next");
    const rows = [step("s1", work), step("s2", next, { depends_on: ["s1"], params: { got: "{{s1.output}}" } })];
    await using t = await createTestKernel({ capabilities: [story([work, next], rows)] });
    const { workflow_id } = await t.run(intent);
    expect(work.calls).toHaveLength(1);
    const [action] = await actionsOf(t, workflow_id, "s1");
    expect(action).toMatchObject({ status: "succeeded", result_payload: { n: 1, list: ["a"] } });
    expect(next.calls[0]?.input["got"]).toEqual(action?.result_payload);
  });

  it("[IDM-03] [EXE-03] [OPR-02] that has succeeded answers with the stored result, without a call", async () => {
    const { publish, capability } = twoApplies(() => ({ id: `call ${publish.calls.length}`, deep: { list: [1, 2] } }));
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await approveBoth(t, workflow_id);
    expect((await t.kernel.workflow(workflow_id)).state).toBe("completed");
    expect(publish.calls).toHaveLength(1);
    const first = await outputOf(t, workflow_id, "a");
    expect(first).toEqual({ id: "call 1", deep: { list: [1, 2] } });
    expect(await outputOf(t, workflow_id, "b")).toEqual(first);
    const ended = await payloads(t, workflow_id, "ACTION_SUCCEEDED");
    expect(ended.map((e) => e.cached)).toEqual([false, false, true]);
  });

  it("[IDM-04] [EXE-03] that is running is waited for: one call, and its result for both", async () => {
    const end = held<object>();
    const { publish, capability } = twoApplies(() => end.promise);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await Promise.all([t.approve(workflow_id, "gate-a"), t.approve(workflow_id, "gate-b")]);
    await t.clock.settle();
    expect(publish.calls).toHaveLength(1);
    end.release({ id: 7 });
    const done = await t.rest(workflow_id);
    expect(done.state).toBe("completed");
    expect(publish.calls).toHaveLength(1);
    expect([await outputOf(t, workflow_id, "a"), await outputOf(t, workflow_id, "b")]).toEqual([{ id: 7 }, { id: 7 }]);
    expect(done.gates.map((g) => g.kind)).toEqual(["approval", "approval"]);
  });

  it("[IDM-05] that has failed for good answers with the same failure, and the operator is not called", async () => {
    const { publish, capability } = twoApplies(() => {
      throw operatorError({ code: "NO_SUCH_BOARD", message: "no board 7", category: "validation" });
    });
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
    const { workflow_id } = await t.run(intent);
    await approveBoth(t, workflow_id);
    const { steps, state } = await t.kernel.workflow(workflow_id);
    expect(state).toBe("failed");
    expect(publish.calls).toHaveLength(1);
    const [a, b] = ["a", "b"].map((id) => steps.find((s) => s.step_id === id));
    expect(a?.error).toMatchObject({ message: "no board 7" });
    expect(b?.error).toEqual(a?.error);
  });

  it("[IDM-05] that failed retryably is called again up to its policy's limit; then the failure stands", async () => {
    const busy = (): OperatorError => operatorError({ code: "BUSY", message: "busy", category: "transient" });
    const { publish, capability } = twoApplies(
      () => {
        throw busy();
      },
      { retry: "STANDARD" },
    );
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
    const { workflow_id } = await t.run(intent);
    await approveBoth(t, workflow_id);
    expect(publish.calls.map((c) => c.attempt)).toEqual([1, 2, 3]);
    expect(new Set(publish.calls.map((c) => c.idempotencyKey)).size).toBe(1);
    const { steps } = await t.kernel.workflow(workflow_id);
    expect(steps.filter((s) => s.state === "failed").map((s) => s.error?.message)).toEqual(["busy", "busy"]);
  });

  const busyUntil = (calls: number) => {
    const { publish, capability } = twoApplies(
      ({ attempt }) => {
        if (publish.calls.length < calls) throw operatorError({ code: "BUSY", message: "busy", category: "transient" });
        return { said: attempt };
      },
      { retry: "STANDARD" },
    );
    return { publish, capability };
  };

  it.each([
    ["at once", 0],
    ["while the first waits for its second attempt", 1000],
    ["while the first waits for its third attempt", 4000],
  ])("[IDM-05] that two steps ask for has one allowance for both: the other asks %s", async (_when, afterMs) => {
    for (const works of [2, 3, Number.POSITIVE_INFINITY]) {
      const { publish, capability } = busyUntil(works);
      await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
      const { workflow_id } = await t.run(intent);
      await t.approve(workflow_id, "gate-a");
      if (afterMs > 0) await t.clock.advance(afterMs);
      await t.approve(workflow_id, "gate-b");
      await t.rest(workflow_id);
      expect(publish.calls.map((c) => c.attempt)).toEqual([1, 2, 3].slice(0, works));
      const { state, steps } = await t.kernel.workflow(workflow_id);
      const isDone = Number.isFinite(works);
      expect(state).toBe(isDone ? "completed" : "failed");
      expect(steps.map((s) => s.error?.message ?? null)).toEqual([null, ...Array(2).fill(isDone ? null : "busy")]);
      expect((await t.kernel.replay(workflow_id)).identical).toBe(true);
    }
  });

  it("[IDM-05] that failed has one fresh allowance after a restart; a success is not called again", async () => {
    const good = counted("Note.Good");
    const bad = counted("Note.Bad", { retry: "STANDARD" }, () => {
      throw operatorError({ code: "BUSY", message: "busy", category: "transient" });
    });
    const rows = [step("good", good), step("bad", bad, { depends_on: ["good"] })];
    await using t = await createTestKernel({ capabilities: [story([good, bad], rows)], limits: { maxReplans: 0 } });
    const { workflow_id, state } = await t.run(intent);
    expect([state, bad.calls.length]).toEqual(["failed", 3]);
    await t.kernel.retry(workflow_id, { ...testCaller });
    expect((await t.rest(workflow_id)).state).toBe("failed");
    expect(bad.calls.map((c) => c.attempt)).toEqual([1, 2, 3, 1, 2, 3]);
    expect(new Set(bad.calls.map((c) => c.idempotencyKey)).size).toBe(1);
    expect(good.calls).toHaveLength(1);
  });
});

describe("the default key", () => {
  const material = {
    operator: "Note.Work",
    version: "1.0",
    tenantId: 1,
    intentId: "int_1",
    stepId: "s1",
    inputs: { a: 1, b: { c: [1, 2], d: null } },
    draftVersion: 1,
  };
  const keyFor = ({ inputs, ...of }: Omit<KeyMaterial, "inputs"> & { readonly inputs: unknown }) =>
    deriveKey({ ...of, inputs: canonicalJson(inputs) });

  it("[IDM-06] is operator, tenant, hash and version, and does not depend on the order of members", () => {
    const key = keyFor(material);
    expect(key).toMatch(/^Note\.Work:1:[^:]+:v1$/);
    expect(keyFor({ ...material, inputs: { b: { d: null, c: [1, 2] }, a: 1 } })).toBe(key);
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (inputs) => {
        const turned = Object.fromEntries(Object.entries(inputs).reverse());
        expect(keyFor({ ...material, inputs: turned })).toBe(keyFor({ ...material, inputs }));
      }),
    );
  });

  it.each([
    ["intent", { intentId: "int_2" }],
    ["step", { stepId: "s2" }],
    ["inputs", { inputs: { a: 1, b: { c: [2, 1], d: null } } }],
    ["an input's type", { inputs: { a: "1", b: { c: [1, 2], d: null } } }],
    ["tenant", { tenantId: 2 }],
    ["tenant's type", { tenantId: "1" }],
    ["version", { draftVersion: 2 }],
    ["operator's version", { version: "1.1" }],
    ["operator", { operator: "Note.Walk" }],
  ])("[IDM-06] is another for another %s", (_what, change) => {
    expect(keyFor({ ...material, ...change })).not.toBe(keyFor(material));
  });

  it("[IDM-06] of a run follows the inputs as resolved: two runs of one intent type never share it", async () => {
    const work = counted("Note.Work");
    await using t = await createTestKernel({ capabilities: [story([work], [step("s1", work, { params: { a: 1 } })])] });
    await t.run(intent);
    await t.run(intent);
    expect(work.calls).toHaveLength(2);
    expect(work.calls[0]?.idempotencyKey).toMatch(/^Note\.Work:1:[^:]+:v1$/);
    expect(new Set(work.calls.map((c) => c.idempotencyKey)).size).toBe(2);
  });

  it("[IDM-07] rises from v1 to v2 for what is regenerated, and stays for what is not", async () => {
    const other = counted("Note.Other");
    const { draft, publish } = twoApplies();
    const rows = [
      step("other", other),
      step("draft", draft, { outcome: "Draft.Note" }),
      step("check", other, { depends_on: ["draft"], params: { text: "{{draft.output.text}}" } }),
      step("a", publish, { applies: "draft", params: { text: "{{draft.output.text}}" }, depends_on: ["check"] }),
    ];
    await using t = await createTestKernel({ capabilities: [story([other, draft, publish], rows)] });
    const { workflow_id } = await t.run(intent);
    await t.kernel.retry(workflow_id, { ...testCaller, mode: "regenerate" });
    await t.rest(workflow_id);
    const versions = (calls: typeof other.calls, id: RegExp) =>
      calls.filter((c) => id.test(c.context.step_id)).map((c) => c.idempotencyKey.split(":").at(-1));
    expect(versions(draft.calls, /^draft/)).toEqual(["v1", "v2"]);
    expect(versions(other.calls, /^check/)).toEqual(["v1", "v2"]);
    expect(versions(other.calls, /^other/)).toEqual(["v1"]);
    const keys = [...draft.calls, ...other.calls].map((c) => c.idempotencyKey);
    expect(new Set(keys).size).toBe(keys.length);
    expect((await t.kernel.actions(workflow_id)).map((a) => a.idempotency_key).toSorted()).toEqual(keys.toSorted());
  });
});

describe("an apply key", () => {
  it("[IDM-08] binds to tenant, scope, outcome and version; without a scope to the workflow", async () => {
    const { publish, capability } = twoApplies();
    await using t = await createTestKernel({ capabilities: [capability] });
    for (const scope of [null, { scope_type: "board", scope_id: "b7" }]) {
      const { workflow_id, outcomes } = await t.run(intent, {}, { scope });
      await t.approve(workflow_id, "gate-a");
      await t.rest(workflow_id);
      const where = scope?.scope_id ?? workflow_id;
      expect(publish.calls.at(-1)?.idempotencyKey).toBe(`apply:1:${where}:${outcomes[0]?.outcome_id}@1`);
    }
  });

  it("[IDM-08] is one for one version of a draft: two gates, two approvals, one effect", async () => {
    const { publish, capability } = twoApplies();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await approveBoth(t, workflow_id);
    const end = await t.kernel.workflow(workflow_id);
    expect([end.state, publish.calls.length]).toEqual(["completed", 1]);
    expect(count(await t.types(workflow_id), "OUTCOME_FINALIZED")).toBe(1);
    expect(end.outcomes.map((o) => o.status)).toEqual(["draft", "final"]);
    expect(end.gates.map((g) => g.target?.version)).toEqual([1, 1]);
  });

  it("[IDM-08] is another for an edited version, which is applied as well", async () => {
    const { publish, capability } = twoApplies();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id, "gate-a");
    await t.rest(workflow_id);
    await decide(t, workflow_id, { decision: "approve", gate_id: "gate-b", payload: { edit: { text: "mine" } } });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(publish.calls.map((c) => c.input)).toEqual([{ text: "draft 1" }, { text: "mine" }]);
    expect(new Set(publish.calls.map((c) => c.idempotencyKey)).size).toBe(2);
    expect((await t.kernel.outcomes(workflow_id)).outcomes.at(-1)).toMatchObject({
      status: "final",
      content: { text: "mine" },
    });
  });

  it("[IDM-08] is another for a regenerated version, which is applied as well", async () => {
    const { publish, capability } = twoApplies();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id, "gate-a");
    await t.rest(workflow_id);
    await t.kernel.retry(workflow_id, { ...testCaller, mode: "regenerate", step_ids: ["draft"] });
    await t.rest(workflow_id);
    expect((await gateOf(t, workflow_id, "gate-b")).payload).toEqual({ text: "draft 2" });
    await t.approve(workflow_id, "gate-b", await asShown(t, workflow_id, "gate-b"));
    await t.rest(workflow_id);
    expect(publish.calls.map((c) => c.input)).toEqual([{ text: "draft 1" }, { text: "draft 2" }]);
    expect(new Set(publish.calls.map((c) => c.idempotencyKey)).size).toBe(2);
  });
});

/** Who joins a call under way records its end as one that was answered, not made; and not as one that came too late. */
import { describe, expect, it } from "vitest";
import type { Budgets } from "../../src/contract/budget.ts";
import type { PlanStepDraft } from "../../src/contract/plan.ts";
import { operatorError } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { type Counted, counted, held, intent, Note, payloads, step, story } from "../gates/story.ts";

/** A package whose steps `a` and `b` apply one draft, with what else it has. */
function sharing(
  publish: Counted,
  { more = [], rows = [] }: { readonly more?: readonly Counted[]; readonly rows?: readonly PlanStepDraft[] } = {},
) {
  const draft = counted("Note.Draft", {}, () => ({ text: "a draft" }));
  const applying = (id: string) => step(id, publish, { applies: "draft", params: { text: "{{draft.output.text}}" } });
  const plan = [step("draft", draft, { outcome: "Draft.Note" }), applying("a"), applying("b"), ...rows];
  return [story([draft, publish, ...more], plan, { outcomes: { "Draft.Note": Note } })];
}

/** Both are approved while the first one's call is under way. */
async function joined(end: (call: ReturnType<typeof held<object>>) => void) {
  const call = held<object>();
  const publish = counted("Note.Publish", { effect: "final_write" }, () => call.promise.then(answer));
  const answer = (said: object): object => {
    if ("fails" in said) throw operatorError({ code: "GONE", message: "no board", category: "validation" });
    return said;
  };
  await using t = await createTestKernel({ capabilities: sharing(publish), limits: { maxReplans: 0 } });
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

  it("[IDM-04] that may have taken effect is asked about, not timed out, if its maker hears of that last", async () => {
    const more = { effect: "final_write", timeoutSec: 1, retry: "NONE" } as const;
    const publish = counted("Note.Publish", more, () => new Promise(() => undefined));
    const told = held<void>();
    const onError = ({ step_id }: { readonly step_id: string }) => (step_id === "a" ? told.promise : undefined);
    await using t = await createTestKernel({ capabilities: sharing(publish), middleware: [{ name: "slow", onError }] });
    const { workflow_id: id } = await t.run(intent);
    for (const gate of ["gate-a", "gate-b"]) await t.approve(id, gate);
    await t.clock.advance(1000);
    expect((await t.kernel.gates()).map(({ gate_id }) => gate_id)).toEqual(["gate-b_doubt1"]);
    told.release();
    await t.clock.settle();
    expect((await t.kernel.workflow(id)).steps.map(({ step_id, error }) => [step_id, error?.code])).toEqual([
      ["draft", undefined],
      ["a", undefined],
      ["b", undefined],
    ]);
    expect((await t.kernel.gates()).map(({ gate_id }) => gate_id)).toEqual(["gate-a_doubt1", "gate-b_doubt1"]);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("[IDM-04] that may have taken effect is asked about, not refused, if a hook refuses its maker later", async () => {
    const more = { effect: "final_write", timeoutSec: 1, retry: "STANDARD" } as const;
    const publish = counted("Note.Publish", more, () => new Promise(() => undefined));
    const ruled = held<void>();
    const before = async ({ step_id, attempt }: { readonly step_id: string; readonly attempt: number }) => {
      if (attempt === 1) return;
      if (step_id === "b") throw operatorError({ code: "BUSY", message: "not now", category: "transient" });
      await ruled.promise;
      throw operatorError({ code: "NOT_SO", message: "it may not", category: "policy_denied" });
    };
    await using t = await createTestKernel({
      capabilities: sharing(publish),
      middleware: [{ name: "strict", before }],
    });
    const { workflow_id: id } = await t.run(intent);
    for (const gate of ["gate-a", "gate-b"]) await t.approve(id, gate);
    for (const ms of [1000, 2000, 4000]) await t.clock.advance(ms);
    expect((await t.kernel.gates()).map(({ gate_id }) => gate_id)).toEqual(["gate-b_doubt1"]);
    ruled.release();
    await t.clock.settle();
    expect((await t.kernel.gates()).map(({ gate_id }) => gate_id)).toEqual(["gate-a_doubt1", "gate-b_doubt1"]);
    expect(await payloads(t, id, "STEP_FAILED")).toEqual([]);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it.each(["read", "final_write"] as const)(
    "[IDM-04] whose end nobody knows is not ended by a hook that refuses a step of effect %s with its key",
    async (effect) => {
      const publish = counted("Note.Publish", { effect: "final_write", retry: "NONE" }, () => {
        throw new Error("the line went dead");
      });
      const look = counted("Note.Look", { effect, retry: "NONE" });
      const before = ({ step_id }: { readonly step_id: string }) => {
        if (step_id === "c") throw operatorError({ code: "NO", message: "not this one", category: "validation" });
      };
      const gate = { reason: "a person looks" };
      const params = { text: "{{draft.output.text}}" };
      await using t = await createTestKernel({
        capabilities: sharing(publish, { more: [look], rows: [step("c", look, { applies: "draft", params, gate })] }),
        middleware: [{ name: "strict", before }],
      });
      const { workflow_id: id } = await t.run(intent);
      await t.approve(id, "gate-a");
      await t.clock.settle();
      await t.approve(id, "gate-c");
      await t.clock.settle();
      const failed = await payloads(t, id, "ACTION_FAILED");
      expect(failed.map(({ pending }) => pending)).toEqual([true]);
      expect((await t.kernel.gates()).map(({ gate_id }) => gate_id)).toContain("gate-a_doubt1");
      expect(publish.calls).toHaveLength(1);
      expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
    },
  );

  it("[IDM-05] that still hangs, and was made again by another step, leaves nothing open after a refusal", async () => {
    const [first, ruled] = [held<object>(), held<void>()];
    const more = { effect: "final_write", timeoutSec: 1, retry: "NONE" } as const;
    const publish = counted("Note.Publish", more, () => (publish.calls.length === 1 ? first.promise : { id: 7 }));
    const before = async ({ step_id, attempt }: { readonly step_id: string; readonly attempt: number }) => {
      if (step_id !== "a" || attempt === 1) return;
      await ruled.promise;
      throw operatorError({ code: "BUSY", message: "not now", category: "transient" });
    };
    const options = { middleware: [{ name: "busy", before }], limits: { maxReplans: 0 } };
    await using t = await createTestKernel({ capabilities: sharing(publish), ...options });
    const { workflow_id: id } = await t.run(intent);
    for (const gate of ["gate-a", "gate-b"]) await t.approve(id, gate);
    await t.clock.advance(1000);
    for (const gate of ["gate-a_doubt1", "gate-b_doubt1"]) await t.approve(id, gate, { resolution: "retry" });
    await t.clock.settle();
    ruled.release();
    await t.rest(id);
    expect((await payloads(t, id, "ACTION_SUCCEEDED")).at(-1)).toMatchObject({ attempt: 2, result: { id: 7 } });
    expect((await payloads(t, id, "ACTION_FAILED")).at(-1)).toMatchObject({ attempt: 2, pending: false });
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("[IDM-05] that a person had made again is not asked about again if a hook refuses it while it hangs", async () => {
    const more = { effect: "final_write", timeoutSec: 1, retry: "NONE" } as const;
    const publish = counted("Note.Publish", more, () => new Promise(() => undefined));
    const before = ({ attempt }: { readonly attempt: number }): void => {
      if (attempt > 1) throw operatorError({ code: "BUSY", message: "not now", category: "transient" });
    };
    const capabilities = [story([publish], [step("a", publish)])];
    const middleware = [{ name: "busy", before }];
    await using t = await createTestKernel({ capabilities, middleware, limits: { maxReplans: 0 } });
    const { workflow_id: id } = await t.run(intent);
    for (const gate of await t.kernel.gates()) await t.approve(id, gate.gate_id);
    await t.clock.advance(1000);
    await t.approve(id, "gate-a_doubt1", { resolution: "retry" });
    const { state, steps } = await t.rest(id);
    expect([state, steps[0]?.error?.code, publish.calls.length]).toEqual(["failed", "T4_OPERATOR_BUSY", 1]);
    expect(await t.kernel.gates()).toEqual([]);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("[INV-12] made while another step was asked about its budget replays, and was not done elsewhere", async () => {
    const [ruled, call] = [held<void>(), held<object>()];
    const publish = counted("Note.Publish", { effect: "final_write" }, () => call.promise);
    const before = ({ step_id }: { readonly step_id: string }) => (step_id === "draft" ? undefined : ruled.promise);
    const middleware = [{ name: "slow", before }];
    const budgets: Budgets = { limits: [{ scope: "workflow", invocations: 5 }] };
    await using t = await createTestKernel({ capabilities: sharing(publish), middleware, budgets });
    const { workflow_id: id } = await t.run(intent);
    for (const gate of ["gate-b", "gate-a"]) await t.approve(id, gate);
    await t.clock.settle();
    ruled.release();
    await t.clock.settle();
    call.release({ id: 7 });
    expect((await t.rest(id)).state).toBe("completed");
    expect(publish.calls).toHaveLength(1);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("takes nothing of a budget: what was set aside for a call of its own is free again", async () => {
    const publish = counted("Note.Publish", { effect: "final_write" });
    const after = counted("Note.After");
    const rows = [step("after", after, { depends_on: ["a", "b"] })];
    const capabilities = sharing(publish, { more: [after], rows });
    const budgets: Budgets = { limits: [{ scope: "tenant", invocations: 3 }] };
    await using t = await createTestKernel({ capabilities, defaultPolicies: false, budgets });
    const { workflow_id: id, state } = await t.run(intent);
    expect([state, await payloads(t, id, "BUDGET_REFUSED")]).toEqual(["completed", []]);
  });
});

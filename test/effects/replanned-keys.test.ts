/** A new plan is no second call: what has called keeps its key, and what has taken effect is not made again unasked. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { PlanStepDraft } from "../../src/contract/plan.ts";
import { operatorError, type Planner } from "../../src/index.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import type { AnyCall } from "../fixtures.ts";
import { type Counted, counted, decide, intent, payloads, step, story } from "../gates/story.ts";
import {
  createWorld,
  job,
  step as jobStep,
  ledgerPaths,
  minute,
  never,
  openProcess,
  work,
} from "../recovery/shared-file.ts";

const freshPath = ledgerPaths();
const later = 10 * minute;
const once = { effect: "external_send", idempotent: true } as const;
const keysOf = ({ calls }: Counted): readonly string[] => [...new Set(calls.map((call) => call.idempotencyKey))];
const throwPlainly = (): never => {
  throw new Error("the answer was lost behind the payment");
};
const refuse = (): never => {
  throw operatorError({ code: "NO", message: "not this one", category: "validation" });
};

/** A planner that gives one plan a round, the last one for all further rounds. */
function rounds(...plans: readonly { readonly steps: readonly PlanStepDraft[]; readonly continues?: true }[]): Planner {
  let round = -1;
  return {
    plan: async () => {
      round = Math.min(round + 1, plans.length - 1);
      return { plan: { reasoning: `round ${round}`, ...plans[round] }, usage: { total_cost: 0 } } as never;
    },
  };
}

const kernelOf = (operators: readonly Counted[], planner: Planner, limits = {}) =>
  createTestKernel({ capabilities: [story(operators, [])], planner, limits, defaultPolicies: false });

describe("a step that is planned anew with the operator and the payload of one that has called", () => {
  it.each([
    ["throws behind its effect", throwPlainly],
    ["refuses", refuse],
  ])("[IDM-06] keeps the key where the call %s, though three plans are made", async (_how, answer) => {
    const pay = counted("Bank.Pay", once, answer);
    const capabilities = [story([pay], [step("pay", pay, { params: { sum: 5 } })])];
    await using t = await createTestKernel({ capabilities, defaultPolicies: false });
    const end = await t.run(intent);
    expect(pay.calls.map(({ context }) => context.step_id)).toEqual(["pay", "pay_r1", "pay_r2"]);
    expect([end.state, keysOf(pay).length]).toEqual(["failed", 1]);
    expect(await t.kernel.replay(end.workflow_id)).toMatchObject({ identical: true });
  });

  it("[IDM-06] keeps the key under another name, and after a plan that called with another payload", async () => {
    const pay = counted("Bank.Pay", once, throwPlainly);
    const plan = (id: string, sum: number) => ({ steps: [step(id, pay, { params: { sum } })] });
    await using t = await kernelOf([pay], rounds(plan("pay", 5), plan("transfer", 7), plan("settle", 5)));
    const end = await t.run(intent);
    const [first, second, third] = pay.calls.map(({ idempotencyKey }) => idempotencyKey);
    expect([third === first, second === first]).toEqual([true, false]);
    expect(await t.kernel.replay(end.workflow_id)).toMatchObject({ identical: true });
  });

  it("[IDM-06] is answered from the record where that call has succeeded under another name", async () => {
    const [pay, no] = [counted("Bank.Pay", once, () => ({ paid: 5 })), counted("Bank.No", {}, refuse)];
    const params = { sum: 5 };
    const first = { steps: [step("pay", pay, { params }), step("no", no)] };
    await using t = await kernelOf([pay, no], rounds(first, { steps: [step("transfer", pay, { params })] }));
    const end = await t.run(intent);
    const outputs = (await payloads(t, end.workflow_id, "STEP_SUCCEEDED")).map(({ output }) => output);
    expect([end.state, pay.calls.length, outputs]).toEqual(["completed", 1, [{ paid: 5 }, { paid: 5 }]]);
    expect(await t.kernel.replay(end.workflow_id)).toMatchObject({ identical: true });
  });

  it("[IDM-06] keeps the key of a call of its own: two that are alike in one plan stay two", async () => {
    const pay = counted("Bank.Pay", once, throwPlainly);
    const plan = (...ids: string[]) => ({ steps: ids.map((id) => step(id, pay, { params: { sum: 5 } })) });
    await using t = await kernelOf([pay], rounds(plan("a", "b"), plan("c", "d"), plan("b", "a", "e")));
    const end = await t.run(intent);
    const byStep = new Map(pay.calls.map((call) => [call.context.step_id, call.idempotencyKey]));
    expect([keysOf(pay).length, new Set([byStep.get("a"), byStep.get("b")]).size]).toEqual([3, 2]);
    expect([byStep.get("c"), byStep.get("d")]).toEqual([byStep.get("a"), byStep.get("b")]);
    expect([byStep.get("a_r2"), byStep.get("b_r2")]).toEqual([byStep.get("a"), byStep.get("b")]);
    expect(await t.kernel.replay(end.workflow_id)).toMatchObject({ identical: true });
  });

  it("[IDM-06] has a key of its own where the plan goes on after a success: that asks for one more", async () => {
    const pay = counted("Bank.Pay", once);
    const params = { sum: 5 };
    const next = (id: string) => ({ steps: [step(id, pay, { params })] });
    await using t = await kernelOf([pay], rounds({ ...next("first"), continues: true }, next("second")));
    const end = await t.run(intent);
    expect([end.state, pay.calls.length, keysOf(pay).length]).toEqual(["completed", 2, 2]);
  });

  it("[IDM-06] keeps the key of what failed in a plan that goes on, as an agent makes it", async () => {
    const answers: (() => unknown)[] = [throwPlainly, () => ({}), () => ({ paid: 5 })];
    const pay = counted("Bank.Pay", once, ({ context }: AnyCall) =>
      context.step_id === "wait" ? {} : answers.shift()?.(),
    );
    const params = { sum: 5 };
    const think = counted("Bot.Think", { effect: "read" });
    const planner = rounds(
      { steps: [step("call_1", pay, { params })], continues: true },
      { steps: [step("think_2", think)], continues: true },
      { steps: [step("call_2", pay, { params })] },
    );
    await using t = await kernelOf([pay, think], planner);
    await t.run(intent);
    expect([pay.calls.length, keysOf(pay).length]).toEqual([2, 1]);
  });

  it("has a key of its own where nothing has an effect and another answer is wanted", async () => {
    const draft = counted("Note.Draft", {}, () => ({ text: draft.calls.length < 2 ? 7 : "a draft" }));
    const outcomes = { Letter: z.object({ text: z.string() }) };
    const capabilities = [story([draft], [step("draft", draft, { outcome: "Letter" })], { outcomes })];
    await using t = await createTestKernel({ capabilities });
    expect([(await t.run(intent)).state, keysOf(draft).length]).toEqual(["completed", 2]);
  });

  it("[IDM-06] keeps the key when the process ended during the call of the new plan", async () => {
    const path = freshPath();
    const world = createWorld();
    let isHanging = true;
    const keys: string[] = [];
    const run = ({ idempotencyKey }: AnyCall): unknown => {
      keys.push(idempotencyKey);
      return keys.length === 2 && isHanging ? never() : throwPlainly();
    };
    const pay = work(world, "Bank.Pay", { ...once, run: run as never });
    const capabilities = [job([jobStep("pay", "Bank.Pay", { params: { sum: 5 } })], [pay])];
    const first = await openProcess(path, { capabilities, defaultPolicies: false });
    const id = await first.submit("Test.Job");
    await first.clock.settle();
    expect(keys).toHaveLength(2);
    first.freeze();
    isHanging = false;
    await using second = await openProcess(path, { capabilities, defaultPolicies: false, at: later });
    expect([(await second.rest(id)).state, keys.length, new Set(keys).size]).toEqual(["failed", 4, 1]);
  });
});

describe("a call that has taken effect and whose result was refused", () => {
  it("[IDM-06] is not planned anew either where a person has settled it as failed, as the gate says", async () => {
    const pay = counted("Bank.Pay", { effect: "external_send" }, () => ({ paid: 5n }));
    const capabilities = [story([pay], [step("pay", pay, { params: { sum: 5 } })])];
    await using t = await createTestKernel({ capabilities, defaultPolicies: false });
    const { workflow_id: id, gates } = await t.run(intent);
    expect(gates[0]?.reasons[0]?.reason).toContain("it has taken effect, and its result was refused");
    expect(gates[0]?.consequences.reject).toContain("A retry may call Bank.Pay again, under the same key");
    await decide(t, id, { decision: "reject", gate_id: "gate-pay_doubt1" });
    expect([(await t.rest(id)).state, pay.calls.length]).toEqual(["failed", 1]);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  const answered = { output: z.object({ paid: z.number() }) };

  it("[IDM-06] by an output schema that throws at it, is neither retried nor planned anew", async () => {
    const output = z.object({ receipt: z.string().transform((link) => new URL(link).href) });
    const pay = counted("Bank.Pay", { ...once, output }, () => ({ receipt: "no link" }));
    await using t = await kernelOf([pay], rounds({ steps: [step("pay", pay, { params: { sum: 5 } })] }));
    const end = await t.run(intent);
    expect([end.state, end.error?.code, pay.calls.length]).toEqual(["failed", "T4_OUTPUT_INVALID", 1]);
  });

  it("[IDM-06] is not planned anew, though it may be repeated; a retry calls it again under its key", async () => {
    const pay = counted("Bank.Pay", { ...once, ...answered }, () => ({ paid: pay.calls.length < 2 ? "5" : 5 }));
    const plan = (sum: number) => ({ steps: [step("pay", pay, { params: { sum } })] });
    await using t = await kernelOf([pay], rounds(plan(5), plan(6)));
    const end = await t.run(intent);
    expect([end.state, end.error?.code, pay.calls.length]).toEqual(["failed", "T4_OUTPUT_INVALID", 1]);
    await t.kernel.retry(end.workflow_id, { ...testCaller });
    const again = await t.rest(end.workflow_id);
    expect([again.state, pay.calls.length, keysOf(pay).length]).toEqual(["completed", 2, 1]);
    expect(await t.kernel.replay(end.workflow_id)).toMatchObject({ identical: true });
  });

  it.each(["resume_failed_steps", "replay"] as const)(
    "[IDM-06] is in doubt where it may not be repeated: a person is asked, and %s makes no second call",
    async (mode) => {
      const pay = counted("Bank.Pay", { effect: "external_send", ...answered }, () => ({ paid: "5" }));
      const capabilities = [story([pay], [step("pay", pay, { params: { sum: 5 } })])];
      await using t = await createTestKernel({ capabilities, defaultPolicies: false });
      const { workflow_id: id, state, gates } = await t.run(intent);
      expect([state, gates.map(({ kind, status }) => `${kind} ${status}`)]).toEqual([
        "waiting_for_user",
        ["in_doubt open"],
      ]);
      await expect(t.kernel.retry(id, { ...testCaller, mode })).rejects.toThrow("T4_WORKFLOW_CONFLICT");
      await decide(t, id, {
        decision: "approve",
        gate_id: "gate-pay_doubt1",
        payload: { resolution: "done", result: { paid: 5 } },
      });
      expect([(await t.rest(id)).state, pay.calls.length]).toEqual(["completed", 1]);
      expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
    },
  );
});

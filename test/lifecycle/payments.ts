/** A bank whose plans go through lists of payments. */
import { expect } from "vitest";
import { z } from "zod";
import {
  type AnyStepDraft,
  defineCapability,
  defineOperator,
  operatorError,
  type WorkflowState,
} from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";

const Payment = z.object({ to: z.string(), amount: z.number() });
export const calls: string[] = [];
export const braces = "{{item.output.amount}}";
export const atOnce = { now: 0, most: 0 };
/** Amounts below zero fail until the account is filled. */
export const account = { isFilled: false };

export const pay = defineOperator({
  name: "Bank.Pay",
  input: Payment,
  output: z.object({ paid: z.number() }),
  effect: "write_draft",
  run: async ({ input }) => {
    calls.push(input.to);
    atOnce.now += 1;
    atOnce.most = Math.max(atOnce.most, atOnce.now);
    await Promise.resolve();
    atOnce.now -= 1;
    if (input.amount < 0 && !account.isFilled)
      throw operatorError({ code: "NO_MONEY", message: `no money for ${input.to}`, retryable: false });
    return { paid: input.amount };
  },
});
export const list = defineOperator({
  name: "Bank.List",
  input: z.object({ n: z.number() }),
  output: z.object({ due: z.array(Payment), rate: z.number() }),
  run: ({ input }) => ({ due: input.n === 0 ? [{ to: braces, amount: 1 }] : people(input.n), rate: 2 }),
});
export const tell = defineOperator({
  name: "Bank.Tell",
  input: z.looseObject({}),
  output: z.unknown(),
  run: ({ input }) => input,
});

export const people = (n: number, lacking: readonly number[] = []) =>
  Array.from({ length: n }, (_, i) => ({ to: `p${i}`, amount: lacking.includes(i) ? -1 : i }));

export const each = (items: unknown, more: object = {}, template: object = {}): AnyStepDraft => ({
  kind: "each",
  step_id: "pay",
  name: "Pay",
  params: { items: items as never },
  do: { operator: "Bank.Pay", params: { to: "{{item.output.to}}", amount: "{{item.output.amount}}" }, ...template },
  key: "{{item.output.to}}",
  ...more,
});

export const bank = (...steps: AnyStepDraft[]) =>
  defineCapability({
    intentType: "Bank.PayAll",
    version: "1.0",
    input: z.looseObject({}),
    operators: [pay, list, tell],
    plan: () => ({ reasoning: "all of them", steps }),
  });

export const tellAfter = (): AnyStepDraft => ({
  step_id: "tell",
  name: "Tell",
  operator: "Bank.Tell",
  params: { got: "{{pay.output}}" },
  depends_on: ["pay"],
});
export const failOnce = (): AnyStepDraft => ({
  step_id: "last",
  name: "Last",
  operator: "Bank.Pay",
  params: { to: "last", amount: -1 },
  depends_on: ["pay"],
});

export const caller = { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } } as const;
export const open = (steps: readonly AnyStepDraft[], options: object = {}) =>
  createTestKernel({ capabilities: [bank(...steps)], ...options });

export const eventsOf = (t: TestKernel, id: string) => Array.fromAsync(t.kernel.events(id, { live: false }));
export const outputOf = async (t: TestKernel, id: string, stepId = "pay"): Promise<unknown> =>
  (await eventsOf(t, id)).findLast((one) => one.event_type === "STEP_SUCCEEDED" && one.step_id === stepId)?.payload[
    "output"
  ];
export const stepErrorOf = (state: WorkflowState) => state.steps.find(({ step_id }) => step_id === "pay")?.error;
export const sound = async (t: TestKernel, id: string) => {
  expect((await t.kernel.replay(id)).identical).toBe(true);
  expect((await t.kernel.verify()).ok).toBe(true);
};

/** Forgets the calls of the test before. */
export function beginAnew(): void {
  calls.length = 0;
  Object.assign(atOnce, { now: 0, most: 0 });
  account.isFilled = false;
}

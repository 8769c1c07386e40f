/** A shop whose orders run payments as children, for tests of children. */
import { expect } from "vitest";
import { z } from "zod";
import { type AnyStepDraft, defineCapability, defineOperator } from "../../src/index.ts";
import type { TestKernel } from "../../src/testing/index.ts";

export const calls: string[] = [];
export const broken = new Set<string>();
export const take = defineOperator({
  name: "Shop.Take",
  effect: "write_draft",
  input: z.looseObject({}),
  output: z.unknown(),
  run: ({ input, context: { step_id } }) => {
    calls.push(step_id);
    if (broken.has(step_id.replace(/_r\d+$/, ""))) throw new Error("it does not work");
    return { taken: step_id, ...input };
  },
  idempotent: true,
  retry: "NONE",
});

export const pay = defineCapability({
  intentType: "Shop.Pay",
  version: "1.0",
  input: z.object({ sum: z.number(), asks: z.boolean().optional() }),
  operators: [take],
  outcomes: { "Shop.Receipt": z.looseObject({ taken: z.string() }) },
  plan: ({ input, step }) => {
    const first = step({ step_id: "reserve", name: "Reserve", operator: "Shop.Take", params: { sum: input.sum } });
    return {
      reasoning: "pay",
      steps: [
        first,
        step({
          step_id: "book",
          name: "Book",
          operator: "Shop.Take",
          params: { sum: input.sum },
          depends_on: [first],
          outcome: "Shop.Receipt",
          ...(input.asks === true && { gate: { reason: "large" } }),
        }),
      ],
    };
  },
});

export const shop = (plan: Parameters<typeof defineCapability<z.ZodType, readonly [typeof take]>>[0]["plan"]) =>
  defineCapability({
    intentType: "Shop.Order",
    version: "1.0",
    input: z.looseObject({}),
    operators: [take],
    plan,
  });

export const order = shop(({ intent, step, run }) => {
  const asks = intent.inputs["asks"] === true;
  const paid = run({ step_id: "pay", name: "Pay", capability: pay, input: { sum: 5, ...(asks && { asks }) } });
  const { text } = paid.output;
  return {
    reasoning: "o",
    steps: [paid, step({ step_id: "ship", name: "Ship", operator: "Shop.Take", params: { text } })],
  };
});

export const asData = (params: object): AnyStepDraft =>
  ({ step_id: "pay", name: "Pay", kind: "run", params }) as unknown as AnyStepDraft;
export const running = (params: object) => shop(() => ({ reasoning: "as data", steps: [asData(params)] }));

export const fresh = (): void => {
  calls.length = 0;
  broken.clear();
};

export async function childOf({ kernel }: TestKernel, id: string): Promise<string> {
  return (await kernel.workflow(id)).steps.find(({ step_id }) => step_id === "pay")?.child as string;
}

export const replaysAlike = async ({ kernel }: TestKernel, ...ids: readonly string[]) => {
  for (const id of ids) expect((await kernel.replay(id)).difference).toBe(null);
};

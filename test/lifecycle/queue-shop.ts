/** A shop whose orders wait in a queue, and the calls of those that run. */
import { z } from "zod";
import { type CapabilityOptions, defineCapability, defineOperator } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";

interface Call {
  readonly end: () => void;
  readonly fail: () => void;
}

/** The calls that run, by the name of their order, and all orders in the sequence in which they began. */
export const calls = new Map<string, Call>();
export const began: string[] = [];
export const most = { running: 0 };
export const fresh = (): void => {
  calls.clear();
  began.length = 0;
  most.running = 0;
};

export const pay = defineOperator({
  name: "Shop.Pay",
  effect: "write_draft",
  idempotent: true,
  retry: "NONE",
  input: z.object({ of: z.string() }),
  output: z.unknown(),
  run: ({ input: { of } }) =>
    new Promise<string>((resolve, reject) => {
      const over = (then: () => void) => () => {
        calls.delete(of);
        then();
      };
      calls.set(of, { end: over(() => resolve(of)), fail: over(() => reject(new Error("no"))) });
      began.push(of);
      most.running = Math.max(most.running, calls.size);
    }),
});

export type Queue = NonNullable<CapabilityOptions<z.ZodType>["queue"]>;

export const Order = z.object({ of: z.string(), vendor: z.string().optional(), asks: z.boolean().optional() });
export const shop = (queue?: Queue, intentType = "Shop.Order") =>
  defineCapability({
    intentType,
    version: "1.0",
    input: Order,
    limits: { maxReplans: 0 },
    operators: [pay],
    ...(queue !== undefined && { queue }),
    plan: ({ input: { of, asks }, step }) => {
      const gate = asks === true ? { gate: { reason: "look" } } : {};
      return {
        reasoning: "pay",
        steps: [step({ step_id: "pay", name: "Pay", operator: "Shop.Pay", params: { of }, ...gate })],
      };
    },
  });

export const one: Queue = { concurrency: 1 };
export const open = (queue: Queue = one) => createTestKernel({ capabilities: [shop(queue)], defaultPolicies: false });

export async function order(
  t: TestKernel,
  of: string,
  { more = {}, ...inputs }: Record<string, unknown> = {},
): Promise<string> {
  const id = await t.submit("Shop.Order", { of, ...inputs }, more as Record<string, unknown>);
  await t.clock.settle();
  return id;
}

export async function end(t: TestKernel, of: string): Promise<void> {
  calls.get(of)?.end();
  await t.clock.settle();
}

export const placeOf = async ({ kernel }: TestKernel, id: string) => (await kernel.workflow(id)).queue?.place;

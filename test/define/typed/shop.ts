/** A shop's operators and package, which right and wrong programs use. */
import { z } from "zod";
import { createKernel, defineCapability, defineOperator } from "../../../src/index.ts";

export const Order = z.object({ order: z.string(), cents: z.int().default(0), express: z.boolean().optional() });
export const Card = z.object({ number: z.string(), kind: z.enum(["debit", "credit"]) });
export const Receipt = z.object({ reference: z.string(), cents: z.int() });

export const look = defineOperator({
  name: "Shop.Look",
  input: z.object({ order: z.string() }),
  output: z.object({
    card: Card,
    cents: z.int(),
    lines: z.array(z.object({ sku: z.string() })),
    note: z.string().optional(),
  }),
  effect: "read",
  run: ({ input }) => ({ card: { number: input.order, kind: "debit" as const }, cents: 1999, lines: [{ sku: "A" }] }),
});
export const pay = defineOperator({
  name: "Shop.Pay",
  input: z.object({ order: z.string(), cents: z.int(), card: Card, tags: z.array(z.string()).default([]) }),
  output: Receipt,
  effect: "final_write",
  run: ({ input: { order, cents } }) => ({ reference: `paid ${order}`, cents }),
});
/** It says nothing of its output. */
export const tell = defineOperator({ name: "Shop.Tell", input: z.object({ text: z.string() }), run: () => "told" });

/** It may do without a note and a number of tries. */
export const note = defineOperator({
  name: "Shop.Note",
  input: z.object({ about: z.string(), note: z.string().optional(), tries: z.int().default(1) }),
  run: () => "noted",
});

export const parts = {
  version: "1.0",
  input: Order,
  operators: [look, pay, tell],
  outcomes: { Receipt, Card },
} as const;

export const refund = defineCapability({
  ...parts,
  intentType: "Shop.Refund",
  plan: ({ input, step }) => {
    const found = step({ step_id: "look", name: "Look", operator: "Shop.Look", params: { order: input.order } });
    const paid = step({
      step_id: "pay",
      name: "Pay",
      operator: "Shop.Pay",
      params: { order: input.order, cents: found.output.cents, card: found.output.card },
      outcome: "Receipt",
    });
    return { reasoning: "Look, then pay.", steps: [found, paid] };
  },
});

export const kernel = await createKernel({ capabilities: [refund] });
export const ann = { tenant_id: 1, principal: { type: "user", id: "ann", role: "user" } };

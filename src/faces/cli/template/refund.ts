/** A package of workflows: what may be asked, what it does, and where a person has to agree. */
import { defineCapability, defineOperator } from "countersign";
import { z } from "zod";

const Refund = z.object({ order: z.string(), cents: z.int().positive() });

const look = defineOperator({
  name: "Orders.Look",
  description: "What the order was, by its number",
  input: z.object({ order: z.string() }),
  effect: "read",
  run: ({ input }) => ({ order: input.order, paid_cents: 1999 }), // ask your shop here
});

const pay = defineOperator({
  name: "Refund.Pay",
  description: "Pays the amount back",
  input: Refund,
  effect: "final_write", // by default this effect waits for a person
  run: ({ input, idempotencyKey }) => ({ ...input, reference: idempotencyKey }), // call your bank here, under that key
});

export const refund = defineCapability({
  intentType: "Shop.Refund",
  version: "1.0",
  description: "Pays an order back to whoever bought it",
  input: Refund,
  operators: [look, pay],
  plan: ({ input }) => ({
    reasoning: "Look the order up, then pay it back once somebody has agreed.",
    steps: [
      { step_id: "look", name: "Look the order up", operator: "Orders.Look", params: { order: input.order } },
      { step_id: "pay", name: "Pay it back", operator: "Refund.Pay", params: input, depends_on: ["look"] },
    ],
  }),
});

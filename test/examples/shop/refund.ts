/** The package that the examples run: a refund that waits for a person before it is paid. */
import { defineCapability, defineOperator } from "countersign";
import { z } from "zod";

export const Refund = z.object({ order: z.string(), cents: z.int().positive() });

export const look = defineOperator({
  name: "Orders.Look",
  description: "What the order was, by its number",
  input: z.object({ order: z.string() }),
  effect: "read",
  run: ({ input }) => ({ order: input.order, paid_cents: 1999 }), // ask your shop here
});

export const pay = defineOperator({
  name: "Refund.Pay",
  description: "Pays the amount back",
  input: Refund,
  effect: "final_write", // by default this effect waits for a person
  // call your bank here
  run: ({ input, idempotencyKey }) => ({ paid: input.cents, reference: idempotencyKey.slice(0, 5) }),
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

/** A person of the shop, as the kernel's calls name them. */
export const person = (id: string) => ({ tenant_id: 1, principal: { type: "user", id, role: "user" } }) as const;
export const request = { intent_hint: { intent_type: "Shop.Refund", inputs: { order: "A-7", cents: 1999 } } };

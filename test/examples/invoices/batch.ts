/** Settles a list of invoices: a child workflow for each, ten at a time, and one sum at the end. */
import { appendFileSync } from "node:fs";
import { defineCapability, defineOperator, operatorError } from "countersign";
import { z } from "zod";

const Invoice = z.object({ id: z.string(), cents: z.int() });

/** The bank: it books each payment in a file, and refuses those to accounts that are closed. */
const pay = defineOperator({
  name: "Bank.Pay",
  idempotent: true, // the bank books a key once: a call that a crash interrupted is made again
  effect: "write_draft",
  input: Invoice,
  output: z.object({ booked: z.int() }),
  run: ({ input: { id, cents }, idempotencyKey: key }) => {
    if (id.endsWith("7"))
      throw operatorError({ code: "CLOSED", message: "the account is closed", category: "validation" });
    appendFileSync("bank.txt", `${key} ${id}\n`);
    return { booked: cents };
  },
});

export const settle = defineCapability({
  intentType: "Invoice.Settle",
  version: "1.0",
  input: Invoice,
  operators: [pay],
  limits: { maxReplans: 0 },
  plan: ({ input, step }) => ({
    reasoning: "Pay it.",
    steps: [
      step({
        step_id: "pay",
        name: `Pay ${input.id}`,
        operator: "Bank.Pay",
        params: input,
        ...(input.cents > 100_000 ? { gate: { reason: "more than 1,000.00" } } : {}),
      }),
    ],
  }),
});

export const batch = defineCapability({
  intentType: "Invoice.Batch",
  version: "1.0",
  input: z.object({ invoices: z.array(Invoice) }),
  operators: [],
  plan: ({ input, each, run }) => ({
    reasoning: "Settle each invoice by itself.",
    steps: [
      each({
        step_id: "all",
        name: "Settle all",
        items: input.invoices,
        do: (invoice) => run({ capability: settle, input: { id: invoice.id, cents: invoice.cents } }),
        key: (invoice) => invoice.id,
        concurrency: 10,
        tolerate: "15%",
      }),
    ],
  }),
});

/** An office whose work the pictures of the console show: payments, an invoice run, a trip that is undone. */
import { z } from "zod";
import { defineCapability, defineOperator, operatorError } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";

export const person = (id: string, role = "user") => ({ tenant_id: 1, principal: { type: "user", id, role } }) as const;
const [ann, bo, cy] = [person("ann"), person("bo"), person("cy")];

const Payment = z.object({ supplier: z.string(), amount_eur: z.number(), invoice: z.string() });
const check = defineOperator({
  name: "Bank.CheckInvoice",
  effect: "read",
  input: Payment,
  output: z.object({ known_supplier: z.boolean(), paid_before: z.number() }),
  run: () => ({ known_supplier: true, paid_before: 4 }),
});
const pay = defineOperator({
  name: "Bank.Pay",
  effect: "final_write",
  input: Payment,
  output: z.object({ paid: z.string() }),
  run: ({ input }) => ({ paid: `${input.amount_eur} EUR to ${input.supplier}` }),
});
const payment = defineCapability({
  intentType: "Bank.Payment",
  keywords: ["pay", "invoice"],
  version: "1.0",
  input: Payment,
  operators: [check, pay],
  plan: ({ input, step }) => {
    const checked = step({ step_id: "check", name: "Check the invoice", operator: "Bank.CheckInvoice", params: input });
    const paid = step({
      ...{ step_id: "pay", name: `Pay ${input.supplier}`, operator: "Bank.Pay", params: input, depends_on: [checked] },
      gate: { reason: "payments over 1,000 EUR need two people", quorum: { approvals: 2 } },
    });
    return { reasoning: "An invoice is checked before it is paid.", steps: [checked, paid] };
  },
});

const Room = z.object({ room: z.string() });
const book = defineOperator({
  name: "Hotel.Book",
  effect: "write_draft",
  input: Room,
  output: Room,
  run: ({ input }) => input,
});
const free = defineOperator({
  name: "Hotel.Free",
  effect: "write_draft",
  idempotent: true,
  input: Room,
  run: () => "free",
});
const buy = defineOperator({
  name: "Train.Buy",
  effect: "write_draft",
  input: z.object({ to: z.string() }),
  run: () => {
    throw operatorError({ code: "SOLD_OUT", message: "the night train is sold out", retryable: false });
  },
});
const trip = defineCapability({
  intentType: "Trip.Plan",
  keywords: ["trip"],
  version: "1.0",
  input: z.object({ to: z.string() }),
  operators: [book, free, buy],
  plan: ({ input, step }) => {
    const hotel = step({
      ...{ step_id: "hotel", name: "Book the hotel", operator: "Hotel.Book", params: { room: "12" } },
      undo: { operator: "Hotel.Free", params: (made) => ({ room: made.room }) },
    });
    const car = step({ step_id: "car", name: "Book a car", operator: "Hotel.Book", params: { room: "car 3" } });
    const train = step({
      ...{ step_id: "train", name: "Buy the train ticket", operator: "Train.Buy", params: { to: input.to } },
      depends_on: [hotel, car],
    });
    return { reasoning: "A room and a car, then the train.", steps: [hotel, car, train] };
  },
});

/** The runs that the pictures show, by what has become of them. */
export interface Office {
  readonly t: TestKernel;
  readonly waiting: string;
  readonly paid: string;
  readonly undone: string;
}

const suppliers = [
  "Miller & Sons",
  "Nordlicht GmbH",
  "Acme Paper",
  "Harbour Café",
  "Atlas Freight",
  "Weber Druck",
] as const;

/** Fills a ledger, the same one each time: time stands at a fixed instant and moves by what the story says. */
export async function openOffice(): Promise<Office> {
  const limits = [
    { scope: "tenant" as const, window: "day" as const, invocations: 60, tokens: 20_000 },
    { scope: "operator" as const, invocations: 40 },
  ];
  const t = await createTestKernel({ capabilities: [payment, trip], budgets: { limits }, limits: { maxReplans: 0 } });
  const asked = async (supplier: string, at: number): Promise<string> => {
    const inputs = { supplier, amount_eur: 1_200 + 917 * at, invoice: `2026-${100 + at}` };
    const text = `Pay invoice ${inputs.invoice} of ${supplier}`;
    const hint = { intent_type: "Bank.Payment", inputs };
    const { workflow_id } = await t.kernel.submit({ ...cy, input: { text }, intent_hint: hint });
    await t.rest(workflow_id);
    await t.clock.advance(7 * 60_000);
    return workflow_id;
  };
  const ids: string[] = [];
  for (const [at, supplier] of suppliers.entries()) ids.push(await asked(supplier, at));
  const [paid = "", waiting = ""] = ids;
  for (const who of [ann, bo])
    await t.kernel.decideGate(paid, { ...who, decision: "approve", payload: { comment: "as ordered" } });
  await t.rest(paid);
  await t.kernel.decideGate(waiting, { ...bo, decision: "approve", payload: { edit: { amount_eur: 2_017 } } });
  const question = { text: "Is this the amount without tax?", asks: true };
  await t.kernel.noteGate(waiting, { ...bo, gate_id: "gate-pay", comment: question, assign: { id: "ann" } });
  const answer = { text: "Yes: the tax is paid with the next invoice.", mentions: [{ id: "bo" }] };
  await t.kernel.noteGate(waiting, { ...cy, gate_id: "gate-pay", comment: answer });
  const begun = { intent_type: "Trip.Plan", inputs: { to: "Rome" } };
  const { workflow_id: undone } = await t.kernel.submit({
    ...ann,
    input: { text: "A trip to Rome" },
    intent_hint: begun,
  });
  await t.rest(undone);
  return { t, waiting, paid, undone };
}

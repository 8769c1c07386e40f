/**
 * A day at the desk: a ledger with many runs and open gates, and five tasks of somebody who is no engineer. A task
 * finds its way by the texts on the page alone.
 *
 * Owns: the work, and the tasks. Never: knows a class, an id or an address of the console.
 */
import type { Page } from "playwright-core";
import { z } from "zod";
import { defineCapability, defineOperator, type Operator } from "../../src/index.ts";
import { bo, openSite, type Site } from "./site.ts";

const Bill = z.object({ supplier: z.string(), amount: z.number(), invoice: z.string() });
const shared = {
  input: Bill,
  output: z.object({ transfer: z.string() }),
  present: {
    title: ({ supplier }: z.infer<typeof Bill>) => `Pay ${supplier}`,
    facts: [
      { label: "Supplier", value: "supplier" },
      { label: "Amount", value: "amount", format: "money" as const, currency: "EUR", total: true },
      { label: "Invoice", value: "invoice" },
    ],
  },
};
const transfer = ({ input }: { readonly input: z.infer<typeof Bill> }) => ({ transfer: `T-${input.invoice}` });
const pay = defineOperator({ ...shared, name: "Bank.Pay", effect: "final_write", run: transfer });
const enter = defineOperator({ ...shared, name: "Book.Enter", effect: "write_draft", run: transfer });
const wire = defineOperator({
  ...{ ...shared, name: "Bank.Wire", effect: "final_write" },
  run: () => {
    throw new Error("the bank closed the connection");
  },
});
const file = defineOperator({ name: "File.Report", effect: "read", input: z.object({}), run: () => "filed" });

type BillOperator = Operator<z.infer<typeof Bill>, { transfer: string }>;

type AskedGate = { readonly reason: string; readonly quorum?: { readonly approvals: number } };

const billing = (intentType: string, operator: BillOperator, gate: AskedGate | null) =>
  defineCapability({
    intentType,
    version: "1.0",
    input: Bill,
    operators: [operator],
    present: { title: ({ supplier, invoice }) => `${supplier}, invoice ${invoice}` },
    plan: ({ input }) => ({
      reasoning: "An invoice is paid once a person has read it.",
      steps: [
        {
          ...{ step_id: "pay", name: `Pay ${input.supplier}`, operator: operator.metadata.name, params: input },
          ...(gate !== null && { gate }),
        },
      ],
    }),
  });
const report = defineCapability({
  intentType: "File.Daily",
  version: "1.0",
  input: z.object({}),
  operators: [file],
  plan: { reasoning: "", steps: [{ step_id: "file", name: "File the report", operator: "File.Report" }] },
});
const capabilities = [
  billing("Bank.Payment", pay, { reason: "payments are read by a person" }),
  billing("Bank.Large", pay, { reason: "large payments are read by two people", quorum: { approvals: 2 } }),
  billing("Book.Invoice", enter, { reason: "invoices are entered once a person has seen them" }),
  billing("Bank.Urgent", wire, null),
  report,
];

/** The names in the work of one seat: each task is done once by each. */
export interface Names {
  readonly supplier: string;
  readonly edited: string;
  readonly batch: string;
  readonly doubtful: string;
}

export const seats: readonly Names[] = [
  { supplier: "Acme Paper", edited: "Weber Print", batch: "Copy Shop", doubtful: "Atlas Freight" },
  { supplier: "Blue Water", edited: "Harbour Café", batch: "Corner Bakery", doubtful: "Nord Logistics" },
];

export const batchSize = 30;
export const batchSum = "343.50 EUR";

export interface Desk {
  readonly site: Site;
  /** Returns the workflow of a supplier. */
  readonly of: (supplier: string) => Promise<string>;
}

/** Opens a desk with this many runs, of which about `gates` wait for a person. */
export async function openDesk({ runs, gates }: { readonly runs: number; readonly gates: number }): Promise<Desk> {
  const limits = { maxInFlight: runs + 10 };
  const site = await openSite({ kernel: { capabilities, defaultPolicies: false, limits } });
  const { kernel } = site;
  const ids: string[] = [];
  const begin = async (intent_type: string, inputs: Readonly<Record<string, unknown>>): Promise<string> => {
    const { workflow_id } = await kernel.submit({ ...bo, intent_hint: { intent_type, inputs } });
    ids.push(workflow_id);
    return workflow_id;
  };
  const bill = (supplier: string, amount: number) => ({ supplier, amount, invoice: `2026-${1000 + ids.length}` });
  const edited: string[] = [];
  for (const names of seats) {
    for (let i = 0; i < batchSize; i += 1) await begin("Book.Invoice", bill(names.batch, 10 + i / 10));
    await begin("Bank.Payment", bill(names.supplier, 2_345));
    edited.push(await begin("Bank.Large", bill(names.edited, 4_100)));
    await begin("Bank.Urgent", bill(names.doubtful, 800));
  }
  const paid = await begin("Bank.Payment", bill("Northern Light", 7_300));
  while (ids.length < gates) await begin("Bank.Payment", bill(`Supplier ${ids.length}`, 1_000 + ids.length));
  while (ids.length < runs) await begin("File.Daily", {});
  for (const id of ids) await kernel.settled(id);
  const answer = async (id: string, more: object): Promise<void> => {
    const { payload_digest } = await kernel.gate(id, "gate-pay");
    const payload = { payload_digest, ...more };
    await kernel.decideGate(id, { ...bo, gate_id: "gate-pay", decision: "approve", payload });
  };
  for (const id of edited) await answer(id, { edit: { amount: 4_200 } });
  await answer(paid, { comment: "the goods arrived on Friday" });
  await kernel.settled(paid);
  const of = async (supplier: string): Promise<string> =>
    (await kernel.workflows({ text: supplier.toLowerCase(), limit: 1 }))[0]?.workflow_id ?? "";
  return { site, of };
}

/** A person before the page; `press` acts by key or by touch. */
export interface Seat {
  readonly page: Page;
  readonly names: Names;
  readonly press: (role: "button" | "link" | "checkbox", name: string | RegExp) => Promise<void>;
}

/** Where the work is done: at a desk in the dark by keys, and on a phone in the light by touch. */
export const places = {
  desk: { viewport: { width: 1400, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, colorScheme: "light" },
} as const;
export type Place = keyof typeof places;

/** Returns a seat at a place: one of `seats` each. */
export function sitAt(place: Place, page: Page): Seat {
  const names = seats[place === "desk" ? 0 : 1] as Names;
  const press: Seat["press"] = async (role, name) => {
    const wanted = page.getByRole(role, { name, ...(typeof name === "string" && { exact: true }) }).first();
    if (place === "phone") return wanted.tap();
    return wanted.press(role === "checkbox" ? "Space" : "Enter");
  };
  return { page, names, press };
}

async function find({ page, press }: Seat, what: string, open: string | RegExp): Promise<void> {
  await page.getByLabel("Search").first().fill(what);
  await page
    .getByText(/^1 decision/)
    .first()
    .waitFor();
  await press("link", open);
}

async function showInbox({ page, press }: Seat): Promise<void> {
  await press("link", /^Inbox/);
  await page
    .getByText(/decisions wait for you/)
    .first()
    .waitFor();
}

/** Finds the payment of a supplier and approves it. */
export async function approvePayment(seat: Seat): Promise<void> {
  const { page, names, press } = seat;
  await showInbox(seat);
  await find(seat, names.supplier, `Pay ${names.supplier}`);
  await page.getByText("2,345.00 EUR").last().waitFor();
  await press("button", "Approve");
  await press("button", "Send now");
  await page.getByText("Approved. The work goes on.").first().waitFor();
}

/** Returns the words in which the page says what a colleague changed. */
export async function readEdit(seat: Seat): Promise<string> {
  const { page, names } = seat;
  await showInbox(seat);
  await find(seat, names.edited, new RegExp(`${names.edited}`));
  await page.getByRole("heading", { name: "This was edited" }).waitFor();
  return (
    (await page
      .getByText(/amount: 4100 → 4200/)
      .last()
      .textContent()) ?? ""
  );
}

/** Approves all invoices of a supplier at once, after a look at their sum. */
export async function approveBatch(seat: Seat): Promise<void> {
  const { page, names, press } = seat;
  await showInbox(seat);
  await page.getByLabel("Search").first().fill(names.batch);
  await page
    .getByText(new RegExp(`^${batchSize} decisions`))
    .first()
    .waitFor();
  await press("checkbox", `Select Pay ${names.batch}`);
  await press("button", "Select all like these");
  await page.getByText(batchSum).first().waitFor();
  await press("button", `Approve all ${batchSize}`);
  await press("button", "Send now");
  await page
    .getByText(/No decision is like that|Nothing waits|0 decisions/)
    .first()
    .waitFor();
}

/** Returns the words of the page on why a payment ran. */
export async function readWhy({ page, press }: Seat): Promise<string> {
  await press("link", "Runs");
  await page.getByRole("heading", { name: "Runs" }).waitFor();
  await page.getByLabel("Search").first().fill("northern");
  await press("link", /^Northern Light/);
  await press("link", "Why");
  await page.getByRole("heading", { name: "What was decided, and by whom" }).waitFor();
  return (await page.getByRole("main").textContent()) ?? "";
}

/** States what became of a call that nobody knows the end of. */
export async function answerDoubt(seat: Seat): Promise<void> {
  const { page, names, press } = seat;
  await showInbox(seat);
  await find(seat, names.doubtful, new RegExp(names.doubtful));
  await page.getByText("the bank closed the connection").first().waitFor();
  await page.getByLabel("transfer", { exact: true }).fill("T-17");
  await press("button", "It happened");
  await page
    .getByText(/The work goes on|What came of it/)
    .first()
    .waitFor();
}

/**
 * What tests of budgets share: an operator that says what it used, kernels that run it, and what the events add up to.
 */
import { addCharge, type Charge, noCharge } from "../../src/contract/budget.ts";
import { payloadOf } from "../../src/contract/event.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { flow, skill, step } from "../execution/flow.ts";
import { rowOpener } from "../ledgers/reseal.ts";

export const calls = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, i) =>
    step(`s${i + 1}`, "Probe.Work", { params: { n: i }, depends_on: i === 0 ? [] : [`s${i}`], ...more }),
  );

export interface Kind {
  readonly tokens?: number;
  readonly usage?: { readonly total: number; readonly cost: number };
  readonly limits?: object;
}

export function working({ tokens = 0, usage, limits = {} }: Kind = {}) {
  const ran: unknown[] = [];
  const operator = skill(
    "Probe.Work",
    (call) => {
      ran.push(call.input["n"]);
      if (usage !== undefined)
        call.usage({ tokens: { in: 0, out: usage.total, total: usage.total }, cost: { total: usage.cost } });
      return "done";
    },
    { resources: { tokens }, limits },
  );
  return { operator, ran };
}

export const kernelOf = (operator: ReturnType<typeof working>["operator"], count: number, more: object = {}) =>
  createTestKernel({ capabilities: [flow([operator], calls(count))], ...more });

/** What the BUDGET_ events of a whole ledger add up to, by counter. */
export async function foldCharges(store: LedgerStore): Promise<Record<string, Charge>> {
  const charged: Record<string, Charge> = {};
  const add = (counters: readonly string[], amounts: Charge): void => {
    for (const counter of counters) charged[counter] = addCharge(charged[counter] ?? noCharge, amounts);
  };
  const open = rowOpener();
  for (const { row } of await store.tail(0, 100_000))
    for (const event of open(row)) {
      if (event.event_type === "BUDGET_RESERVED") {
        const { counters, amounts } = payloadOf(event, "BUDGET_RESERVED");
        add(counters, amounts);
      } else if (event.event_type === "BUDGET_SETTLED") {
        const { counters, amounts, reserved } = payloadOf(event, "BUDGET_SETTLED");
        add(counters, addCharge(amounts, reserved, -1));
      }
    }
  return charged;
}

export const tenantCharges = async (store: LedgerStore) =>
  Object.fromEntries((await store.chargesOf(1)).map(({ counter, amounts }) => [counter, amounts]));

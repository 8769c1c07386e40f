/**
 * The lists of the store of plain rows: the port's words as filters over all there is.
 */
import type { Gate } from "../contract/gate.ts";
import { type CutGate, listGate } from "../contract/listed-gate.ts";
import type {
  GatePageFilter,
  GatePlace,
  GateSelection,
  HeadPage,
  HeadPlace,
  HeadSelection,
  LedgerStore,
  ListedHead,
  Paged,
  WorkflowHead,
} from "../ports/ledger-store.ts";

interface ListTables {
  readonly workflows: Map<string, WorkflowHead>;
  readonly gates: Map<string, string>;
}

type Lists = Pick<LedgerStore, "listHeads" | "countHeads" | "listGates" | "countGates">;

export function createLists(tables: ListTables): Lists {
  return {
    listHeads: async (page) => pageOf(selectHeads(tables, page), page, byAge),
    countHeads: async (selection) => selectHeads(tables, selection).length,
    listGates: async (page) => pageOf(selectGates(tables, page), page, byWorkflow),
    countGates: async (selection) => selectGates(tables, selection).length,
  };
}

function selectHeads({ workflows, gates }: ListTables, selection: HeadSelection | HeadPage): readonly ListedHead[] {
  const { tenant_id, thread_id, intent_type, principal_id, states, since, until } = selection;
  const wanted = Object.entries({ tenant_id, thread_id, intent_type, principal_id });
  const open = [...gates.values()].map((text) => (JSON.parse(text) as Gate).workflow_id);
  return [...workflows.values()]
    .filter((head) =>
      wanted.every(([name, value]) => value === undefined || value === head[name as keyof WorkflowHead]),
    )
    .filter(({ state, created_at }) => {
      const isInTime = (since === undefined || created_at >= since) && (until === undefined || created_at < until);
      return isInTime && (states?.includes(state) ?? true);
    })
    .map((head) => ({ ...head, open_gates: open.filter((id) => id === head.workflow_id).length }));
}

function selectGates({ gates }: ListTables, selection: GateSelection | GatePageFilter): readonly CutGate[] {
  const { tenant_id, workflow_id, operator, due_before } = selection;
  const wanted = Object.entries({ tenant_id, workflow_id, operator });
  return [...gates.values()]
    .map((text) => JSON.parse(text) as Gate)
    .filter((gate) => wanted.every(([name, value]) => value === undefined || value === gate[name as keyof Gate]))
    .filter(({ due_at }) => due_before === undefined || (due_at !== null && Date.parse(due_at) < due_before))
    .map(listGate);
}

/** Below zero where the first stands before the second in a list. */
type Order<Place> = (a: Place, b: Place) => number;

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const byAge: Order<HeadPlace> = (a, b) => b.created_at - a.created_at || byText(b.workflow_id, a.workflow_id);
const byWorkflow: Order<GatePlace> = (a, b) => byText(b.workflow_id, a.workflow_id) || byText(a.gate_id, b.gate_id);

function pageOf<Place, T extends Place>(
  all: readonly T[],
  { after, before, limit }: Paged<Place>,
  order: Order<Place>,
): readonly T[] {
  const found = all
    .filter((item) => after === undefined || order(after, item) < 0)
    .filter((item) => before === undefined || order(item, before) < 0)
    .sort(order);
  const isBackward = before !== undefined && after === undefined;
  return isBackward ? found.slice(Math.max(0, found.length - limit)) : found.slice(0, limit);
}

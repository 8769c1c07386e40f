/**
 * Reads the indexes beside the log: open gates, memory, documents, shared keys.
 *
 * Owns: the translation of the port's filters to SQL.
 * Never: crosses a tenant if the query names one.
 */
import type { Charge } from "../../contract/budget.ts";
import type { ParsedDocumentRecord } from "../../contract/context-bundle.ts";
import type { Gate } from "../../contract/gate.ts";
import type { LedgerStore, MemoryQuery, StoredMemory } from "../../ports/ledger-store.ts";
import { type Columns, idText, parseCell, payerText, threadText, toCharge } from "../tables/columns.ts";
import type { Connection } from "./transaction.ts";

type Id = string | number;
type GateFilter = Parameters<LedgerStore["gates"]>[0];

const parseRecord = <T>(columns: Columns): T => parseCell<T>(columns["record"], "record");

/** Returns gates in order of workflow and gate id. */
export function readGates({ statements }: Connection, filter: GateFilter): readonly Gate[] {
  const { workflow_id, after = "", limit = -1 } = filter;
  const tenant = filter.tenant_id === undefined ? null : idText(filter.tenant_id);
  const page = [...cursorOf(after), limit] as const;
  if (workflow_id !== undefined)
    return statements.gatesOfWorkflow.all(workflow_id, tenant, ...page).map(parseRecord<Gate>);
  if (tenant !== null) return statements.gatesOfTenant.all(tenant, ...page).map(parseRecord<Gate>);
  return statements.gatesOfAll.all(...page).map(parseRecord<Gate>);
}

/** Reads a cursor: `<workflow_id>/<gate_id>` is after that gate; a workflow id alone is after all of its gates. */
function cursorOf(after: string): readonly [string, string] {
  const slash = after.lastIndexOf("/");
  return slash === -1 ? [after, "\u{10ffff}"] : [after.slice(0, slash), after.slice(slash + 1)];
}

/**
 * Returns memory. Without a thread: all of the tenant's; with null: records of no thread; with an id: that thread's.
 */
export function readMemory({ statements }: Connection, query: MemoryQuery): readonly StoredMemory[] {
  const { thread_id, keys, limit } = query;
  const place = [idText(query.tenant_id), ...(thread_id === undefined ? [] : [threadText(thread_id)])];
  const isOfTenant = thread_id === undefined;
  const all = isOfTenant ? statements.memoryOfTenant : statements.memoryOfThread;
  const byKey = isOfTenant ? statements.memoryOfTenantByKey : statements.memoryOfThreadByKey;
  const rows =
    keys === undefined
      ? all.all(...place, limit)
      : byKey.all(...place, JSON.stringify(keys.map((key) => JSON.stringify(key))), limit);
  return rows.map((row) => ({ ...parseRecord<StoredMemory>(row), position: row["position"] as number }));
}

/** Returns the newest record of each existing document, in the order of the ids. */
export function readDocuments(
  { statements }: Connection,
  tenantId: Id,
  documentIds: readonly Id[],
): readonly ParsedDocumentRecord[] {
  const tenant = idText(tenantId);
  return documentIds.flatMap((id) => {
    const row = statements.document.get(tenant, idText(id));
    return row === undefined ? [] : [parseRecord<ParsedDocumentRecord>(row)];
  });
}

/** Returns charges in the order of the counters; zero for a counter that was never charged. */
export function readCharges(
  { statements }: Connection,
  tenantId: Id | null,
  counters: readonly string[],
): readonly Charge[] {
  const payer = payerText(tenantId);
  return counters.map((counter) => toCharge(statements.chargesOfCounter.get(payer, counter)));
}

export const readAllCharges = (
  { statements }: Connection,
  tenantId: Id,
): readonly { readonly counter: string; readonly amounts: Charge }[] =>
  statements.chargesOfTenant
    .all(idText(tenantId))
    .map((row) => ({ counter: row["counter"] as string, amounts: toCharge(row) }));

export function readKey(
  { statements }: Connection,
  tenantId: Id,
  key: string,
): Awaited<ReturnType<LedgerStore["findKey"]>> {
  const row = statements.findKey.get(idText(tenantId), JSON.stringify(key));
  if (row === undefined) return null;
  return { workflow_id: row["workflow_id"] as string, action_id: row["action_id"] as string };
}

/**
 * Reads the indexes beside the log: heads, lists, open gates, memory, documents, shared keys, charges.
 *
 * Owns: the translation of the port's filters to SQL.
 * Never: crosses a tenant if the query names one.
 */
import type { ParsedDocumentRecord } from "../../contract/context-bundle.ts";
import type { Gate } from "../../contract/gate.ts";
import { listGate } from "../../contract/listed-gate.ts";
import type {
  HoldCount,
  LedgerStore,
  ListedHead,
  MemoryQuery,
  StoredMemory,
  WorkflowHead,
} from "../../ports/ledger-store.ts";
import {
  type Columns,
  idText,
  parseCell,
  payerText,
  threadText,
  toCharge,
  toHead,
  toListedHead,
  toStoredHalt,
} from "../tables/columns.ts";
import { decisionCountQuery, decisionPageQuery, readDecisions } from "../tables/decision-queries.ts";
import { gateCountQuery, gatePageQuery, seatQuery } from "../tables/gate-queries.ts";
import { headCountQuery, headPageQuery, headQuery, inListOrder, type Query } from "../tables/list-queries.ts";
import { digestOf } from "./append.ts";
import { inPostgres } from "./gate-statements.ts";
import { plain, planAnew, toStatement } from "./list-statement.ts";
import { firstOf, type Runner, rowsOf, type Statement } from "./query.ts";
import { searchHeads } from "./search-heads.ts";
import { statement } from "./statements.ts";
import type { Run } from "./store.ts";

type Heads = "head" | "heads" | "listHeads" | "searchHeads" | "countHeads" | "nextDue";

export function createHeadReads({ read }: Run): Pick<LedgerStore, Heads> {
  return {
    head: (workflowId) =>
      read("head", async (on) => {
        const row = await firstOf(on, statement("head", workflowId));
        return row === undefined ? null : toHead(plain(row));
      }),
    heads: (filter) => read("heads", async (on) => (await rowsOf(on, toStatement(headQuery(filter)))).map(plainHead)),
    listHeads: (page) =>
      read("listHeads", async (on) => {
        const heads = (await rowsOf(on, toStatement(headPageQuery(page)))).map(plainListed);
        return inListOrder(page, heads);
      }),
    searchHeads: (page) => read("searchHeads", (on) => searchHeads(on, page)),
    countHeads: (selection) => read("countHeads", (on) => countOf(on, headCountQuery(selection))),
    nextDue: (elsewhere = []) =>
      read("nextDue", async (on) => {
        const row = await firstOf(on, statement("nextDue", elsewhere));
        return (row?.["at"] as number | undefined) ?? null;
      }),
  };
}

export const plainHead = (row: Columns): WorkflowHead => toHead(plain(row));
const plainListed = (row: Columns): ListedHead => toListedHead(plain(row));

async function countOf(on: Runner, query: Query): Promise<number> {
  return (await firstOf(on, toStatement(query)))?.["n"] as number;
}

const recordOf = <T>(row: Columns): T => parseCell<T>(row["record"], "record");

type Records =
  | "gates"
  | "listGates"
  | "countGates"
  | "listSeats"
  | "decisions"
  | "countDecisions"
  | "countHolds"
  | "halts"
  | "findKey"
  | "charges"
  | "chargesOf"
  | "memory"
  | "documents";

export function createRecordReads({ read }: Run): Pick<LedgerStore, Records | "version"> {
  return {
    gates: (filter) => read("gates", async (on) => (await rowsOf(on, gatesStatement(filter))).map(recordOf<Gate>)),
    listGates: (page) =>
      read("listGates", async (on) => {
        // How many gates have one of these seats decides by which index they are read.
        const prepare = page.seats === undefined ? toStatement : planAnew;
        const rows = await rowsOf(on, prepare(gatePageQuery(page, inPostgres)));
        const gates = rows.map(({ listed }) => listGate(parseCell<Gate>(listed, "listed")));
        return inListOrder(page, gates);
      }),
    countGates: (selection) => read("countGates", (on) => countOf(on, gateCountQuery(selection, inPostgres))),
    listSeats: (selection, limit) =>
      read("listSeats", async (on) => {
        const rows = await rowsOf(on, toStatement(seatQuery(selection, limit, inPostgres)));
        return rows.map(({ seat }) => seat as string);
      }),
    decisions: (page) =>
      read("decisions", async (on) => readDecisions(page, await rowsOf(on, toStatement(decisionPageQuery(page))))),
    countDecisions: (selection) => read("countDecisions", (on) => countOf(on, decisionCountQuery(selection))),
    halts: () => read("halts", async (on) => (await rowsOf(on, statement("halts"))).map(toStoredHalt)),
    countHolds: (tenantId) =>
      read("countHolds", async (on) => {
        const tenant = tenantId === undefined ? null : idText(tenantId);
        return (await rowsOf(on, statement("countHolds", tenant))) as unknown as readonly HoldCount[];
      }),
    findKey: (tenantId, key) =>
      read("findKey", async (on) => {
        const row = await firstOf(on, statement("findKey", idText(tenantId), digestOf(JSON.stringify(key))));
        if (row === undefined) return null;
        return { workflow_id: row["workflow_id"] as string, action_id: row["action_id"] as string };
      }),
    charges: (tenantId, counters) =>
      read("charges", async (on) => {
        const rows = await rowsOf(on, statement("chargesOfTenant", payerText(tenantId), [...counters]));
        const found = new Map(rows.map((row) => [row["counter"], toCharge(row)]));
        return counters.map((counter) => found.get(counter) ?? toCharge(undefined));
      }),
    chargesOf: (tenantId) =>
      read("chargesOf", async (on) =>
        (await rowsOf(on, statement("chargesOfTenant", idText(tenantId), null))).map((row) => ({
          counter: row["counter"] as string,
          amounts: toCharge(row),
        })),
      ),
    memory: (query) =>
      read("memory", async (on) =>
        (await rowsOf(on, memoryStatement(query))).map((row) => ({
          ...recordOf<StoredMemory>(row),
          position: row["position"] as number,
        })),
      ),
    documents: (tenantId, documentIds) =>
      read("documents", async (on) => {
        const ids = documentIds.map(idText);
        const rows = await rowsOf(on, statement("documents", idText(tenantId), ids));
        const found = new Map(rows.map((row) => [row["document_id"], row]));
        return ids.flatMap((id) => {
          const row = found.get(id);
          return row === undefined ? [] : [recordOf<ParsedDocumentRecord>(row)];
        });
      }),
    version: (tenantId, threadId) =>
      read("version", async (on) => {
        const row = await firstOf(on, statement("version", idText(tenantId), threadText(threadId)));
        return row?.["changes"] as number;
      }),
  };
}

/** Returns the statement for gates, in order of workflow and gate id. */
function gatesStatement(filter: Parameters<LedgerStore["gates"]>[0]): Statement {
  const { workflow_id, after = "", limit = null } = filter;
  const tenant = filter.tenant_id === undefined ? null : idText(filter.tenant_id);
  const page = [...cursorOf(after), limit] as const;
  if (workflow_id !== undefined) return statement("gatesOfWorkflow", workflow_id, tenant, ...page);
  return tenant === null ? statement("gatesOfAll", ...page) : statement("gatesOfTenant", tenant, ...page);
}

/** Reads a cursor: `<workflow_id>/<gate_id>` is after that gate; a workflow id alone is after all of its gates. */
function cursorOf(after: string): readonly [string, string] {
  const slash = after.lastIndexOf("/");
  return slash === -1 ? [after, "\u{10ffff}"] : [after.slice(0, slash), after.slice(slash + 1)];
}

/**
 * Returns the statement for memory. Without a thread: all of the tenant's; with null: records of no thread; with an id:
 * that thread's.
 */
function memoryStatement(query: MemoryQuery): Statement {
  const { thread_id, keys, limit } = query;
  const place = [idText(query.tenant_id), ...(thread_id === undefined ? [] : [threadText(thread_id)])];
  const whose = thread_id === undefined ? "memoryOfTenant" : "memoryOfThread";
  if (keys === undefined) return statement(whose, ...place, limit);
  return statement(
    `${whose}ByKey`,
    ...place,
    keys.map((key) => digestOf(JSON.stringify(key))),
    limit,
  );
}

/**
 * Lists for people, newest first, and the heads that match a filter; with the texts of tables/list-queries.ts.
 *
 * Owns: running them, and the search for a text.
 */
import type { Gate } from "../../contract/gate.ts";
import { type CutGate, listGate } from "../../contract/listed-gate.ts";
import type {
  GatePageFilter,
  GateSelection,
  HeadFilter,
  HeadPage,
  HeadPlace,
  HeadSearch,
  HeadSelection,
  HeadsFound,
  ListedHead,
  WorkflowHead,
} from "../../ports/ledger-store.ts";
import { type Columns, parseCell, toHead, toListedHead } from "../tables/columns.ts";
import {
  gateCountQuery,
  gatePageQuery,
  headCountQuery,
  headPageQuery,
  headQuery,
  isBackward,
  listedColumns,
  type Query,
  type Term,
} from "../tables/list-queries.ts";
import type { Connection } from "./transaction.ts";

const all = ({ db }: Connection, { text, values }: Query): readonly Columns[] => db.prepare(text).all(...values);

export const readHeads = (connection: Connection, filter: HeadFilter): readonly WorkflowHead[] =>
  all(connection, headQuery(filter)).map(toHead);

export function listHeads(connection: Connection, page: HeadPage): readonly ListedHead[] {
  const heads = all(connection, headPageQuery(page)).map(toListedHead);
  return isBackward(page) ? heads.reverse() : heads;
}

/** Looks for a text in no more than `scan` heads; `next` is where to go on. */
export function searchHeads(connection: Connection, { text: wanted, scan, ...page }: HeadSearch): HeadsFound {
  const end = endOf(connection, { ...page, limit: scan });
  const query = headPageQuery(page, listedColumns, [...upTo(page, end), isAbout(wanted)]);
  const heads = all(connection, query).map(toListedHead);
  const next = heads.length < page.limit ? end : (heads.at(-1) ?? null);
  return { heads: isBackward(page) ? heads.reverse() : heads, next };
}

/** Returns the last place of a page; null if the list ends before. */
function endOf({ db }: Connection, page: HeadPage): HeadPlace | null {
  const { text, values } = headPageQuery(page, "w.created_at, w.workflow_id");
  const last = db.prepare(`SELECT * FROM (${text}) LIMIT 1 OFFSET ?`).get(...values, page.limit - 1);
  return last === undefined ? null : (last as unknown as HeadPlace);
}

function* upTo(page: HeadPage, end: HeadPlace | null): Generator<Term> {
  const order = isBackward(page) ? "<=" : ">=";
  if (end !== null) yield [`(created_at, workflow_id) ${order} (?, ?)`, end.created_at, end.workflow_id];
}

const isAbout = (text: string): Term => ["is_about(title, intent_type, workflow_id, ?)", text];

/** Defines the function that `isAbout` calls; SQLite's own lower() handles ASCII only. */
export function defineSearch(db: Connection["db"]): void {
  db.function("is_about", { deterministic: true }, (title, type, id, wanted) =>
    [title, type, id].some((text) => String(text).toLowerCase().includes(String(wanted))) ? 1 : 0,
  );
}

export function listGates(connection: Connection, page: GatePageFilter): readonly CutGate[] {
  const gates = all(connection, gatePageQuery(page)).map(({ listed }) => listGate(parseCell<Gate>(listed, "listed")));
  return isBackward(page) ? gates.reverse() : gates;
}

export const countHeads = (connection: Connection, selection: HeadSelection): number =>
  countOf(connection, headCountQuery(selection));

export const countGates = (connection: Connection, selection: GateSelection): number =>
  countOf(connection, gateCountQuery(selection));

const countOf = (connection: Connection, query: Query): number => all(connection, query)[0]?.["n"] as number;

/**
 * Queries of lists of open gates: a page in its order, how many there are, and who may decide them.
 *
 * Owns: the orders, and the columns that select. A `?` is a bound value. Never: puts a value into the text.
 * 1.  Within a tenant a page is read off the index of its order: only rows that the other terms exclude are skipped,
 *     and nothing is sorted but the page itself (list-plans.test.ts).
 * 2.  All terms are decided by the index; the record is read of gates of the page only.
 */
import { neverDue } from "../../contract/instant.ts";
import { fewSeats, type GatePageFilter, type GatePlace, type GateSelection } from "../../ports/gate-page.ts";
import { idText } from "./columns.ts";
import { type Bound, countQuery, isBackward, type Query, type Term, valuesOf, where } from "./list-queries.ts";

/** Due times in order; gates that are never due come last. */
export const dueOrder = `coalesce(due_at, ${neverDue})`;

/** The columns by which lists select, beside tenant and place. */
export const listedBy = "seat, operator, intent_type, principal_id, risk, opened_at, due_at, above, search";

/** The words in which a store finds gates by their seats, through an index of its own. */
export interface SeatWords {
  /** Returns the query of the different seats of a tenant. */
  readonly ofTenant: (tenant: string, limit: number) => Query;
  /** Returns the term of the gates that have one of these seats. */
  readonly isOneOf: (seats: readonly string[]) => Term;
}

/** The words of SQLite. Each seat of a tenant is found in the index behind the one before it. */
const inSqlite: SeatWords = {
  ofTenant: (tenant, limit) => ({
    text: `
      WITH RECURSIVE seats (seat) AS (
        SELECT (SELECT min(seat) FROM gates WHERE tenant_id = ?)
        UNION ALL
        SELECT (SELECT min(g.seat) FROM gates AS g WHERE g.tenant_id = ? AND g.seat > seats.seat)
        FROM seats WHERE seats.seat IS NOT NULL
      )
      SELECT seat FROM seats WHERE seat IS NOT NULL LIMIT ?`,
    values: [tenant, tenant, limit],
  }),
  isOneOf: (seats) => ["seat IN (SELECT value FROM json_each(?))", JSON.stringify(seats)],
};

/** The instant that an order goes by; null for the order of workflows. */
const keyOf = { newest: "opened_at", oldest: "opened_at", due: dueOrder } as const;

/** Returns the query of a page. `g` is a gate of the page with its record. */
export function gatePageQuery(page: GatePageFilter, words = inSqlite): Query {
  const { sort, limit } = page;
  const terms = [...selectionOfGates(page, words), ...gateCursors(page)];
  const key = sort === undefined ? "" : `${keyOf[sort]} AS at, `;
  const text = `
    SELECT coalesce(g.listed, g.record) AS listed
    FROM (SELECT ${key}workflow_id, gate_id FROM gates ${where(terms)} ORDER BY ${orderOf(page)} LIMIT ?) AS page
    JOIN gates AS g ON g.workflow_id = page.workflow_id AND g.gate_id = page.gate_id
    ORDER BY ${orderOf(page, true)}`;
  return { text, values: [...valuesOf(terms), limit] };
}

/** Returns the order in which the rows of a page are read. */
function orderOf(page: GatePageFilter, isOuter = false): string {
  const isBack = isBackward(page);
  const { sort } = page;
  const [workflow, gate] = isOuter ? ["page.workflow_id", "page.gate_id"] : ["workflow_id", "gate_id"];
  if (sort === undefined) return isBack ? `${workflow}, ${gate} DESC` : `${workflow} DESC, ${gate}`;
  const way = (sort === "newest") === isBack ? "" : " DESC";
  return `${isOuter ? "page.at" : keyOf[sort]}${way}, ${workflow}${way}, ${gate}${way}`;
}

export const gateCountQuery = (selection: GateSelection, words = inSqlite): Query =>
  countQuery("gates", [...selectionOfGates(selection, words)]);

/** Returns the query of the different seats of a selection. */
export function seatQuery(selection: GateSelection, limit: number, words = inSqlite): Query {
  const { tenant_id, ...others } = selection;
  const isOfTenant = tenant_id !== undefined && Object.keys(others).length === 0;
  if (isOfTenant && limit <= fewSeats + 1) return words.ofTenant(idText(tenant_id), limit);
  const terms = [...selectionOfGates(selection, words)];
  return { text: `SELECT DISTINCT seat FROM gates ${where(terms)} LIMIT ?`, values: [...valuesOf(terms), limit] };
}

const equal = ["workflow_id", "operator", "intent_type", "risk"] as const;

function* selectionOfGates(selection: GateSelection, words: SeatWords): Generator<Term> {
  const { tenant_id, under, principal_id, due_before, since, until, text, seats } = selection;
  if (tenant_id !== undefined) yield ["tenant_id = ?", idText(tenant_id)];
  for (const name of equal) {
    const value = selection[name];
    if (value !== undefined) yield [`${name} = ?`, value];
  }
  if (under !== undefined) yield ["(workflow_id = ? OR instr(above, ?) > 0)", under, under];
  if (principal_id !== undefined) yield ["principal_id = ?", idText(principal_id)];
  if (due_before !== undefined) yield ["due_at < ?", due_before];
  if (since !== undefined) yield ["opened_at >= ?", since];
  if (until !== undefined) yield ["opened_at < ?", until];
  if (text !== undefined) yield ["instr(search, ?) > 0", text];
  if (seats !== undefined) yield seats.length === 0 ? ["1 = 0"] : words.isOneOf(seats);
}

function* gateCursors({ after, before, sort }: GatePageFilter): Generator<Term> {
  if (after !== undefined) yield cursorTerm(after, sort, true);
  if (before !== undefined) yield cursorTerm(before, sort, false);
}

/** Returns the gates on one side of a place. The first half of each term is the range that the index is read from. */
function cursorTerm(place: GatePlace, sort: GatePageFilter["sort"], isAfter: boolean): Term {
  const { workflow_id, gate_id, at = 0 } = place;
  const values: readonly Bound[] = [workflow_id, workflow_id, gate_id];
  if (sort === undefined)
    return isAfter
      ? ["workflow_id <= ? AND (workflow_id < ? OR gate_id > ?)", ...values]
      : ["workflow_id >= ? AND (workflow_id > ? OR gate_id < ?)", ...values];
  const side = (sort === "newest") === isAfter ? "<" : ">";
  return [`(${keyOf[sort]}, workflow_id, gate_id) ${side} (?, ?, ?)`, at, workflow_id, gate_id];
}

/**
 * Lists for people: workflows and open gates, newest first, by what they are selected by, a page at a time.
 *
 * Owns: queries whose text depends on what is given, so that SQLite can choose an index by it.
 * Never: puts a value into the text; values are bound. Never reads a workflow's events or a gate's whole record.
 * INV-1  Within a tenant a page of workflows, and one of gates by operator, is read off an index in its own order: what
 *        is passed over is what the other terms leave out, and nothing is sorted (list-plans.test.ts).
 */
import type { Gate } from "../../contract/gate.ts";
import { type ListedGate, listGate } from "../../contract/listed-gate.ts";
import type {
  GatePageFilter,
  GateSelection,
  HeadPage,
  HeadPlace,
  HeadSearch,
  HeadSelection,
  HeadsFound,
  ListedHead,
} from "../../ports/ledger-store.ts";
import { idText, parseCell, toListedHead } from "../tables/columns.ts";
import type { Connection } from "./transaction.ts";

type Bound = string | number;
type Term = readonly [text: string, ...values: Bound[]];

/** SQL with its values. */
export interface Query {
  readonly text: string;
  readonly values: readonly Bound[];
}

export function listHeads({ db }: Connection, page: HeadPage): readonly ListedHead[] {
  const { text, values } = headPageQuery(page);
  const heads = db
    .prepare(text)
    .all(...values)
    .map(toListedHead);
  return isBackward(page) ? heads.reverse() : heads;
}

/** Looks for a text in no more than `scan` heads; `next` is where to go on. */
export function searchHeads({ db }: Connection, { text: wanted, scan, ...page }: HeadSearch): HeadsFound {
  const end = endOf(db, { ...page, limit: scan });
  const { text, values } = headPageQuery(page, listedColumns, [...upTo(page, end), isAbout(wanted)]);
  const heads = db
    .prepare(text)
    .all(...values)
    .map(toListedHead);
  const next = heads.length < page.limit ? end : (heads.at(-1) ?? null);
  return { heads: isBackward(page) ? heads.reverse() : heads, next };
}

/** The last place of a page; null where the list ends before. */
function endOf(db: Connection["db"], page: HeadPage): HeadPlace | null {
  const { text, values } = headPageQuery(page, "w.created_at, w.workflow_id");
  const last = db.prepare(`SELECT * FROM (${text}) LIMIT 1 OFFSET ?`).get(...values, page.limit - 1);
  return last === undefined ? null : (last as unknown as HeadPlace);
}

function* upTo(page: HeadPage, end: HeadPlace | null): Generator<Term> {
  const order = isBackward(page) ? "<=" : ">=";
  if (end !== null) yield [`(created_at, workflow_id) ${order} (?, ?)`, end.created_at, end.workflow_id];
}

const isAbout = (text: string): Term => ["(title IS NULL OR is_about(title, intent_type, workflow_id, ?))", text];

/** What `isAbout` calls; SQLite's own lower() knows ASCII alone. */
export function defineSearch(db: Connection["db"]): void {
  db.function("is_about", { deterministic: true }, (title, type, id, wanted) =>
    [title, type, id].some((text) => String(text).toLowerCase().includes(String(wanted))) ? 1 : 0,
  );
}

export function countHeads({ db }: Connection, selection: HeadSelection): number {
  return count(db, "workflows", [...selectionOfHeads(selection), ...stateTerms(selection)]);
}

export function listGates({ db }: Connection, page: GatePageFilter): readonly ListedGate[] {
  const { text, values } = gatePageQuery(page);
  const gates = db
    .prepare(text)
    .all(...values)
    .map(({ listed }) => listGate(parseCell<Gate>(listed, "listed")));
  return isBackward(page) ? gates.reverse() : gates;
}

export const countGates = ({ db }: Connection, selection: GateSelection): number =>
  count(db, "gates", [...selectionOfGates(selection)]);

const isBackward = ({ after, before }: { readonly after?: object; readonly before?: object }): boolean =>
  before !== undefined && after === undefined;

function count(db: Connection["db"], table: string, terms: readonly Term[]): number {
  const row = db.prepare(`SELECT count(*) AS n FROM ${table} ${where(terms)}`).get(...valuesOf(terms));
  return row?.["n"] as number;
}

const openGates = "(SELECT count(*) FROM gates AS g WHERE g.workflow_id = w.workflow_id) AS open_gates";

const listedColumns = `w.*, ${openGates}`;

/** Of several states each is read off the index by itself; the newest of all are the page. */
export function headPageQuery(page: HeadPage, columns = listedColumns, more: readonly Term[] = []): Query {
  const { limit, states } = page;
  const order = isBackward(page) ? "created_at, workflow_id" : "created_at DESC, workflow_id DESC";
  const shared = [...selectionOfHeads(page), ...headCursors(page), ...more];
  const parts = (states === undefined ? [undefined] : [...new Set(states)]).map((state) => {
    const terms: readonly Term[] = state === undefined ? shared : [...shared, ["state = ?", state]];
    const text = `SELECT ${columns} FROM workflows AS w ${where(terms)} ORDER BY ${order} LIMIT ?`;
    return { text, values: [...valuesOf(terms), limit] };
  });
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  if (only === undefined) return { text: "SELECT * FROM workflows WHERE 0", values: [] };
  const union = parts.map(({ text }) => `SELECT * FROM (${text})`).join(" UNION ALL ");
  return { text: `${union} ORDER BY ${order} LIMIT ?`, values: [...parts.flatMap(({ values }) => values), limit] };
}

function* selectionOfHeads(selection: HeadSelection): Generator<Term> {
  const { tenant_id, thread_id, intent_type, principal_id, since, until } = selection;
  if (tenant_id !== undefined) yield ["tenant_id = ?", idText(tenant_id)];
  if (thread_id !== undefined) yield ["thread_id = ?", idText(thread_id)];
  if (intent_type !== undefined) yield ["intent_type = ?", intent_type];
  if (principal_id !== undefined) yield ["principal_id = ?", idText(principal_id)];
  if (since !== undefined) yield ["created_at >= ?", since];
  if (until !== undefined) yield ["created_at < ?", until];
}

// One text for any number of states.
const stateTerms = ({ states }: HeadSelection): readonly Term[] =>
  states === undefined ? [] : [["state IN (SELECT value FROM json_each(?))", JSON.stringify(states)]];

function* headCursors({ after, before }: HeadPage): Generator<Term> {
  if (after !== undefined) yield ["(created_at, workflow_id) < (?, ?)", after.created_at, after.workflow_id];
  if (before !== undefined) yield ["(created_at, workflow_id) > (?, ?)", before.created_at, before.workflow_id];
}

export function gatePageQuery(page: GatePageFilter): Query {
  const order = isBackward(page) ? "workflow_id, gate_id DESC" : "workflow_id DESC, gate_id";
  const terms = [...selectionOfGates(page), ...gateCursors(page)];
  const text = `SELECT coalesce(listed, record) AS listed FROM gates ${where(terms)} ORDER BY ${order} LIMIT ?`;
  return { text, values: [...valuesOf(terms), page.limit] };
}

function* selectionOfGates({ tenant_id, workflow_id, operator, due_before }: GateSelection): Generator<Term> {
  if (tenant_id !== undefined) yield ["tenant_id = ?", idText(tenant_id)];
  if (workflow_id !== undefined) yield ["workflow_id = ?", workflow_id];
  if (operator !== undefined) yield ["operator = ?", operator];
  if (due_before !== undefined) yield ["due_at < ?", due_before];
}

// The first half of each is the range that the index is read from.
function* gateCursors({ after, before }: GatePageFilter): Generator<Term> {
  if (after !== undefined)
    yield [
      "workflow_id <= ? AND (workflow_id < ? OR gate_id > ?)",
      after.workflow_id,
      after.workflow_id,
      after.gate_id,
    ];
  if (before !== undefined)
    yield [
      "workflow_id >= ? AND (workflow_id > ? OR gate_id < ?)",
      before.workflow_id,
      before.workflow_id,
      before.gate_id,
    ];
}

const where = (terms: readonly Term[]): string =>
  terms.length === 0 ? "" : `WHERE ${terms.map(([text]) => text).join(" AND ")}`;
const valuesOf = (terms: readonly Term[]): readonly Bound[] => terms.flatMap(([, ...values]) => values);

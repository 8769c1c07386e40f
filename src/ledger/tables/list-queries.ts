/**
 * Queries of lists: workflows, waits and schedules by their filters, a page at a time; gates: gate-queries.ts.
 *
 * Owns: queries whose text depends on the filter, so that a database can choose an index by it. A `?` is a bound value.
 * Never: puts a value into the text. Never reads a workflow's events.
 * 1.  Within a tenant a page of workflows is read off an index in its own order: only
 *     rows that the other terms exclude are skipped, and nothing is sorted (list-plans.test.ts).
 */
import {
  type HeadFilter,
  type HeadPage,
  type HeadPlace,
  type HeadSelection,
  heldByPause,
} from "../../ports/ledger-store.ts";
import type { SchedulePageQuery } from "../../ports/schedule-index.ts";
import type { WaitQuery } from "../../ports/wait-store.ts";
import { idText } from "./columns.ts";

export type Bound = string | number;
export type Term = readonly [text: string, ...values: Bound[]];

/** SQL with its values. */
export interface Query {
  readonly text: string;
  readonly values: readonly Bound[];
}

/** Returns whether a page goes back, and is read in the reverse order of its list. */
export const isBackward = ({ after, before }: { readonly after?: object; readonly before?: object }): boolean =>
  before !== undefined && after === undefined;

/** Returns the items of a page, which were read in the order of its query, in the order of their list. */
export const inListOrder = <T>(page: Parameters<typeof isBackward>[0], items: readonly T[]): readonly T[] =>
  isBackward(page) ? items.toReversed() : items;

/** Returns whether the rows of a page of workflows are read from the oldest on. */
const isRising = (page: HeadPage): boolean => (page.sort === "oldest") !== isBackward(page);

/** Returns the query of heads in the order of ids. */
export function headQuery(filter: HeadFilter): Query {
  const terms = [...filterOfHeads(filter), ...stateTerms(filter)];
  const limit = filter.limit === undefined ? "" : " LIMIT ?";
  const values = [...valuesOf(terms), ...(filter.limit === undefined ? [] : [filter.limit])];
  return { text: `SELECT * FROM workflows ${where(terms)} ORDER BY workflow_id${limit}`, values };
}

function* filterOfHeads(filter: HeadFilter): Generator<Term> {
  if (filter.tenant_id !== undefined) yield ["tenant_id = ?", idText(filter.tenant_id)];
  if (filter.intent_id !== undefined) yield ["intent_id = ?", filter.intent_id];
  if (filter.intent_type !== undefined) yield ["intent_type = ?", filter.intent_type];
  if (filter.after !== undefined) yield ["workflow_id > ?", filter.after];
}

export const headCountQuery = (selection: HeadSelection): Query =>
  countQuery("workflows", [...selectionOfHeads(selection), ...stateTerms(selection)]);

export const countQuery = (table: string, terms: readonly Term[]): Query => ({
  text: `SELECT count(*) AS n FROM ${table} ${where(terms)}`,
  values: valuesOf(terms),
});

const openGates = "(SELECT count(*) FROM gates AS g WHERE g.workflow_id = w.workflow_id) AS open_gates";

const paused = `EXISTS (SELECT 1 FROM holds AS h WHERE h.workflow_id = w.workflow_id AND h.holder = '${heldByPause}')`;

const queued = `EXISTS (
  SELECT 1 FROM queue_entries AS q WHERE q.workflow_id = w.workflow_id AND q.place <> 'taken')`;

/** In the words of SQLite; another store replaces them. */
export const listOfHalts = "json_group_array(DISTINCT h.holder)";
const heldBy = `
  (SELECT ${listOfHalts} FROM holds AS h WHERE h.workflow_id = w.workflow_id
    AND h.holder <> '${heldByPause}') AS held_by`;

export const listedColumns = `w.*, ${openGates}, ${paused} AS paused, ${queued} AS queued, ${heldBy}`;

/**
 * Returns the query of a page. Each of several states is read off the index by itself; the newest of all form the page.
 */
export function headPageQuery(page: HeadPage, columns = listedColumns, more: readonly Term[] = []): Query {
  const { limit, states } = page;
  const order = isRising(page) ? "created_at, workflow_id" : "created_at DESC, workflow_id DESC";
  const shared = [...selectionOfHeads(page), ...headCursors(page), ...more];
  const parts = (states === undefined ? [undefined] : [...new Set(states)]).map((state) => {
    const terms: readonly Term[] = state === undefined ? shared : [...shared, ["state = ?", state]];
    const text = `SELECT ${columns} FROM workflows AS w ${where(terms)} ORDER BY ${order} LIMIT ?`;
    return { text, values: [...valuesOf(terms), limit] };
  });
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  if (only === undefined) return { text: "SELECT * FROM workflows WHERE 1 = 0", values: [] };
  const union = parts.map(({ text }, i) => `SELECT * FROM (${text}) AS part${i}`).join(" UNION ALL ");
  return { text: `${union} ORDER BY ${order} LIMIT ?`, values: [...parts.flatMap(({ values }) => values), limit] };
}

/**
 * Returns the query of the heads of a page up to its last examined place that a text is found in. The heads are read
 * once they are found; the search itself reads an index alone.
 */
export function headSearchQuery(page: HeadPage, end: HeadPlace | null): Query {
  const found = headPageQuery(page, "w.workflow_id, w.created_at", upTo(page, end));
  const way = isRising(page) ? "" : " DESC";
  const text = `SELECT ${listedColumns} FROM workflows AS w
    WHERE w.workflow_id IN (SELECT workflow_id FROM (${found.text}) AS found)
    ORDER BY w.created_at${way}, w.workflow_id${way}`;
  return { text, values: found.values };
}

/** Returns the query of the last place of a page. */
export function pageEndQuery(page: HeadPage): Query {
  const { text, values } = headPageQuery(page, "w.created_at, w.workflow_id");
  return { text: `SELECT * FROM (${text}) AS looked LIMIT 1 OFFSET ?`, values: [...values, page.limit - 1] };
}

function* selectionOfHeads(selection: HeadSelection): Generator<Term> {
  const { tenant_id, workflow_id, thread_id, intent_type, schedule, principal_id, since, until, text } = selection;
  if (tenant_id !== undefined) yield ["tenant_id = ?", idText(tenant_id)];
  if (workflow_id !== undefined) yield ["workflow_id = ?", workflow_id];
  if (thread_id !== undefined) yield ["thread_id = ?", idText(thread_id)];
  if (intent_type !== undefined) yield ["intent_type = ?", intent_type];
  if (schedule !== undefined) yield ["schedule = ?", schedule];
  if (principal_id !== undefined) yield ["principal_id = ?", idText(principal_id)];
  if (since !== undefined) yield ["created_at >= ?", since];
  if (until !== undefined) yield ["created_at < ?", until];
  if (text !== undefined) yield ["instr(search, ?) > 0", text];
}

function* stateTerms({ states }: Pick<HeadSelection, "states">): Generator<Term> {
  if (states === undefined) return;
  const wanted = [...new Set(states)];
  yield wanted.length === 0 ? ["1 = 0"] : [`state IN (${wanted.map(() => "?").join(", ")})`, ...wanted];
}

function* headCursors({ after, before, sort }: HeadPage): Generator<Term> {
  const [later, earlier] = sort === "oldest" ? [">", "<"] : ["<", ">"];
  if (after !== undefined) yield [`(created_at, workflow_id) ${later} (?, ?)`, after.created_at, after.workflow_id];
  if (before !== undefined)
    yield [`(created_at, workflow_id) ${earlier} (?, ?)`, before.created_at, before.workflow_id];
}

/** Returns the part of a page up to its last examined place; the whole page for null. */
function upTo(page: HeadPage, end: HeadPlace | null): readonly Term[] {
  if (end === null) return [];
  return [[`(created_at, workflow_id) ${isRising(page) ? "<=" : ">="} (?, ?)`, end.created_at, end.workflow_id]];
}

/** Returns the query of waits, in the order in which they began. */
export function waitQuery(query: WaitQuery): Query {
  const terms = [...selectionOfWaits(query)];
  const text = `SELECT * FROM waits ${where(terms)} ORDER BY since, workflow_id, step_id LIMIT ?`;
  return { text, values: [...valuesOf(terms), query.limit] };
}

function* selectionOfWaits({ tenant_id, workflow_id, source, name, key }: WaitQuery): Generator<Term> {
  if (tenant_id !== undefined) yield ["tenant_id = ?", idText(tenant_id)];
  if (workflow_id !== undefined) yield ["workflow_id = ?", workflow_id];
  if (source !== undefined) yield ["source = ?", source];
  if (name !== undefined) yield ["name = ?", name];
  if (key !== undefined) yield ["key = ?", JSON.stringify(key)];
}

/** Returns the query of a page of schedules. */
export function schedulePageQuery({ tenant_id, intent_type, after, limit }: SchedulePageQuery): Query {
  const terms: Term[] = [["tenant_id = ?", idText(tenant_id)]];
  if (intent_type !== undefined) terms.push(["intent_type = ?", intent_type]);
  if (after !== undefined) terms.push(["name > ?", after]);
  const text = `SELECT tenant_id, name, definition, standing FROM schedules ${where(terms)} ORDER BY name LIMIT ?`;
  return { text, values: [...valuesOf(terms), limit] };
}

export const where = (terms: readonly Term[]): string =>
  terms.length === 0 ? "" : `WHERE ${terms.map(([text]) => text).join(" AND ")}`;
export const valuesOf = (terms: readonly Term[]): readonly Bound[] => terms.flatMap(([, ...values]) => values);

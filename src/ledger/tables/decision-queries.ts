/**
 * The history of decisions: its rows, and the queries of its pages. A `?` is a bound value.
 *
 * 1.  Within a tenant a page is read off the index of its order, or of its person in that order.
 */
import type { Decision } from "../../contract/decision.ts";
import { instantText } from "../../contract/instant.ts";
import { searchTextOf } from "../../contract/search-text.ts";
import type {
  DecisionPageQuery,
  DecisionPlace,
  DecisionSelection,
  IndexedDecision,
} from "../../ports/decision-index.ts";
import type { Append } from "../../ports/ledger-store.ts";
import { type Columns, idText, parseCell } from "./columns.ts";
import { countQuery, inListOrder, isBackward, type Query, type Term, valuesOf, where } from "./list-queries.ts";
import type { Row } from "./plan-batch.ts";

/** The columns of the history, in the order of `decisionRow`. */
export const decisionColumns = [
  ...["workflow_id", "sequence", "tenant_id", "at", "principal_id", "act", "intent_type", "operator"],
  ...["search", "record"],
] as const;

/** The columns by which a history selects, beside tenant, person and place. */
export const historyBy = "act, intent_type, operator, search";

/** Returns the row of a decision. @param tenant the text of the tenant's id. */
export function decisionRow({ row, now }: Append, tenant: string, { ordinal, decision }: IndexedDecision): Row {
  const { act, principal, intent_type, operator, title, work } = decision;
  return [
    ...[row.stream, row.first_sequence + ordinal, tenant, now],
    ...[idText(principal.id), act, intent_type, operator],
    searchTextOf([title, intent_type, operator, row.stream, work]),
    JSON.stringify(decision),
  ];
}

export const toDecision = (columns: Columns): Decision => ({
  workflow_id: columns["workflow_id"] as string,
  sequence: columns["sequence"] as number,
  at: instantText(columns["at"] as number),
  ...parseCell<IndexedDecision["decision"]>(columns["record"], "record"),
});

/** Returns the query of a page. */
export function decisionPageQuery(page: DecisionPageQuery): Query {
  const way = (page.sort === "oldest") === isBackward(page) ? " DESC" : "";
  const terms = [...selectionOf(page), ...cursorsOf(page)];
  const text = `SELECT workflow_id, sequence, at, record FROM decisions ${where(terms)}
    ORDER BY at${way}, workflow_id${way}, sequence${way} LIMIT ?`;
  return { text, values: [...valuesOf(terms), page.limit] };
}

export const decisionCountQuery = (selection: DecisionSelection): Query =>
  countQuery("decisions", [...selectionOf(selection)]);

/** Returns the decisions that a query found in the order of the page. */
export const readDecisions = (page: DecisionPageQuery, rows: readonly Columns[]): readonly Decision[] =>
  inListOrder(page, rows.map(toDecision));

const equal = ["act", "intent_type", "operator", "workflow_id"] as const;

function* selectionOf(selection: DecisionSelection): Generator<Term> {
  const { tenant_id, principal_id, since, until, text } = selection;
  if (tenant_id !== undefined) yield ["tenant_id = ?", idText(tenant_id)];
  if (principal_id !== undefined) yield ["principal_id = ?", idText(principal_id)];
  for (const name of equal) {
    const value = selection[name];
    if (value !== undefined) yield [`${name} = ?`, value];
  }
  if (since !== undefined) yield ["at >= ?", since];
  if (until !== undefined) yield ["at < ?", until];
  if (text !== undefined) yield ["instr(search, ?) > 0", text];
}

function* cursorsOf({ after, before, sort }: DecisionPageQuery): Generator<Term> {
  const [later, earlier] = sort === "oldest" ? [">", "<"] : ["<", ">"];
  if (after !== undefined) yield cursorTerm(later, after);
  if (before !== undefined) yield cursorTerm(earlier, before);
}

const cursorTerm = (side: string, { at, workflow_id, sequence }: DecisionPlace): Term => [
  `(at, workflow_id, sequence) ${side} (?, ?, ?)`,
  ...[at, workflow_id, sequence],
];

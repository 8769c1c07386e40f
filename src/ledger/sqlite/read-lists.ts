/**
 * Lists for people, newest first, and the heads that match a filter; with the texts of tables/list-queries.ts.
 *
 * Owns: running them, and the search for a text.
 */
import type { Decision } from "../../contract/decision.ts";
import type { Gate } from "../../contract/gate.ts";
import { type CutGate, listGate } from "../../contract/listed-gate.ts";
import type { DecisionPageQuery, DecisionSelection } from "../../ports/decision-index.ts";
import type { GatePageFilter, GateSelection } from "../../ports/gate-page.ts";
import type {
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
import { decisionCountQuery, decisionPageQuery, readDecisions } from "../tables/decision-queries.ts";
import { gateCountQuery, gatePageQuery, seatQuery } from "../tables/gate-queries.ts";
import {
  headCountQuery,
  headPageQuery,
  headQuery,
  headSearchQuery,
  inListOrder,
  pageEndQuery,
  type Query,
} from "../tables/list-queries.ts";
import type { Connection } from "./transaction.ts";

const all = ({ prepare }: Connection, { text, values }: Query): readonly Columns[] => prepare(text).all(...values);

export const readHeads = (connection: Connection, filter: HeadFilter): readonly WorkflowHead[] =>
  all(connection, headQuery(filter)).map(toHead);

export const listHeads = (connection: Connection, page: HeadPage): readonly ListedHead[] =>
  inListOrder(page, all(connection, headPageQuery(page)).map(toListedHead));

/** Looks for a text in no more than `scan` heads; `next` is where to go on. */
export function searchHeads(connection: Connection, { scan, ...page }: HeadSearch): HeadsFound {
  const { text: _, ...looked } = page;
  const [end = null] = all(connection, pageEndQuery({ ...looked, limit: scan })) as unknown as readonly HeadPlace[];
  const heads = all(connection, headSearchQuery(page, end)).map(toListedHead);
  const next = heads.length < page.limit ? end : (heads.at(-1) ?? null);
  return { heads: inListOrder(page, heads), next };
}

export function listGates(connection: Connection, page: GatePageFilter): readonly CutGate[] {
  const gates = all(connection, gatePageQuery(page)).map(({ listed }) => listGate(parseCell<Gate>(listed, "listed")));
  return inListOrder(page, gates);
}

export const listDecisions = (connection: Connection, page: DecisionPageQuery): readonly Decision[] =>
  readDecisions(page, all(connection, decisionPageQuery(page)));

export const countDecisions = (connection: Connection, selection: DecisionSelection): number =>
  countOf(connection, decisionCountQuery(selection));

export const countHeads = (connection: Connection, selection: HeadSelection): number =>
  countOf(connection, headCountQuery(selection));

export const countGates = (connection: Connection, selection: GateSelection): number =>
  countOf(connection, gateCountQuery(selection));

export const listSeats = (connection: Connection, selection: GateSelection, limit: number): readonly string[] =>
  all(connection, seatQuery(selection, limit)).map(({ seat }) => seat as string);

const countOf = (connection: Connection, query: Query): number => all(connection, query)[0]?.["n"] as number;

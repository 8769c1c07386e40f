/**
 * Lists workflow heads by a filter, in order of their ids.
 *
 * Owns: the one query whose text depends on its arguments, so that SQLite can choose an index by what is given.
 * Never: puts a value into the text; values are bound.
 */
import type { HeadFilter, WorkflowHead } from "../../ports/ledger-store.ts";
import { idText, toHead } from "../tables/columns.ts";
import type { Connection } from "./transaction.ts";

type Bound = string | number;

export function readHeads({ db }: Connection, filter: HeadFilter): readonly WorkflowHead[] {
  const terms = [...termsOf(filter)];
  const where = terms.length === 0 ? "" : `WHERE ${terms.map(([text]) => text).join(" AND ")}`;
  const query = db.prepare(`SELECT * FROM workflows ${where} ORDER BY workflow_id LIMIT ?`);
  return query.all(...terms.map(([, value]) => value), filter.limit ?? -1).map(toHead);
}

function* termsOf(filter: HeadFilter): Generator<readonly [string, Bound]> {
  if (filter.tenant_id !== undefined) yield ["tenant_id = ?", idText(filter.tenant_id)];
  if (filter.thread_id !== undefined) yield ["thread_id = ?", idText(filter.thread_id)];
  if (filter.intent_id !== undefined) yield ["intent_id = ?", filter.intent_id];
  if (filter.intent_type !== undefined) yield ["intent_type = ?", filter.intent_type];
  if (filter.after !== undefined) yield ["workflow_id > ?", filter.after];
  // One text for any number of states.
  if (filter.states !== undefined) yield ["state IN (SELECT value FROM json_each(?))", JSON.stringify(filter.states)];
}

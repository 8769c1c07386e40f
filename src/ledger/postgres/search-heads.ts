/**
 * The search for a text in a list of workflows.
 *
 * Owns: the columns that are read: the texts alone of examined rows, the whole head of matches.
 * 1.  A text is found whatever its case, by the same rule as in every other store: the database's own lower() follows
 *     the language that it was made with.
 */
import type { HeadPlace, HeadSearch, HeadsFound, ListedHead } from "../../ports/ledger-store.ts";
import { type Columns, toListedHead } from "../tables/columns.ts";
import { headPageQuery, isBackward, listedColumns } from "../tables/list-queries.ts";
import { plain, toStatement } from "./list-statement.ts";
import { type Runner, rowsOf } from "./query.ts";

const words = "w.workflow_id, w.created_at, w.intent_type, w.title";

export async function searchHeads(on: Runner, { text, scan, limit, ...page }: HeadSearch): Promise<HeadsFound> {
  const looked = (await rowsOf(on, toStatement(headPageQuery({ ...page, limit: scan }, words)))).map(plain);
  const found = looked.filter((row) => isAbout(row, text)).slice(0, limit);
  const last = found.length < limit ? looked[scan - 1] : found.at(-1);
  const heads = await readHeads(on, found);
  return { heads: isBackward(page) ? heads.reverse() : heads, next: last === undefined ? null : placeOf(last) };
}

const isAbout = ({ title, intent_type, workflow_id }: Columns, text: string): boolean =>
  [title, intent_type, workflow_id].some((one) => String(one).toLowerCase().includes(text));

const placeOf = ({ created_at, workflow_id }: Columns): HeadPlace => ({ created_at, workflow_id }) as HeadPlace;

/** Returns the heads in the order of the matches. */
async function readHeads(on: Runner, found: readonly Columns[]): Promise<ListedHead[]> {
  if (found.length === 0) return [];
  const ids = found.map(({ workflow_id }) => workflow_id as string);
  const text = `SELECT ${listedColumns} FROM workflows AS w WHERE workflow_id = ANY(?)`;
  const rows = (await rowsOf(on, toStatement({ text, values: [ids] }))).map(plain);
  const byId = new Map(rows.map((row) => [row["workflow_id"], toListedHead(row)]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

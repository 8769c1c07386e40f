/**
 * The search for a text in a list of workflows: as many heads as it may examine, and then those that have the text.
 */
import type { HeadPlace, HeadSearch, HeadsFound } from "../../ports/ledger-store.ts";
import { toListedHead } from "../tables/columns.ts";
import { headSearchQuery, inListOrder, pageEndQuery } from "../tables/list-queries.ts";
import { plain, toStatement } from "./list-statement.ts";
import { firstOf, type Runner, rowsOf } from "./query.ts";

export async function searchHeads(on: Runner, { scan, ...page }: HeadSearch): Promise<HeadsFound> {
  const { text: _, ...looked } = page;
  const last = await firstOf(on, toStatement(pageEndQuery({ ...looked, limit: scan })));
  const end = last === undefined ? null : (last as unknown as HeadPlace);
  const heads = (await rowsOf(on, toStatement(headSearchQuery(page, end)))).map((row) => toListedHead(plain(row)));
  const next = heads.length < page.limit ? end : (heads.at(-1) ?? null);
  return { heads: inListOrder(page, heads), next };
}

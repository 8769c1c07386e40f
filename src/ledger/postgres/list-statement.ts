/**
 * Queries of lists as this driver takes them, and a head's row as other stores give it.
 *
 * Owns: the names under which their texts are prepared: as many as there are ways to select.
 */
import { type Columns, parseCell } from "../tables/columns.ts";
import { listOfHalts, type Query } from "../tables/list-queries.ts";
import type { Statement } from "./query.ts";

/** Words of SQLite, with those that stand for them here. */
const words = [
  [listOfHalts, "json_agg(DISTINCT h.holder)::text"],
  ["instr(", "strpos("],
  [/FROM gates (?!AS)/g, "FROM gate_lists "],
] as const;

const names = new Map<string, string>();

/** Returns the statement of a query in the words of SQLite, whose places are `?`. */
export function toStatement({ text, values }: Pick<Statement, "values"> & Pick<Query, "text">): Statement {
  let n = 0;
  const own = words.reduce((before, [word, other]) => before.replaceAll(word, other), text);
  const numbered = own.replaceAll("?", () => {
    n += 1;
    return `$${n}`;
  });
  const name = names.get(numbered) ?? `list${names.size}`;
  names.set(numbered, name);
  return { name, text: numbered, values };
}

/** Returns the statement of a query whose plan depends on its values: without a name it is planned each time. */
export function planAnew(query: Parameters<typeof toStatement>[0]): Statement {
  const { name: _, ...statement } = toStatement(query);
  return statement;
}

/** Returns a row with its title as text; it is kept as JSON text, because it may hold any character. */
export const plain = (row: Columns): Columns => ({ ...row, title: parseCell<string>(row["title"], "title") });

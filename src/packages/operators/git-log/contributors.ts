/**
 * Contributors: the authors of the commits of a range, from the output of `git shortlog`. Pure.
 *
 * Owns: one person for several names or addresses, and the account that a hosting service's no-reply address names.
 * Never: yields an address: it would go into the ledger and into documents.
 * 1.  Two entries are one person if they share a name or an address; the name with most commits is kept.
 */
import { z } from "zod";

/** `first`: nobody of that name or address wrote an older commit; null where that cannot be told. */
export const Contributor = z.object({
  name: z.string(),
  login: z.string().nullable(),
  bot: z.boolean(),
  commits: z.int().nonnegative(),
  first: z.boolean().nullable(),
});
export type Contributor = Readonly<z.infer<typeof Contributor>>;

/** Authors, and those whom a commit names as co-authors, with their addresses. */
export const shortlogArguments: readonly string[] = [
  "shortlog",
  "--summary",
  "--numbered",
  "--email",
  "--group=author",
  "--group=trailer:co-authored-by",
];

interface Entry {
  readonly name: string;
  readonly address: string;
  readonly commits: number;
}

/**
 * Returns contributors. @param before the output for the time before the range, in the same form; null if it is not
 * known
 */
export function readContributors(range: string, before: string | null): readonly Contributor[] {
  const known = before === null ? null : new Set(readShortlog(before).flatMap(keysOf));
  return joinEntries(readShortlog(range)).map((entries) => describePerson(entries, known));
}

/** Reads lines like `    12\tAda Lovelace <ada@example.org>`. */
const readShortlog = (output: string): readonly Entry[] =>
  output.split("\n").flatMap((line) => {
    const [, count, name, address] = /^\s*(\d+)\t(.*)<([^<>]*)>$/.exec(line) ?? [];
    return count === undefined ? [] : [{ name: name?.trimEnd() ?? "", address: address ?? "", commits: Number(count) }];
  });

const keysOf = ({ name, address }: Entry): readonly string[] =>
  [`name ${name.toLowerCase()}`, `address ${address.toLowerCase()}`].filter((key) => !key.endsWith(" "));

/** Entries of one person each, most commits first. */
function joinEntries(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  const byKey = new Map<string, readonly Entry[]>();
  for (const entry of entries) {
    const same = new Set(keysOf(entry).map((key) => byKey.get(key) ?? []));
    const person = [...[...same].flat(), entry];
    for (const key of person.flatMap(keysOf)) byKey.set(key, person);
  }
  return [...new Set(byKey.values())].toSorted((a, b) => countOf(b) - countOf(a));
}

const countOf = (entries: readonly Entry[]): number => entries.reduce((sum, { commits }) => sum + commits, 0);

function describePerson(entries: readonly Entry[], known: ReadonlySet<string> | null): Contributor {
  const name = entries.find((entry) => entry.name !== "")?.name ?? "";
  const login = entries.map(({ address }) => readLogin(address)).find((found) => found !== null) ?? null;
  return {
    name,
    login,
    bot: [name, login].some((word) => word?.endsWith("[bot]")),
    commits: countOf(entries),
    first: known && !entries.flatMap(keysOf).some((key) => known.has(key)),
  };
}

/**
 * Reads the account of an address: `12345+ada@users.noreply.github.com` and `ada@users.noreply.example.org` name `ada`.
 */
const readLogin = (address: string): string | null =>
  /^(?:\d+[+-])?([A-Za-z0-9][A-Za-z0-9-]{0,38}(?:\[bot\])?)@users\.noreply\.[A-Za-z0-9.-]+$/.exec(address)?.[1] ?? null;

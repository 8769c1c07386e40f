/** The guide's tables are what the sources say. After a change: `npx vitest run test/guide/tables.test.ts -u`. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { commandScopes } from "../../src/contract/auth-context.ts";
import { defaultRoles } from "../../src/index.ts";
import { readSource, root } from "../tidy/source-files.ts";
import { defaultsTable, errorTables, instrumentTable, limitTables } from "./make-tables.ts";

/** The names of the default roles that have a scope, as the guide lists them. */
const holdersOf = (scope: string): string => {
  const names = Object.entries(defaultRoles).filter(([, { scopes }]) => scopes.includes(scope));
  return names.map(([name]) => name).join(", ") || "nobody";
};

describe("the guide's reference of", () => {
  it.each([
    ["error codes", "src/guide/errors.md", errorTables],
    ["limits", "src/guide/limits.md", limitTables],
    ["metrics", "src/guide/metrics.md", instrumentTable],
  ])("%s has all of them, as the sources have them", async (_what, path, makeTables) => {
    const [written] = readSource(path).text.split(/^## /m);
    const tables = makeTables();
    expect(tables).not.toMatch(/\| +\|/);
    await expect(`${written}${tables}\n`).toMatchFileSnapshot(join(root, path));
  });

  it("members that a row leaves out has all of them, as the sources have them", async () => {
    const path = "src/guide/ledger-format.md";
    const [written] = readSource(path).text.split(/^## Members that are left out$/m);
    await expect(`${written}${defaultsTable()}\n`).toMatchFileSnapshot(join(root, path));
  });

  it("scopes has each scope that a command asks for, and says which default roles have it", () => {
    const rows = readSource("src/guide/cancelling.md").text.matchAll(/^\| `([a-z:]+)` \| [^|]+ \| ([^|]+) \|$/gm);
    const table = new Map([...rows].map(([, scope = "", holders = ""]) => [scope, holders]));
    expect([...new Set(Object.values(commandScopes))].filter((scope) => !table.has(scope))).toEqual([]);
    for (const [scope, holders] of table)
      expect([scope, holders]).toEqual([
        scope,
        expect.stringMatching(new RegExp(`^(${holdersOf(scope)}|with \`.+\`)$`)),
      ]);
  });
});

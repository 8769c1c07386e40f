/** The guide's tables are what the sources say. After a change: `npx vitest run test/guide/tables.test.ts -u`. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readSource, root } from "../tidy/source-files.ts";
import { errorTables, instrumentTable, limitTables } from "./make-tables.ts";

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
});

/** The words that a newcomer learns from CONTRIBUTING.md: ten of them, each defined once, each used by the code. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root, sourcesIn } from "./source-files.ts";

const pages = Object.fromEntries(
  ["CONTRIBUTING.md", "ARCHITECTURE.md"].map((path) => [path, readFileSync(join(root, path), "utf8")]),
);

/** Returns the first column of each table of the section `Words`; a cell may name several terms. */
function termsOfTables(): readonly (readonly string[])[] {
  const section = /^## Words$([\s\S]*?)^## /m.exec(pages["CONTRIBUTING.md"] as string)?.[1] ?? "";
  const tables = section.split("| Term | Means |\n|---|---|\n").slice(1);
  return tables.map((table) =>
    [...table.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell]) => String(cell).trim().split(", ")),
  );
}

describe("the glossary", () => {
  it("asks a newcomer to learn ten words before the first change", () => {
    expect(termsOfTables().map((terms) => terms.length)).toEqual([10, expect.any(Number)]);
  });

  it("defines each word once", () => {
    const terms = termsOfTables().flat();
    expect(terms.filter((term, i) => terms.indexOf(term) !== i)).toEqual([]);
  });

  it("defines words that the engine, T4 and ARCHITECTURE.md use", () => {
    const files = sourcesIn("src/engine", "src/tiers/t4-execution");
    const text = [pages["ARCHITECTURE.md"], ...files.map((file) => file.text)].join("\n").toLowerCase();
    const rare = termsOfTables()
      .flat()
      .filter((term) => text.split(new RegExp(`\\b${term.toLowerCase()}s?\\b`)).length <= 10);
    expect(rare).toEqual([]);
  });
});

// What --db and --to may name: a name that would stand for another place, or for none, is refused before anything is opened.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeTempFolder } from "../fixtures.ts";
import { runHere } from "./command-line.ts";

describe("a ledger without a name", () => {
  it.each([
    [["run", "A.B", "--db", ""]],
    [["demo", "--db", ""]],
    [["serve", "--db", ""]],
    [["list", "--db", ""]],
    [["backup", "--to", ""]],
    [["migrate", "--to", ""]],
  ])("%j is wrong usage", async (words) => {
    const ran = await runHere(...words);
    expect([ran.code, ran.out]).toEqual([2, ""]);
    expect(ran.err).toContain("name a file, or a database by its URL");
  });
});

describe("a ledger as a URI of a file", () => {
  it.each([[["run", "A.B", "--db"]], [["list", "--db"]], [["migrate", "--to"]]])("%j is wrong usage", async (words) => {
    using folder = makeTempFolder();
    const path = join(folder.path, "theirs.db");
    const ran = await runHere(...words, `file:${path}`);
    expect([ran.code, ran.out, existsSync(path)]).toEqual([2, "", false]);
    expect(ran.err).toContain("name the file by a plain path");
  });
});

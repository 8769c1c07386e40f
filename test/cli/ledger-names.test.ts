// What --db and --to may name: a name that would stand for another place, or for none, is refused before anything is opened.

import { describe, expect, it } from "vitest";
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

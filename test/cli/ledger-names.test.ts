// What --db and --to may name: a name that would stand for another place, or for none, is refused before anything is
// opened.

import { existsSync, linkSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { invocation } from "../../src/faces/cli/invocation.ts";
import { requireOtherLedger } from "../../src/faces/cli/require-other-ledger.ts";
import { makeTempFolder } from "../fixtures.ts";
import { writeLedger } from "../ledgers/ledger-files.ts";
import { runHere } from "./command-line.ts";

const sameDatabase = "postgresql://bob:secret@db:5432/shop?schema=countersign";

describe("a ledger that would be gone with the command", () => {
  it.each([
    [["run", "A.B", "--db", ""]],
    [["demo", "--db", ""]],
    [["serve", "--db", ""]],
    [["list", "--db", ""]],
    [["backup", "--to", ""]],
    [["migrate", "--to", ""]],
    [["backup", "--to", ":memory:"]],
    [["migrate", "--to", ":memory:"]],
  ])("%j is wrong usage", async (words) => {
    const ran = await runHere(...words);
    expect([ran.code, ran.out]).toEqual([2, ""]);
    expect(ran.err).toContain("name a file, or a database");
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

describe("a ledger onto itself", () => {
  it.each(["backup", "migrate"])("is refused by %s, by whatever name of the file", async (word) => {
    using folder = makeTempFolder();
    const at = (name: string): string => join(folder.path, name);
    await writeLedger(at("a.db"));
    symlinkSync(at("a.db"), at("b.db"));
    linkSync(at("a.db"), at("c.db"));
    for (const to of [at("a.db"), `${folder.path}/./a.db`, at("b.db"), at("c.db")]) {
      const ran = await runHere(word, "--db", at("a.db"), "--to", to);
      expect([ran.code, ran.out]).toEqual([2, ""]);
      expect(ran.err).toContain("is the ledger itself: name another place with --to");
    }
  });

  it("is refused in a database, whoever connects, and told without a password", async () => {
    const ran = await runHere(...["backup", "--db", "postgres://ann:secret@db/shop"], ...["--to", sameDatabase]);
    expect([ran.code, ran.out, ran.err.includes("secret")]).toEqual([2, "", false]);
    expect(ran.err).toContain("is the ledger itself");
  });

  it.each([
    "postgres://db/shop?schema=kept",
    "postgres://db/other",
    "postgres://other/shop",
    "postgres://db:5433/shop",
    "a.db",
  ])("is not %s", (to) => expect(requireOtherLedger(sameDatabase, to)).resolves.toBeUndefined());
});

it("backup says how to restore, quoted where a shell needs it", async () => {
  using folder = makeTempFolder();
  const [db, to] = [join(folder.path, "a.db"), join(folder.path, "my copy.db")];
  await writeLedger(db);
  const ran = await runHere("backup", "--db", db, "--to", to);
  expect([ran.code, ran.err]).toEqual([0, ""]);
  expect(ran.out).toContain(`${invocation()} migrate --db '${to}' --to LEDGER\n`);
});

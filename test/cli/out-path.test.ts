// A place that the notes cannot go to is refused before anybody is asked, and nothing is written there.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { makeRepository, readHere, runHere } from "./command-line.ts";

it.each(["/etc/passwd", "../NOTES.md"])("[GAT-05] demo --out %s is refused, and no gate is opened", async (out) => {
  using folder = makeTempFolder();
  const [repo, db] = [join(folder.path, "repo"), join(folder.path, "ledger.db")];
  mkdirSync(repo);
  makeRepository(repo);
  const ran = await runHere("demo", "--repo", repo, "--db", db, "--out", out, "--yes");
  expect(ran.code).toBe(1);
  expect(ran.err).toContain("T1_NORMALIZE_INPUTS_INVALID");
  expect(await readHere("gates", "--db", db)).toEqual({ gates: [] });
});

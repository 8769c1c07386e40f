import { expect, it } from "vitest";
import { readHere, runHere } from "./command-line.ts";
import { makeWorkplace } from "./workplace.ts";

it.each(["/etc/passwd", "../NOTES.md"])("[GAT-05] demo --out %s is refused, and no gate is opened", async (out) => {
  const { folder, repo, db } = makeWorkplace();
  using _ = folder;
  const ran = await runHere("demo", "--repo", repo, "--db", db, "--out", out, "--yes");
  expect(ran.code).toBe(1);
  expect(ran.err).toContain("T1_NORMALIZE_INPUTS_INVALID");
  expect(await readHere("gates", "--db", db)).toEqual({ gates: [] });
});

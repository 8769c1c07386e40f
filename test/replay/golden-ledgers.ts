/** The golden ledgers of all releases: their names and their rows. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TurnRow } from "../../src/index.ts";

/** A golden ledger, by its release and its file. */
export interface GoldenLedger {
  readonly release: string;
  readonly file: string;
}

/** The folder that holds a folder for each release. */
export const goldenRoot = join(import.meta.dirname, "golden");

/** All golden ledgers, release by release. */
export const goldenLedgers: readonly GoldenLedger[] = readdirSync(goldenRoot).flatMap((release) =>
  readdirSync(join(goldenRoot, release))
    .filter((file) => file.endsWith(".jsonl"))
    .map((file) => ({ release, file })),
);

/** Reads the rows of a golden ledger. */
export const readRows = ({ release, file }: GoldenLedger): readonly TurnRow[] =>
  readFileSync(join(goldenRoot, release, file), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as TurnRow);

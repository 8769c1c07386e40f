/**
 * Whether the file under a connection is still the one at its path. A file that was moved, deleted or replaced goes on
 * taking writes of whoever has it open, and nobody will ever read them.
 *
 * Owns: the comparison of the open files (the database and its write-ahead log) with what lies at their paths.
 * Never: opens a file.
 */
import { type Stats, statSync } from "node:fs";
import { ledgerFailure } from "./failure.ts";

/** @throws KernelErrorException T0_LEDGER_REPLACED. */
export type RequireSameFile = () => void;

const suffixes = ["", "-wal"] as const;

/** To be called when the database has just been opened. One `stat` for each file that it has, at each look. */
export function watchFile(path: string): RequireSameFile {
  if (path === ":memory:") return () => undefined;
  const known = suffixes.map((suffix) => statOf(path + suffix));
  // A name that only the driver understands.
  if (known[0] === undefined) return () => undefined;
  return () => {
    for (const [i, suffix] of suffixes.entries()) {
      const now = statOf(path + suffix);
      // The log comes with the first write.
      known[i] ??= now;
      if (isSame(known[i], now)) continue;
      const what = suffix === "" ? "file" : "write-ahead log";
      const reason = `is not the ${what} that was opened: it was moved, deleted or replaced`;
      throw ledgerFailure("T0_LEDGER_REPLACED", reason, { path, fn: "append" });
    }
  };
}

const statOf = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false });

const isSame = (one: Stats | undefined, other: Stats | undefined): boolean =>
  one?.ino === other?.ino && one?.dev === other?.dev;

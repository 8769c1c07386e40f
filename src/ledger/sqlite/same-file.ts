/**
 * Checks whether the file under a connection is still the one at its path. A file that was moved, deleted or replaced
 * still accepts writes of processes that have it open, and nobody will ever read them.
 *
 * Owns: the comparison of the open files (the database and its write-ahead log) with the files at their paths.
 * Never: opens a file.
 * 1.  The write-ahead log is looked at only if its folder has changed, or may have changed in the instant of the last
 *     look: asking for the times of a file makes its next sync write them too, a fifth of the cost of a commit.
 */
import { realpathSync, type Stats, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { ledgerFailure } from "./failure.ts";

/** @throws KernelErrorException T0_LEDGER_REPLACED. */
export type RequireSameFile = () => void;

/**
 * A folder's time of change does not show a second change in the same tick: the coarsest ticks of file systems are 2 s.
 */
const coarsestTickMs = 3_000;

/**
 * Watches the file of a database that has just been opened. Each check reads the status of the file and of its folder.
 */
export function watchFile(path: string): RequireSameFile {
  if (path === ":memory:") return () => undefined;
  // A name that only the driver understands.
  if (statOf(path) === undefined) return () => undefined;
  // The driver has resolved its own; this process may go into another folder.
  const requireFile = requireSame(path, resolve(path), "file");
  const real = realpathSync(path);
  const requireLog = requireSame(path, `${real}-wal`, "write-ahead log");
  const folder = dirname(real);
  let seen: string | null = null;
  return () => {
    requireFile();
    const mark = quietMark(folder);
    if (mark !== null && mark === seen) return;
    requireLog();
    seen = mark;
  };
}

/**
 * Checks that a file at a path, present at first or created later (the log comes with the first write), stays the same.
 */
function requireSame(path: string, at: string, what: string): () => void {
  let known = statOf(at);
  return () => {
    const now = statOf(at);
    known ??= now;
    if (isSame(known, now)) return;
    const reason = `is not the ${what} that was opened: it was moved, deleted or replaced`;
    throw ledgerFailure("T0_LEDGER_REPLACED", reason, { path, fn: "append" });
  };
}

/**
 * Returns a text that differs once a name in the folder has changed; null if it changed so recently that the next
 * change may not show.
 */
function quietMark(folder: string): string | null {
  const now = statOf(folder);
  if (now === undefined || Date.now() - now.mtimeMs < coarsestTickMs) return null;
  return `${now.dev}:${now.ino}:${now.mtimeMs}`;
}

const statOf = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false });

const isSame = (one: Stats | undefined, other: Stats | undefined): boolean =>
  one?.ino === other?.ino && one?.dev === other?.dev;

/**
 * The mark that distinguishes an open ledger from others on one file, and that shows the end of its process.
 *
 * Owns: that text. Never: judges a process of another machine, whose end cannot be seen from here.
 */
import { hostname } from "node:os";

/** The random part of the mark, because a process may have the number of one that has ended. */
const life = crypto.randomUUID();
let opened = 0;

export function markProcess(): string {
  opened += 1;
  return JSON.stringify([hostname(), process.pid, life, opened]);
}

/** Returns whether the process that made the mark has ended, as far as can be seen. */
export function isOver(mark: string): boolean {
  const [host, pid, itsLife] = mark === "" ? [] : (JSON.parse(mark) as readonly [string, number, string]);
  if (pid === undefined || host !== hostname()) return false;
  if (pid === process.pid) return itsLife !== life;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

/**
 * Findings that come one by one, with a report at their end: as JSON Lines while they come, or the first so many kept.
 *
 * 1.  With --json each finding is a line, and the last line is the report (`kind` is "report").
 */
import type { CommonOptions, Session } from "./options.ts";
import { toJsonText } from "./render-text.ts";

type Found<F, R> = AsyncGenerator<F, R, void>;

export interface Read<F, R> {
  readonly report: R;
  /** None with --json: they have been printed. */
  readonly kept: readonly F[];
}

export async function readFound<F, R extends object>(
  found: Found<F, R>,
  { options, terminal }: Session<CommonOptions>,
  limit: number,
): Promise<Read<F, R>> {
  if (!options.json) return keepFirst(found, limit);
  const ended: R[] = [];
  await terminal.printAll(eachLine(found, (report) => ended.push(report)));
  return { report: ended[0] as R, kept: [] };
}

async function* eachLine<F, R extends object>(found: Found<F, R>, onEnd: (report: R) => void): AsyncGenerator<string> {
  for (;;) {
    const next = await found.next();
    if (next.done !== true) {
      yield toJsonText(next.value);
      continue;
    }
    onEnd(next.value);
    return void (yield toJsonText({ kind: "report", ...next.value }));
  }
}

async function keepFirst<F, R>(found: Found<F, R>, limit: number): Promise<Read<F, R>> {
  const kept: F[] = [];
  for (;;) {
    const next = await found.next();
    if (next.done === true) return { report: next.value, kept };
    if (kept.length < limit) kept.push(next.value);
  }
}

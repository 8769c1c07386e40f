/**
 * Decides who of a line of a queue may take a place: the one rule, for a question, for a take-up and for an append.
 *
 * 1.  Those who wait come by priority, then by time. The first may take a place while fewer are taken than it allows;
 *     one that may not keeps all behind it waiting, so that none overtakes it.
 * 2.  The same holds of its rate, if it has one: fewer were taken within the time before than it allows.
 */
import type { StoredQueueLimits } from "../../contract/queue-limits.ts";
import type { Append } from "../../ports/ledger-store.ts";
import type { LineCount, LinePage, QueueEntry } from "../../ports/queue-index.ts";
import { type Columns, parseCell } from "./columns.ts";

/** One who waits. A lower rank comes first. */
export interface Waiting {
  readonly workflow_id: string;
  readonly rank: number;
  readonly since: number;
  readonly concurrency: number;
  /** The number of places that are taken within `rate_per` milliseconds, at most; null if any number may be. */
  readonly rate_limit: number | null;
  readonly rate_per: number | null;
}

/** A line: who has a place, and the first of those who wait, in their order. */
export interface Line {
  readonly taken: readonly string[];
  readonly waiting: readonly Waiting[];
  /** The instants at which places were taken, newest first; epoch ms. Kept where a rate counts them. */
  readonly admitted: readonly number[];
  /** The limits that a person has set; null if none are. */
  readonly limits: LineLimits | null;
}

/** Limits that a person has set. A concurrency, or a rate limit, of null is that of each workflow; 0 is no rate. */
export interface LineLimits {
  readonly concurrency: number | null;
  readonly rate_limit: number | null;
  readonly rate_per: number | null;
}

export const emptyLine: Line = Object.freeze({ taken: [], waiting: [], admitted: [], limits: null });

type Bounds = Pick<Waiting, "concurrency" | "rate_limit" | "rate_per">;

/** Returns the bounds that hold for one in a line: those that a person has set, before its own. */
export function boundsIn({ limits }: Pick<Line, "limits">, own: Bounds): Bounds {
  const concurrency = limits?.concurrency ?? own.concurrency;
  if (limits === null || limits.rate_limit === null) return { ...own, concurrency };
  if (limits.rate_limit === 0) return { concurrency, rate_limit: null, rate_per: null };
  return { ...limits, concurrency };
}

/** The number of instants that is read of a line, which no rate exceeds. */
export const mostAdmitted = 1000;

/** Returns those who may take a place now, in their order. */
export function firstOf(line: Line, now: number): readonly Waiting[] {
  const { taken, waiting } = line;
  const blocked = waiting.findIndex((one, ahead) => {
    const bounds = boundsIn(line, one);
    return taken.length + ahead >= bounds.concurrency || rateAllowsAt(line, bounds, ahead) > now;
  });
  return blocked === -1 ? waiting : waiting.slice(0, blocked);
}

/** Returns the instant from which the rate of one who waits behind so many others lets it take a place. */
function rateAllowsAt({ admitted }: Line, { rate_limit, rate_per }: Bounds, ahead: number): number {
  if (rate_limit === null || rate_per === null) return Number.NEGATIVE_INFINITY;
  if (ahead >= rate_limit) return Number.POSITIVE_INFINITY;
  const counted = admitted[rate_limit - 1 - ahead];
  return counted === undefined ? Number.NEGATIVE_INFINITY : counted + rate_per;
}

/**
 * Returns the next instant at which its rate lets one begin who waits in a line, once those before it who may begin
 * have begun; null if nobody waits whom a rate alone holds back.
 */
export function nextInLine(line: Line, now: number): number | null {
  const ahead = firstOf(line, now).length;
  const next = line.waiting[ahead];
  if (next === undefined) return null;
  const bounds = boundsIn(line, next);
  if (line.taken.length + ahead >= bounds.concurrency) return null;
  return Math.min(rateAllowsAt(line, bounds, ahead), now + (bounds.rate_per ?? 0));
}

/** Returns the earliest of some instants; null if there is none. */
export const earliestOf = (instants: readonly (number | null)[]): number | null => {
  const known = instants.filter((at) => at !== null);
  return known.length === 0 ? null : Math.min(...known);
};

/** Returns whether this workflow may take a place now, whether or not the line holds it already. */
export function mayTake(line: Line, one: Waiting, now: number): boolean {
  const others = line.waiting.filter(({ workflow_id }) => workflow_id !== one.workflow_id);
  const taken = line.taken.filter((id) => id !== one.workflow_id);
  return firstOf({ ...line, taken, waiting: [...others, one].sort(inOrder) }, now).includes(one);
}

/** Returns whether a workflow may join a line: it may take a place at once, or fewer wait than may. */
export function mayJoin(line: Line, one: Waiting, maxWaiting: number, now: number): boolean {
  return mayTake(line, one, now) || line.waiting.length - firstOf(line, now).length < maxWaiting;
}

/** Returns the number of those who wait that must be read to judge an entry. */
export const readFor = ({ concurrency, maxWaiting = 0 }: QueueEntry): number => concurrency + maxWaiting;

/**
 * Returns whether an append is judged on its line: its owner takes a place, or anybody begins a workflow in a bounded
 * line, also one that another process will own.
 */
export function isJudged({ indexes, lease, claim }: Append): boolean {
  const { queue = null, create } = indexes ?? {};
  if (queue === null) return false;
  const isOwned = lease !== undefined || claim !== undefined;
  return (queue.begins === true && isOwned) || (create !== undefined && queue.maxWaiting !== undefined);
}

export const inOrder = (a: Waiting, b: Waiting): number =>
  a.rank - b.rank || a.since - b.since || (a.workflow_id < b.workflow_id ? -1 : 1);

/** Returns the place of an entry among those who wait. */
export const waitingOf = (workflow_id: string, { priority, since, concurrency, rate }: QueueEntry): Waiting => ({
  workflow_id,
  rank: -priority,
  since,
  concurrency,
  rate_limit: rate?.limit ?? null,
  rate_per: rate?.per_ms ?? null,
});

/** Returns the text of a line among those of all tenants. */
export const lineText = (tenant: string, line: string): string => `${tenant} ${line}`;

/**
 * Returns the texts between which the lines of a page are: a line is JSON, an array of the queue's name and its key,
 * and the text of a tenant, which is JSON as well, is the beginning of no other.
 */
export function lineRange(
  tenant: string,
  { name, after }: Omit<LinePage, "limit">,
): readonly [from: string, to: string] {
  const [first, last] = name === undefined ? ["[", "\\"] : [`[${JSON.stringify(name)},`, `[${JSON.stringify(name)}-`];
  return [lineText(tenant, after !== undefined && after > first ? after : first), lineText(tenant, last)];
}

/** Returns the count of a line of this tenant, by its own text. */
export const toLineCount =
  (tenant: string) =>
  (columns: Columns): LineCount => {
    const { line, ...counts } = columns as unknown as LineCount;
    return { line: line.slice(lineText(tenant, "").length), ...counts };
  };

export const toStoredLimits = ({ record }: Columns): StoredQueueLimits =>
  parseCell<StoredQueueLimits>(record, "limits");

export const toWaiting = (columns: Columns): Waiting => columns as unknown as Waiting;

/** Returns at most so many of several lines, one of each in turn: a long line does not keep another from its first. */
export function inTurn<T>(lines: readonly (readonly T[])[], limit: number): readonly T[] {
  const all: T[] = [];
  const longest = Math.max(0, ...lines.map(({ length }) => length));
  for (let at = 0; at < longest && all.length < limit; at += 1)
    for (const line of lines) if (at < line.length && all.length < limit) all.push(line[at] as T);
  return all;
}

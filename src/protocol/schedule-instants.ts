/**
 * The instants of a schedule: those that its cron expression names in its time zone, or the multiples of its interval.
 *
 * 1.  A time of day that a change of the clocks leaves out becomes the first valid time after it on that day; one that
 *     occurs twice is an instant once. An expression with a wildcard or a step in seconds, minutes or hours goes on
 *     through the repeated hour, and has no instants in the hour that is left out.
 * 2.  The jitter of an instant depends on the schedule's name and the instant alone.
 */
import { digest } from "../contract/digest.ts";
import { instantText } from "../contract/instant.ts";

/** The members of a definition that determine its instants. */
export interface Timing {
  readonly cron: string | null;
  readonly time_zone: string;
  readonly every_ms: number | null;
}

/** The instants of a timing; all times are epoch ms. */
export interface Instants {
  /** Returns the first instant after a time; null if there is none. */
  readonly after: (time: number) => number | null;
  /** Returns the last instant at or before a time; null if there is none. */
  readonly until: (time: number) => number | null;
}

/** The characters of cron expressions. Croner would also take a date. */
const cronText = /^[@A-Za-z0-9*?,/\-#+ ]+$/;
const isDate = /^\d{4}-\d\d-\d\d/;

/** Returns the instants of a timing. @throws Error that says what is wrong with it. */
export type InstantsOf = (timing: Timing) => Instants;

/** Loads the reader of cron expressions, and returns the function that finds the instants of timings. */
export async function loadInstants(): Promise<InstantsOf> {
  const { Cron } = await import("croner");
  return (timing) => findInstants(Cron, timing);
}

function findInstants(Cron: typeof import("croner").Cron, { cron, time_zone, every_ms }: Timing): Instants {
  if (every_ms !== null)
    return {
      after: (time) => (Math.floor(time / every_ms) + 1) * every_ms,
      until: (time) => Math.floor(time / every_ms) * every_ms,
    };
  const text = cron ?? "";
  if (!cronText.test(text) || isDate.test(text)) throw new Error(`"${text}" is no cron expression`);
  requireZone(time_zone);
  const job = new Cron(text, { timezone: time_zone, mode: "5-or-6-parts", fixedTimeRule: "no-wildcard" });
  return {
    after: (time) => job.nextRun(new Date(time))?.getTime() ?? null,
    until: (time) => job.previousRuns(1, new Date(time + 1))[0]?.getTime() ?? null,
  };
}

function requireZone(name: string): void {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
  } catch {
    throw new Error(`"${name}" is no IANA time zone`);
  }
}

/** Returns the delay of an instant in ms: from 0 to the longest jitter. */
export function jitterOf(name: string, instant: number, longest: number): number {
  if (longest === 0) return 0;
  return Number.parseInt(digest([name, instantText(instant)]).slice(0, 8), 16) % (longest + 1);
}

/**
 * The end of a credential: everything that was opened with it, and is still being read, ends with it.
 *
 * Owns: the kinds of ends: an instant, an explicit end, a repeated check. Never: knows what ends.
 * 1.  An end is reported once, and not to a watcher that has unsubscribed: no timer and no listener is left.
 */
import type { Clock } from "../../index.ts";

/** Receives the function to run when the credential ends, at once if it has; returns the function that unsubscribes. */
export type Watch = (end: () => void) => () => void;

/** Ends at an instant, epoch ms. */
export const endingAt =
  (clock: Clock, at: number): Watch =>
  (end) =>
    clock.setTimer(at, end, true);

/**
 * Checks at the instant that the last check gave (epoch ms), at `first` to begin with; null and a failure are the end.
 */
export const repeatedly =
  (clock: Clock, look: () => Promise<number | null>, first: number): Watch =>
  (end) => {
    let cancel = (): void => undefined;
    let isForgotten = false;
    const lookNow = async (): Promise<void> => {
      const next = await look().catch(() => null);
      if (isForgotten) return;
      if (next === null) end();
      else arm(next);
    };
    const arm = (at: number): void => {
      cancel = clock.setTimer(at, () => void lookNow(), true);
    };
    arm(first);
    return () => {
      isForgotten = true;
      cancel();
    };
  };

/** Checks periodically whether the credential is still valid; a failing check is its end. */
export const askedAgain =
  (clock: Clock, everyMs: number, stands: () => Promise<boolean>): Watch =>
  (end) => {
    const next = (): number => clock.now() + everyMs;
    return repeatedly(clock, async () => ((await stands()) ? next() : null), next())(end);
  };

/** Ends with whichever ends first. */
export const endingWith =
  (...watches: readonly Watch[]): Watch =>
  (end) => {
    const forgets = watches.map((watch) => watch(end));
    return () => {
      for (const forget of forgets) forget();
    };
  };

export interface Enders {
  readonly watch: Watch;
  /** Runs all that waits. */
  readonly end: () => void;
}

/** Creates ends that are triggered explicitly. */
export function createEnders(): Enders {
  const waiting = new Set<() => void>();
  let isOver = false;
  return {
    watch(end) {
      if (isOver) end();
      else waiting.add(end);
      return () => void waiting.delete(end);
    },
    end() {
      isOver = true;
      for (const end of [...waiting]) end();
      waiting.clear();
    },
  };
}

export interface NamedEnders {
  readonly watch: (name: string) => Watch;
  readonly end: (names: readonly string[]) => void;
}

/** Enders by name, for as long as somebody waits. */
export function createNamedEnders(): NamedEnders {
  const open = new Map<string, Set<() => void>>();
  return {
    watch: (name) => (end) => {
      const waiting = open.get(name) ?? new Set();
      open.set(name, waiting.add(end));
      return () => {
        waiting.delete(end);
        if (waiting.size === 0 && open.get(name) === waiting) open.delete(name);
      };
    },
    end(names) {
      for (const name of names) {
        const waiting = open.get(name) ?? [];
        open.delete(name);
        for (const end of [...waiting]) end();
      }
    },
  };
}

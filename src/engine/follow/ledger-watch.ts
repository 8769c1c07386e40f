/**
 * The ledger watch: notifies readers of this process of commits, here or in another process.
 *
 * Owns: one look at the store's position for all followers, each `pollMs`.
 * Never: reads a row.
 * 1.  Commits of this process are announced at once (the feed); those of others at the next look.
 * 2.  Without listeners there is no timer; without commits no listener is called.
 */
import type { Clock } from "../../ports/clock.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";
import { armUpkeep } from "../actors/kernel-clock.ts";
import type { Feed } from "./feed.ts";

export interface LedgerWatch {
  /**
   * Listens for commits of one workflow, or of all. It may be called without a commit, because commits of other
   * processes have no name.
   */
  readonly listen: (workflowId: string | null, listener: () => void) => () => void;
  /** Others have committed something: it is looked for at once. */
  readonly wake: () => void;
  readonly close: () => void;
}

export interface WatchParts {
  readonly store: Pick<LedgerStore, "position">;
  readonly feed: Feed;
  readonly clock: Clock;
  readonly pollMs: number;
}

export function createLedgerWatch({ store, feed, clock, pollMs }: WatchParts): LedgerWatch {
  const listeners = new Set<() => void>();
  let cancel: (() => void) | null = null;
  let seen: number | null = null;
  let closed = false;

  /**
   * Returns the position; null if the ledger cannot be read, which also wakes readers: they then meet the failure
   * themselves.
   */
  const positionNow = async (): Promise<number | null> => {
    try {
      return await store.position();
    } catch {
      return null;
    }
  };
  const look = async (): Promise<void> => {
    const position = await positionNow();
    if (position === null || position !== seen) for (const listener of [...listeners]) listener();
    seen = position;
    arm();
  };
  const arm = (): void => {
    if (cancel !== null || listeners.size === 0 || closed) return;
    const fire = (): void => {
      cancel = null;
      void look();
    };
    cancel = armUpkeep(clock, { at: clock.now() + pollMs, fire, background: true });
  };
  const disarm = (): void => {
    cancel?.();
    cancel = null;
    seen = null;
  };

  return {
    listen(workflowId, listener) {
      const unlisten = feed.listen(workflowId, listener);
      listeners.add(listener);
      arm();
      return () => {
        unlisten();
        listeners.delete(listener);
        if (listeners.size === 0) disarm();
      };
    },
    wake() {
      for (const listener of [...listeners]) listener();
    },
    close() {
      closed = true;
      disarm();
    },
  };
}

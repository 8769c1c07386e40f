/**
 * The ledger watch: how readers of this process learn that something was committed, here or by another process.
 *
 * Owns: one look at the store's position for all who follow anything, as often as `pollMs` says.
 * Never: reads a row.
 * 1.  What is committed here is told at once (the feed); what others commit, at the next look.
 * 2.  Where nobody listens there is no timer; where nothing is committed nobody is told.
 */
import type { Clock } from "../../ports/clock.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";
import { armUpkeep } from "../actors/kernel-clock.ts";
import type { Feed } from "./feed.ts";

export interface LedgerWatch {
  /** News of one workflow, or of all. It may be told though there is nothing: other processes' commits have no name. */
  readonly listen: (workflowId: string | null, hear: () => void) => () => void;
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
  const hearers = new Set<() => void>();
  let cancel: (() => void) | null = null;
  let seen: number | null = null;
  let closed = false;

  /** Null where the ledger cannot be read, which is news too: readers meet the failure themselves. */
  const positionNow = async (): Promise<number | null> => {
    try {
      return await store.position();
    } catch {
      return null;
    }
  };
  const look = async (): Promise<void> => {
    const position = await positionNow();
    if (position === null || position !== seen) for (const hear of [...hearers]) hear();
    seen = position;
    arm();
  };
  const arm = (): void => {
    if (cancel !== null || hearers.size === 0 || closed) return;
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
    listen(workflowId, hear) {
      const unlisten = feed.listen(workflowId, hear);
      hearers.add(hear);
      arm();
      return () => {
        unlisten();
        hearers.delete(hear);
        if (hearers.size === 0) disarm();
      };
    },
    wake() {
      for (const hear of [...hearers]) hear();
    },
    close() {
      closed = true;
      disarm();
    },
  };
}

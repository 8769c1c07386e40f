/**
 * The events of one run: read from the ledger page by page, then live. Views look at the same list.
 */
import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { LedgerEvent } from "../../src/contract/event.ts";
import type { EventPage } from "../../src/contract/page.ts";
import { askInTime, type Problem, workflowPath } from "./api.ts";
import { followEvents } from "./live.ts";

const pageSize = 500;

export interface RunEvents {
  readonly events: ReadonlySignal<readonly LedgerEvent[]>;
  /** Why the events could not be read to the newest; null where they were, or are being read. */
  readonly problem: ReadonlySignal<Problem | null>;
  readonly readAgain: () => void;
}

export function useRunEvents(workflowId: string): RunEvents {
  const events = useSignal<readonly LedgerEvent[]>([]);
  const problem = useSignal<Problem | null>(null);
  const attempt = useSignal(1);
  useEffect(() => {
    let isOver = false;
    let stop = (): void => undefined;
    const read = async () => {
      problem.value = null;
      for (let after: number | null = events.peek().at(-1)?.sequence ?? 0; after !== null && !isOver; ) {
        const page: Awaited<ReturnType<typeof askInTime<EventPage>>> = await askInTime<EventPage>(
          workflowPath(workflowId, `/events?after=${after}&limit=${pageSize}`),
        );
        if (isOver) return;
        if (!page.ok) {
          problem.value = page.problem;
          return;
        }
        events.value = [...events.value, ...page.value.events];
        after = page.value.next;
      }
      const last = events.value.at(-1)?.sequence ?? 0;
      if (!isOver) stop = followEvents(workflowId, last, gather);
    };
    // Those of one turn come together: they are shown together.
    let fresh: LedgerEvent[] = [];
    const gather = (event: LedgerEvent) => {
      if (fresh.length === 0) queueMicrotask(show);
      fresh.push(event);
    };
    const show = () => {
      const last = events.peek().at(-1)?.sequence ?? 0;
      events.value = [...events.peek(), ...fresh.filter(({ sequence }) => sequence > last)];
      fresh = [];
    };
    void read();
    return () => {
      isOver = true;
      stop();
    };
  }, [workflowId, events, problem, attempt.value]);
  const readAgain = () => {
    attempt.value += 1;
  };
  return { events, problem, readAgain };
}

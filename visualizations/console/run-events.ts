/**
 * The events of one run: read from the ledger page by page, then live. Views look at the same list.
 */
import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { LedgerEvent } from "../../src/contract/event.ts";
import type { EventPage } from "../../src/contract/page.ts";
import { askInTime, type Problem, workflowPath } from "./api.ts";
import { followEvents, followFeed } from "./live.ts";
import { useSettled } from "./loaded.tsx";

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
  const isOver = useSignal(false);
  // A run that has ended goes on if somebody forks it, rolls it back or takes it up again: the feed says so.
  const readOn = useSettled(() => {
    if (isOver.peek()) attempt.value += 1;
  }, 300);
  useEffect(() => {
    let isLeft = false;
    isOver.value = false;
    let stop = (): void => undefined;
    const read = async () => {
      problem.value = null;
      for (let after: number | null = events.peek().at(-1)?.sequence ?? 0; after !== null && !isLeft; ) {
        const page: Awaited<ReturnType<typeof askInTime<EventPage>>> = await askInTime<EventPage>(
          workflowPath(workflowId, `/events?after=${after}&limit=${pageSize}`),
        );
        if (isLeft) return;
        if (!page.ok) {
          problem.value = page.problem;
          return;
        }
        events.value = [...events.value, ...page.value.events];
        after = page.value.next;
      }
      const last = events.value.at(-1)?.sequence ?? 0;
      if (!isLeft) stop = followEvents(workflowId, last, { tell: gather, onOver: () => (isOver.value = true) });
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
      isLeft = true;
      stop();
    };
  }, [workflowId, events, problem, isOver, attempt.value]);
  useEffect(
    () =>
      followFeed(({ workflow_id }) => {
        if (workflow_id === workflowId) readOn();
      }),
    [workflowId, readOn],
  );
  const readAgain = () => {
    attempt.value += 1;
  };
  return { events, problem, readAgain };
}

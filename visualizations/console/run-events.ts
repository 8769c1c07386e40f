/**
 * The events of one run: read from the ledger page by page, then live. Views look at the same list.
 */
import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { LedgerEvent } from "../../src/contract/event.ts";
import type { EventPage } from "../../src/contract/page.ts";
import { ask, workflowPath } from "./api.ts";
import { followEvents } from "./live.ts";

const pageSize = 500;

export function useRunEvents(workflowId: string): ReadonlySignal<readonly LedgerEvent[]> {
  const events = useSignal<readonly LedgerEvent[]>([]);
  useEffect(() => {
    let isOver = false;
    let stop = (): void => undefined;
    const read = async () => {
      for (let after: number | null = 0; after !== null && !isOver; ) {
        const page: Awaited<ReturnType<typeof ask<EventPage>>> = await ask<EventPage>(
          workflowPath(workflowId, `/events?after=${after}&limit=${pageSize}`),
        );
        if (!page.ok || isOver) return;
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
  }, [workflowId, events]);
  return events;
}

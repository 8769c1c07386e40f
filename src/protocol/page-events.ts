/** A page of a workflow's events for faces: bounded in items and in characters, with the cursor of the next. */
import type { LedgerEvent } from "../contract/event.ts";

export interface EventPageLimits {
  readonly limit: number;
  /** The limit on the characters of the events as JSON, all together; one event is included whatever its size. */
  readonly maxChars: number;
}

export interface PagedEvents {
  readonly events: readonly LedgerEvent[];
  /** The sequence after which the next page begins; null if this page ends with the newest event. */
  readonly next: number | null;
}

export async function pageEvents(
  found: AsyncIterable<LedgerEvent>,
  { limit, maxChars }: EventPageLimits,
): Promise<PagedEvents> {
  const events: LedgerEvent[] = [];
  let chars = 0;
  for await (const event of found) {
    chars += JSON.stringify(event).length;
    if (events.length > 0 && chars > maxChars) return { events, next: events.at(-1)?.sequence ?? null };
    events.push(event);
    if (events.length === limit) return { events, next: event.sequence };
  }
  return { events, next: null };
}

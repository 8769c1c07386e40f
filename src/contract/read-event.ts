/** Reading events by their type: a function a type, which gets the payload of that type. */
import type { EventPayloads, LedgerEvent } from "./event.ts";

/** Readers of events by type; types that are left out are not read. `Of` is the type of further arguments. */
export type EventReaders<R, Of extends readonly unknown[] = []> = {
  readonly [T in keyof EventPayloads]?: (payload: EventPayloads[T], event: LedgerEvent, ...of: Of) => R;
};

export function readEvent<R, Of extends readonly unknown[]>(
  readers: EventReaders<R, Of>,
  event: LedgerEvent,
  ...of: Of
): R | undefined {
  const read = readers[event.event_type as keyof EventPayloads] as
    | ((payload: never, event: LedgerEvent, ...of: Of) => R)
    | undefined;
  return read?.(event.payload as never, event, ...of);
}

/** Rows as somebody would write them who can compute hashes: contents changed, the chain sound. */
import { chainHash } from "../../src/contract/chain.ts";
import { sha256 } from "../../src/contract/digest.ts";
import type { LedgerEvent } from "../../src/contract/event.ts";
import { isPlainObject } from "../../src/contract/json.ts";
import { StreamContext } from "../../src/contract/stream-context.ts";
import {
  openNext,
  sealNext,
  type Turn,
  type TurnEnvelope,
  type TurnEvent,
  type TurnRow,
  takeTurn,
} from "../../src/contract/turn.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";

/** Gives the events of rows as they come, of any streams mixed. */
export function rowOpener(): (row: TurnRow) => readonly LedgerEvent[] {
  const contexts = new Map<string, StreamContext>();
  return (row) => {
    const context = contexts.get(row.stream) ?? new StreamContext();
    contexts.set(row.stream, context);
    return openNext(context, row);
  };
}

/** The events of rows of any streams. */
export function eventsIn(rows: readonly TurnRow[]): readonly LedgerEvent[] {
  const open = rowOpener();
  return rows.flatMap((row) => open(row));
}

/** The types of the events of a row that is not in the store yet. */
export async function typesOf(store: Pick<LedgerStore, "read">, row: TurnRow): Promise<readonly string[]> {
  const context = new StreamContext();
  for (const earlier of await store.read(row.stream))
    if (earlier.first_sequence < row.first_sequence) openNext(context, earlier);
  return openNext(context, row).map(({ event_type }) => event_type);
}

/** The rows of one stream. */
export function takeApart(rows: readonly TurnRow[]): readonly Turn[] {
  const context = new StreamContext();
  return rows.map((row) => takeTurn(context, row));
}

/** Rows without events fall away, and what follows moves up. */
export function putTogether(rows: readonly Turn[]): readonly TurnRow[] {
  const context = new StreamContext();
  return rows
    .filter(({ events }) => events.length > 0)
    .map(({ envelope, events }) =>
      events.every(isEvent) && Number.isFinite(envelope.now)
        ? sealNext(context, envelope, events)
        : sealRaw(context, envelope, events),
    );
}

const isEvent = (event: unknown): boolean =>
  isPlainObject(event) &&
  ["type", "id"].every((name) => typeof event[name] === "string") &&
  isPlainObject(event["payload"]);

/** What no kernel could pack. */
function sealRaw(
  context: StreamContext,
  { now, first: _first, count: _count, ...shared }: TurnEnvelope,
  events: readonly unknown[],
): TurnRow {
  const { last, head: prev_hash } = context;
  const [first_sequence, last_sequence] = [last + 1, last + events.length];
  const places = { now, first: first_sequence, count: events.length, id: "evt_raw" };
  const envelope = JSON.stringify({ v: 2, ...shared, ...places });
  const body = JSON.stringify(events);
  const body_hash = sha256(body);
  const hash = chainHash(prev_hash, envelope, body_hash);
  context.follow({ last: last_sequence, head: hash });
  const { stream } = shared;
  return { stream, first_sequence, last_sequence, envelope, body, body_hash, prev_hash, hash };
}

export interface Forgery {
  readonly envelope?: (envelope: TurnEnvelope) => object;
  readonly event?: (event: TurnEvent) => object | null;
}

export function reseal(rows: readonly TurnRow[], { envelope = same, event = same }: Forgery): readonly TurnRow[] {
  return putTogether(
    takeApart(rows).map((row) => ({
      envelope: { ...row.envelope, ...envelope(row.envelope) },
      events: row.events.map((one) => event(one) as TurnEvent),
    })),
  );
}

const same = <T>(value: T): T => value;

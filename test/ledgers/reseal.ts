/** Rows as somebody would write them who can compute hashes: contents changed, the chain sound. */
import { chainHash } from "../../src/contract/chain.ts";
import { sha256 } from "../../src/contract/digest.ts";
import type { LedgerEvent } from "../../src/contract/event.ts";
import { isPlainObject } from "../../src/contract/json.ts";
import {
  endOf,
  openTurn,
  openTurns,
  type StreamEnd,
  sealTurn,
  streamStart,
  type Turn,
  type TurnEnvelope,
  type TurnEvent,
  type TurnRow,
  takeTurn,
  turnSchemaVersion,
} from "../../src/contract/turn.ts";

/** Gives the events of rows as they come, of any streams mixed. */
export function rowOpener(): (row: TurnRow) => readonly LedgerEvent[] {
  const ends = new Map<string, StreamEnd>();
  return (row) => {
    const events = openTurns([row], ends.get(row.stream));
    ends.set(row.stream, endOf(row));
    return events;
  };
}

/** The events of rows of any streams. */
export function eventsIn(rows: readonly TurnRow[]): readonly LedgerEvent[] {
  const open = rowOpener();
  return rows.flatMap((row) => open(row));
}

/** The types of the events of a row that is not in the store yet. */
export const typesOf = (row: TurnRow): readonly string[] => openTurn(row).map(({ event_type }) => event_type);

/** The rows of one stream. */
export function takeApart(rows: readonly TurnRow[]): readonly Turn[] {
  let end = streamStart;
  return rows.map((row) => {
    const turn = takeTurn(row, end);
    end = endOf(row);
    return turn;
  });
}

/** Rows without events fall away, and the rows behind them move up. */
export function putTogether(turns: readonly Turn[]): readonly TurnRow[] {
  const rows: TurnRow[] = [];
  let end = streamStart;
  for (const { envelope, events, ...recorded } of turns.filter((turn) => turn.events.length > 0)) {
    const placed = { ...envelope, first: end.last + 1, count: events.length };
    const row =
      events.every(isEvent) && Number.isFinite(envelope.now)
        ? sealTurn(placed, events, end.head, recorded)
        : sealRaw(placed, events, end.head);
    rows.push(row);
    end = endOf(row);
  }
  return rows;
}

const isEvent = (event: unknown): boolean =>
  isPlainObject(event) &&
  ["type", "id"].every((name) => typeof event[name] === "string") &&
  isPlainObject(event["payload"]);

/** Seals a row that no kernel could write. */
function sealRaw(envelope: TurnEnvelope, events: readonly unknown[], prev_hash: string): TurnRow {
  const { stream, first: first_sequence, count } = envelope;
  const last_sequence = first_sequence + count - 1;
  const envelopeText = JSON.stringify({ v: turnSchemaVersion, ...envelope });
  const body = JSON.stringify({ events });
  const body_hash = sha256(body);
  const hash = chainHash(prev_hash, envelopeText, body_hash);
  return { stream, first_sequence, last_sequence, envelope: envelopeText, body, body_hash, prev_hash, hash };
}

export interface Forgery {
  readonly envelope?: (envelope: TurnEnvelope) => object;
  readonly event?: (event: TurnEvent) => object | null;
  readonly cause?: (turn: Turn) => Pick<Turn, "inputs">;
}

export function reseal(
  rows: readonly TurnRow[],
  { envelope = same, event = same, cause = same }: Forgery,
): readonly TurnRow[] {
  return putTogether(
    takeApart(rows).map((row) => ({
      ...row,
      ...cause(row),
      envelope: { ...row.envelope, ...envelope(row.envelope) },
      events: row.events.map((one) => event(one) as TurnEvent),
    })),
  );
}

const same = <T>(value: T): T => value;

/**
 * Compares the rows of a replay with the record, byte by byte.
 *
 * Owns: the definition of equality, and the names of differences. Never: replays anything.
 * 1.  Events are compared as they are written in a body; rows are sealed again with the recorded partition and chained
 *     from the genesis hash: the head is equal only if every byte is.
 */
import type { EventDraft } from "../../contract/event.ts";
import { isPlainObject, type Json } from "../../contract/json.ts";
import type { ReplayDifference } from "../../contract/replay.ts";
import {
  endOf,
  eventText,
  type Shared,
  sealTurn,
  streamStart,
  type TurnEvent,
  type TurnRow,
  takeTurn,
} from "../../contract/turn.ts";

/** Returns the difference of two events of the same type and step; null if every byte is the same. */
export function compareEvent(sequence: number, recorded: TurnEvent, made: TurnEvent): ReplayDifference | null {
  if (eventText(made) === eventText(recorded)) return null;
  const { id, type, step } = recorded;
  const found = firstDifference(recorded as unknown as Json, made as unknown as Json, []) ?? orderOnly;
  const { path, expected, actual } = found;
  const where = path.join(".");
  const reason =
    found === orderOnly
      ? `${type} has the same members in another order`
      : `${where} of ${type} was ${show(expected)} and is ${show(actual)} now`;
  const place = { sequence, event_id: id, event_type: type, step_id: step };
  return { code: "EVENT_DIFFERS", ...place, path: where, expected, actual, reason };
}

/** Returns the difference of a recorded event that did not come; `instead` is the event that came. */
export function missing(sequence: number, recorded: TurnEvent, instead: EventDraft | null): ReplayDifference {
  const { id, type, step, payload } = recorded;
  const at = { sequence, event_id: id, event_type: type, step_id: step };
  const place = { code: "EVENT_MISSING", ...at, path: null, expected: payload as Json } as const;
  if (instead === null) return { ...place, actual: null, reason: `${type} was expected and nothing more happened` };
  const actual = { type: instead.type, step_id: instead.step_id, payload: instead.payload } as unknown as Json;
  const reason = `${type} was expected; ${nameOf(instead)} came, which the ledger does not hold there`;
  return { ...place, actual, reason };
}

/** Returns the difference of a replay that continued beyond the end of the record. */
export function goesBeyond(sequence: number, extra: EventDraft): ReplayDifference {
  const actual = extra.payload as unknown as Json;
  const reason = `the ledger ends here; ${nameOf(extra)} came`;
  const place = { sequence, event_id: null, event_type: extra.type, step_id: extra.step_id };
  return { code: "EVENT_BEYOND", ...place, path: null, expected: null, actual, reason };
}

const nameOf = ({ type, step_id }: EventDraft): string => (step_id === null ? type : `${type} of ${step_id}`);

/**
 * Seals the rows again, of events that came out the same, with the envelope that the identity gives.
 * The head, or the first row that differs.
 */
export function sealAgain(
  rows: readonly TurnRow[],
  shared: Shared,
): { readonly head: string } | { readonly difference: ReplayDifference } {
  let end = streamStart;
  for (const row of rows) {
    const { envelope, events, ...cause } = takeTurn(row, end);
    const sealed = sealTurn({ ...envelope, ...shared }, events, end.head, cause);
    if (sealed.hash !== row.hash) return { difference: differentRow(row, sealed, events[0]) };
    end = endOf(row);
  }
  return { head: end.head };
}

interface Found {
  readonly path: readonly string[];
  readonly expected: Json;
  readonly actual: Json;
}
const orderOnly: Found = { path: [], expected: null, actual: null };

/** Returns the first place at which two values differ, with members in the order of the expected one. */
function firstDifference(expected: Json, actual: Json, path: readonly string[]): Found | null {
  if (!isHolder(expected) || !isHolder(actual) || Array.isArray(expected) !== Array.isArray(actual))
    return Object.is(expected, actual) ? null : { path, expected, actual };
  const [left, right] = [expected, actual] as unknown as readonly [Record<string, Json>, Record<string, Json>];
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const found = firstDifference(left[key] ?? null, right[key] ?? null, [...path, key]);
    if (found !== null) return found;
    if (Object.hasOwn(left, key) !== Object.hasOwn(right, key))
      return { path: [...path, key], expected: left[key] ?? null, actual: right[key] ?? null };
  }
  return null;
}

const isHolder = (value: unknown): boolean => Array.isArray(value) || isPlainObject(value);

function show(value: Json): string {
  const text = JSON.stringify(value);
  return text.length <= 120 ? text : `${text.slice(0, 117)}…`;
}

function differentRow(row: TurnRow, sealed: TurnRow, first: TurnEvent | undefined): ReplayDifference {
  const found = firstDifference(contentsOf(row), contentsOf(sealed), []) ?? orderOnly;
  const { id = null, type = "", step = null } = first ?? {};
  const place = { sequence: row.first_sequence, event_id: id, event_type: type, step_id: step };
  const path = found.path.join(".");
  const reason =
    `the row that begins here is another: ${path} was ${show(found.expected)} and is ` + `${show(found.actual)} now`;
  return { code: "ROW_DIFFERS", ...place, ...found, path, reason };
}

const contentsOf = ({ envelope, body }: TurnRow): Json => ({
  envelope: JSON.parse(envelope) as Json,
  body: JSON.parse(body ?? "null") as Json,
});

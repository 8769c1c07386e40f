/**
 * Two ledgers of one workflow, the recorded and the replayed, held against one another byte by byte.
 *
 * Owns: what counts as the same, and the words for what does not. Never: replays anything.
 * D1  Events are compared by id in recorded order, as they lie in a body; rows are sealed again with the recorded partition
 *     and chained from the genesis hash: the head is equal only if every byte is.
 * D2  The first event in ledger order that differs is the one that is named.
 */
import type { EventDraft } from "../contract/event.ts";
import { isPlainObject, type Json } from "../contract/json.ts";
import type { Replay, ReplayDifference } from "../contract/replay.ts";
import {
  eventText,
  genesisHash,
  sealTexts,
  type TurnEnvelope,
  type TurnEvent,
  type TurnRow,
} from "../contract/turn.ts";

export interface Replayed {
  readonly rows: readonly TurnRow[];
  /** Decided in the replay, and not in the record. */
  readonly extras: readonly EventDraft[];
}

export function compareTurns(workflowId: string, recorded: readonly TurnRow[], replayed: Replayed): Replay {
  const came = new Map(replayed.rows.flatMap(eventsIn).map((event) => [event.id, event]));
  const envelope = replayed.rows[0] === undefined ? null : envelopeIn(replayed.rows[0]);
  let head: string = genesisHash;
  let events = 0;
  for (const row of recorded) {
    const texts: string[] = [];
    for (const [i, event] of eventsIn(row).entries()) {
      const difference = differenceAt(row.first_sequence + i, event, { came: came.get(event.id), ...replayed });
      if (difference !== null) return { workflow_id: workflowId, identical: false, events, head: null, difference };
      texts.push(eventText(came.get(event.id) as TurnEvent));
      events += 1;
    }
    const { now, first, count } = envelopeIn(row);
    const sealed = sealTexts({ ...(envelope as TurnEnvelope), now, first, count }, texts, head);
    if (sealed.hash !== row.hash)
      return { workflow_id: workflowId, identical: false, events, head: null, difference: differentRow(row, sealed) };
    head = sealed.hash;
  }
  const difference = beyond(recorded, replayed);
  return { workflow_id: workflowId, identical: difference === null, events, head, difference };
}

const eventsIn = (row: TurnRow): readonly TurnEvent[] => JSON.parse(row.body ?? "[]") as TurnEvent[];
const envelopeIn = (row: TurnRow): TurnEnvelope => JSON.parse(row.envelope) as TurnEnvelope;

interface Came {
  readonly came: TurnEvent | undefined;
  readonly extras: readonly EventDraft[];
}

function differenceAt(sequence: number, recorded: TurnEvent, { came, extras }: Came): ReplayDifference | null {
  const { id, type, step } = recorded;
  const place = { sequence, event_id: id, event_type: type, step_id: step };
  if (came === undefined)
    return { ...place, path: null, expected: recorded.payload as Json, ...insteadOf(type, extras) };
  if (eventText(came) === eventText(recorded)) return null;
  const found = firstDifference(recorded as unknown as Json, came as unknown as Json, []) ?? orderOnly;
  const { path, expected, actual } = found;
  const where = path.join(".");
  const reason =
    found === orderOnly
      ? `${type} has the same members in another order`
      : `${where} of ${type} was ${show(expected)} and is ${show(actual)} now`;
  return { ...place, path: where, expected, actual, reason };
}

function insteadOf(type: string, [extra]: readonly EventDraft[]): Pick<ReplayDifference, "actual" | "reason"> {
  if (extra === undefined) return { actual: null, reason: `${type} was expected and nothing more happened` };
  const actual = { type: extra.type, step_id: extra.step_id, payload: extra.payload } as unknown as Json;
  return { actual, reason: `${type} was expected; ${nameOf(extra)} came, which the ledger does not hold there` };
}

const nameOf = ({ type, step_id }: EventDraft): string => (step_id === null ? type : `${type} of ${step_id}`);

interface Found {
  readonly path: readonly string[];
  readonly expected: Json;
  readonly actual: Json;
}
const orderOnly: Found = { path: [], expected: null, actual: null };

/** The first place where two values part, members in the order of the expected one. */
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

function differentRow(row: TurnRow, sealed: TurnRow): ReplayDifference {
  const expected = JSON.parse(row.envelope) as Json;
  const actual = JSON.parse(sealed.envelope) as Json;
  const found = firstDifference(expected, actual, ["envelope"]) ?? orderOnly;
  const [first] = eventsIn(row);
  const place = { sequence: row.first_sequence, event_id: first?.id ?? null, event_type: first?.type ?? "" };
  const reason = `the row that begins here is another: ${found.path.join(".")} was ${show(found.expected)} and is ${show(found.actual)} now`;
  return { ...place, step_id: first?.step ?? null, ...found, path: found.path.join("."), reason };
}

/** The replay of a workflow that rests ends where the ledger does. */
function beyond(recorded: readonly TurnRow[], { extras: [extra] }: Replayed): ReplayDifference | null {
  if (extra === undefined) return null;
  const actual = extra.payload as unknown as Json;
  const reason = `the ledger ends here; ${nameOf(extra)} came`;
  const sequence = (recorded.at(-1)?.last_sequence ?? 0) + 1;
  return {
    sequence,
    event_id: null,
    event_type: extra.type,
    step_id: extra.step_id,
    path: null,
    expected: null,
    actual,
    reason,
  };
}

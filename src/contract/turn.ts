/**
 * A turn in the ledger: one row of plain JSON that is read without any other row. The envelope holds the members that
 * all events of the turn share; the body holds the events, and the inputs that led to them; the hash chains the row to
 * the previous row of the stream.
 *
 * Owns: the byte format of a row. Never: touches a store.
 * 1.  Hashes are over the stored bytes (chain.ts).
 * 2.  Readers see single events; nobody outside this file knows that a row holds several.
 * 3.  No row holds an event whose type is not in the closed list.
 * 4.  A member that has its documented default is left out (row-defaults.ts), and read back with it.
 * 5.  A row that is not as it was sealed is refused: T0_LEDGER_CORRUPT names stream and sequence. That holds for its
 *     spelling as well: envelope and body are the text that JSON.stringify gives of their content (spelling.ts).
 * 6.  A row with a member that the format does not know is refused as well: T0_LEDGER_FORMAT (row-shape.ts).
 */
import { type ChainBreak, chainHash, checkBytes, genesisHash, refuseDamage, standsAt } from "./chain.ts";
import { sha256 } from "./digest.ts";
import { kernelError } from "./error-codes.ts";
import type { Actor, EventType, LedgerEvent } from "./event.ts";
import { eventTypes } from "./events.ts";
import { instantText } from "./instant.ts";
import { isPlainObject, type JsonObject } from "./json.ts";
import { raise } from "./kernel-error.ts";
import { moduleRef } from "./module-ref.ts";
import { fillDefaults, leaveOutDefaults, payloadDefaults, type RecordDefaults } from "./row-defaults.ts";
import { bodyShape, envelopeShape, eventShape, findMisfit, type Shape } from "./row-shape.ts";
import { readSpelled } from "./spelling.ts";
import type { TurnCause } from "./turn-input.ts";

/** The version of the row format. It rises with every change; rows of another version are not read. */
export const turnSchemaVersion = 3;

/** The members that all events of a stream share. */
export interface Shared {
  readonly stream: string;
  readonly tenant_id: string | number;
  readonly workflow_id: string | null;
  readonly thread_id: string | number | null;
  readonly intent_id: string | null;
  readonly plan_id: string | null;
  readonly correlation_id: string;
  readonly actor: Actor;
}

/** The members that all events of a turn share. `now` is the instant of the row, epoch ms. */
export interface TurnEnvelope extends Shared {
  readonly now: number;
  readonly first: number;
  readonly count: number;
}

export interface TurnEvent {
  readonly id: string;
  readonly type: EventType;
  readonly step: string | null;
  /** Present where the plan or the actor of the event is not that of the envelope; null for no plan. */
  readonly plan?: string | null | undefined;
  readonly actor?: Actor | undefined;
  readonly payload: JsonObject;
}

/** A row as stores keep it. A row whose `body` is null is damaged. */
export interface TurnRow {
  readonly stream: string;
  readonly first_sequence: number;
  readonly last_sequence: number;
  readonly envelope: string;
  readonly body: string | null;
  readonly body_hash: string;
  readonly prev_hash: string;
  readonly hash: string;
}

/** The end of a stream so far: the sequence of its last event, and the hash of its last row. */
export interface StreamEnd {
  readonly last: number;
  readonly head: string;
}

/** The end of a stream that has no rows. */
export const streamStart: StreamEnd = Object.freeze({ last: 0, head: genesisHash });

/** Returns the end of a stream whose last row is given. */
export const endOf = ({ last_sequence, hash }: TurnRow): StreamEnd => ({ last: last_sequence, head: hash });

const readRef = moduleRef(0, "ledger", "read");
const sealRef = moduleRef(0, "ledger", "seal");

/** The actor of an event that no person caused. */
export const system: Actor = Object.freeze({ type: "system", id: "kernel" });

/** Seals a row. Its count is the number of the events. @throws as RowBuilder.add. */
export function sealTurn(
  envelope: TurnEnvelope,
  events: readonly TurnEvent[],
  prevHash: string,
  recorded?: Recorded,
): TurnRow {
  const builder = new RowBuilder(envelope, envelope.now);
  for (const event of events) builder.add(event);
  return builder.seal({ last: envelope.first - 1, head: prevHash }, recorded);
}

/** The inputs that led to the events of a row, with the answers that deciding received while it handled them. */
export type Recorded = Partial<TurnCause>;

/** A row in the making. Its events are written as they come. */
export class RowBuilder {
  readonly #shared: Shared;
  readonly #events: string[] = [];
  #chars = 0;
  /** The instant of the row, epoch ms. */
  readonly now: number;

  /** @param now the instant of the row, epoch ms. */
  constructor(shared: Shared, now: number) {
    this.#shared = sharedOf(shared);
    this.now = now;
  }

  get count(): number {
    return this.#events.length;
  }

  /** Returns the length of the written events, in characters. */
  get chars(): number {
    return this.#chars;
  }

  /**
   * Adds an event. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for an unknown event type, and for a
   * value that JSON does not have.
   */
  add(event: TurnEvent): void {
    if (!knownTypes.has(event.type)) refuseEvent(`there is no event type ${event.type}`);
    const text = eventText(event);
    this.#events.push(text);
    this.#chars += text.length;
  }

  /** Seals the row behind the end of its stream. */
  seal({ last, head }: StreamEnd, { inputs }: Recorded = {}): TurnRow {
    const { count } = this;
    const place = { now: instantText(this.now), first: last + 1, count };
    const shared = leaveOutDefaults({ ...this.#shared }, envelopeDefaults(this.#shared.stream));
    const envelope = JSON.stringify({ v: turnSchemaVersion, ...shared, ...place });
    const led = inputs === undefined ? "" : `"inputs":${JSON.stringify(inputs)},`;
    const body = `{${led}"events":[${this.#events.join(",")}]}`;
    const body_hash = sha256(body);
    const hash = chainHash(head, envelope, body_hash);
    const { stream } = this.#shared;
    const sequences = { first_sequence: last + 1, last_sequence: last + count };
    return { stream, ...sequences, envelope, body, body_hash, prev_hash: head, hash };
  }
}

/** Returns the members of an envelope that a row of this stream leaves out while they have these values. */
export const envelopeDefaults = (stream: string): RecordDefaults => ({
  values: { workflow_id: stream, thread_id: null, actor: system },
});

const knownTypes: ReadonlySet<string> = new Set(eventTypes);

/**
 * Returns an event as its row writes it. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for a value that
 * JSON does not have.
 */
export function eventText({ id, type, step, plan, actor, payload }: TurnEvent): string {
  const defaults = payloadDefaults[type];
  const stored = defaults === undefined ? payload : leaveOutDefaults(payload, defaults);
  try {
    return JSON.stringify({ event_id: id, type, step_id: step ?? undefined, plan_id: plan, actor, payload: stored });
  } catch (thrown) {
    return refuseEvent(`${type} carries a value that JSON does not have: ${(thrown as Error).message}`);
  }
}

const refuseEvent = (message: string): never => raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, sealRef));

/** Returns an event with each default member of its payload, as every reader sees it. */
export function completeEvent(event: TurnEvent): TurnEvent {
  const defaults = payloadDefaults[event.type];
  return defaults === undefined ? event : { ...event, payload: fillDefaults(event.payload, defaults) };
}

/** Returns the shared members in the order of the format. */
export function sharedOf(envelope: Shared): Shared {
  const { stream, tenant_id, workflow_id, thread_id, intent_id, plan_id, correlation_id, actor } = envelope;
  return { stream, tenant_id, workflow_id, thread_id, intent_id, plan_id, correlation_id, actor };
}

/**
 * Returns the single events of a row, at any position of its stream.
 * @throws KernelErrorException T0_LEDGER_CORRUPT for a row that is not as it was sealed; T0_LEDGER_FORMAT for one of
 * another version.
 */
export const openTurn = (row: TurnRow): readonly LedgerEvent[] =>
  openTurns([row], { last: row.first_sequence - 1, head: row.prev_hash });

/** Returns the single events of rows that follow one another behind `end`. @throws as openTurn. */
export function openTurns(rows: readonly TurnRow[], end = streamStart): readonly LedgerEvent[] {
  let at = end;
  return rows.flatMap((row) => {
    const { envelope, events } = takeTurn(row, at);
    at = endOf(row);
    const timestamp = instantText(envelope.now);
    return events.map((event, i) => toLedgerEvent(envelope, event, envelope.first + i, timestamp));
  });
}

/** A row's parts. */
export interface Turn extends Recorded {
  readonly envelope: TurnEnvelope;
  readonly events: readonly TurnEvent[];
}

/** Returns the parts of the row that follows behind `end`. @throws as openTurn. */
export function takeTurn(row: TurnRow, end: StreamEnd): Turn {
  const damage = checkBytes(row, end.head);
  if (damage !== null) return refuseRow(row, damage);
  const envelope = openEnvelope(row);
  if (!standsAt(row, envelope, end.last + 1)) return refuseRow(row, "sequence");
  const { inputs, events } = readPart<StoredBody>(row, row.body ?? "", bodyShape);
  if (events.length !== envelope.count) return refuseRow(row, "format");
  const recorded = inputs === undefined ? {} : { inputs };
  return { envelope, ...recorded, events: events.map((event) => readStoredEvent(row, event)) };
}

/** The body of a row, parsed. */
interface StoredBody extends Recorded {
  readonly events: readonly unknown[];
}

function readStoredEvent(row: TurnRow, stored: unknown): TurnEvent {
  const {
    event_id,
    type,
    step_id = null,
    plan_id,
    actor,
    payload,
  } = requireShape<StoredEvent>(row, stored, eventShape);
  if (!knownTypes.has(type)) return refuseFormat(row, `an event ${type}`);
  return completeEvent({ id: event_id, type, step: step_id, plan: plan_id, actor, payload });
}

/** An event of a body, parsed. */
interface StoredEvent extends Pick<TurnEvent, "type" | "actor" | "payload"> {
  readonly event_id: string;
  readonly step_id?: string | null;
  readonly plan_id?: string | null;
}

/** Returns the members that all events of a row share. @throws as openTurn, for an envelope that cannot be read. */
export function openEnvelope(row: TurnRow): TurnEnvelope {
  const found = readSpelledText(row, row.envelope);
  const v = isPlainObject(found) ? found["v"] : turnSchemaVersion;
  if (v !== turnSchemaVersion) return refuseFormat(row, `row format ${v}; this version reads ${turnSchemaVersion}`);
  const { now, first, count, ...shared } = requireShape<StoredEnvelope>(row, found, envelopeShape);
  const instant = Date.parse(now);
  if (!Number.isFinite(instant) || instantText(instant) !== now) return refuseRow(row, "format");
  const filled = sharedOf(fillDefaults(shared, envelopeDefaults(shared.stream)) as unknown as Shared);
  return { ...filled, now: instant, first, count };
}

/** An envelope, parsed. */
interface StoredEnvelope extends Pick<TurnEnvelope, "stream" | "first" | "count"> {
  readonly now: string;
  readonly [name: string]: unknown;
}

/** Refuses a row that another release wrote. */
function refuseFormat({ stream, first_sequence }: TurnRow, what: string): never {
  const message = `${stream} at sequence ${first_sequence} holds what this version does not know: ${what}`;
  return raise(kernelError("T0_LEDGER_FORMAT", message, readRef, { detail: { stream, sequence: first_sequence } }));
}

/** Returns the content of a text of the row, if it is spelled as it was sealed. */
function readSpelledText(row: TurnRow, text: string): unknown {
  const { content, damage } = readSpelled(text);
  return damage === null ? content : refuseRow(row, damage);
}

const readPart = <T>(row: TurnRow, text: string, shape: Shape): T =>
  requireShape<T>(row, readSpelledText(row, text), shape);

/** Returns a part of the row, if it has the members of its shape and no other. */
function requireShape<T>(row: TurnRow, part: unknown, shape: Shape): T {
  const misfit = findMisfit(part, shape);
  if (misfit === null) return part as T;
  const isUnknown = misfit !== "" && !Object.hasOwn(shape, misfit);
  return isUnknown ? refuseFormat(row, `a member ${misfit}`) : refuseRow(row, "format");
}

const refuseRow = ({ stream, first_sequence }: TurnRow, reason: ChainBreak["reason"]): never =>
  refuseDamage({ stream, sequence: first_sequence, reason });

/** Makes a ledger event. @param sequence its position in the stream. @param timestamp the text of its row's instant. */
export function toLedgerEvent(shared: Shared, event: TurnEvent, sequence: number, timestamp: string): LedgerEvent {
  return {
    event_id: event.id,
    event_type: event.type,
    timestamp,
    tenant_id: shared.tenant_id,
    workflow_id: shared.workflow_id,
    thread_id: shared.thread_id,
    intent_id: shared.intent_id,
    plan_id: event.plan === undefined ? shared.plan_id : event.plan,
    step_id: event.step,
    actor: event.actor ?? shared.actor,
    correlation_id: shared.correlation_id,
    sequence,
    payload: event.payload,
  };
}

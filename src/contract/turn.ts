/**
 * A turn as it lies in the ledger: one row of bytes. The envelope is shared by the turn's events; the body is the
 * events; the hash chains the row to the stream's previous row.
 *
 * Owns: the byte format and the chain rule. Never: touches a store.
 * INV-1  hash = H(previous ‖ envelope bytes ‖ H(body bytes)), over the bytes stored, so that a body can be erased and
 *        the chain still verifies.
 * INV-2  Readers see single events; nobody outside this file knows that a row holds several.
 * INV-3  No row holds an event whose type is not in the closed list.
 * INV-4  A row that is not as it was sealed is never read as if it were: T0_LEDGER_CORRUPT names stream and sequence.
 */
import { sha256 } from "./digest.ts";
import { kernelError } from "./error-codes.ts";
import { type Actor, type EventType, eventTypes, type LedgerEvent } from "./event.ts";
import { instantText } from "./instant.ts";
import type { JsonObject } from "./json.ts";
import { raise } from "./kernel-error.ts";
import { moduleRef } from "./module-ref.ts";
import type { TurnInput } from "./turn-input.ts";

export const turnSchemaVersion = 1;
export const genesisHash = "0".repeat(64);

/** Fields that all events of a turn share, with the instant (`now`, epoch ms) and the first sequence. */
export interface TurnEnvelope {
  readonly v: number;
  readonly stream: string;
  readonly tenant_id: string | number;
  readonly workflow_id: string | null;
  readonly thread_id: string | number | null;
  readonly intent_id: string | null;
  readonly plan_id: string | null;
  readonly correlation_id: string;
  readonly actor: Actor;
  readonly now: number;
  readonly first: number;
  readonly count: number;
  /** What led to the row, where its events do not tell it (`turn-input.ts`). */
  readonly inputs?: readonly TurnInput[];
}

export interface TurnEvent {
  readonly id: string;
  readonly type: EventType;
  readonly step: string | null;
  /** Present where the event's plan or actor is not the envelope's. */
  readonly plan?: string;
  readonly actor?: Actor;
  readonly payload: JsonObject;
}

/** A row as stores keep it. `body` is null once erased; `body_hash` stays. */
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

/** A row as an export spells it: these fields, in this order, and nothing else. */
export function rowText(row: TurnRow): string {
  const { stream, first_sequence, last_sequence, envelope, body, body_hash, prev_hash, hash } = row;
  return JSON.stringify({ stream, first_sequence, last_sequence, envelope, body, body_hash, prev_hash, hash });
}

const known: ReadonlySet<string> = new Set(eventTypes);
const sealRef = moduleRef(0, "ledger", "seal");
const readRef = moduleRef(0, "ledger", "read");

/** An event as it lies in a body. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for an event type there is not, and for what is no JSON. */
export function eventText(event: TurnEvent): string {
  if (!known.has(event.type)) refuseEvent(`there is no event type ${event.type}`);
  try {
    return JSON.stringify(event);
  } catch (thrown) {
    return refuseEvent(`${event.type} carries what is no JSON: ${(thrown as Error).message}`);
  }
}

const refuseEvent = (message: string): never => raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, sealRef));

/** @throws as eventText. */
export function sealTurn(envelope: TurnEnvelope, events: readonly TurnEvent[], prevHash: string): TurnRow {
  return sealTexts(envelope, events.map(eventText), prevHash);
}

/** As sealTurn, of events that are text already. */
export function sealTexts(envelope: TurnEnvelope, events: readonly string[], prevHash: string): TurnRow {
  const envelopeText = JSON.stringify(envelope);
  const body = `[${events.join(",")}]`;
  const bodyHash = sha256(body);
  return {
    stream: envelope.stream,
    first_sequence: envelope.first,
    last_sequence: envelope.first + events.length - 1,
    envelope: envelopeText,
    body,
    body_hash: bodyHash,
    prev_hash: prevHash,
    hash: chainHash(prevHash, envelopeText, bodyHash),
  };
}

export const chainHash = (prev: string, envelope: string, bodyHash: string): string =>
  sha256(prev + envelope + bodyHash);

/**
 * The single events of a row; none where the body was erased.
 * @throws KernelErrorException T0_LEDGER_CORRUPT for a row that is not as it was sealed.
 */
export function openTurn(row: TurnRow): readonly LedgerEvent[] {
  const reason = findDamage(row);
  return reason === null ? readEvents(row) : refuseDamage({ ...placeOf(row), reason });
}

/** As openTurn, of the rows that a stream has after this sequence: what is missing between them is damage as well. */
export function openTurns(rows: readonly TurnRow[], after = 0): readonly LedgerEvent[] {
  const [first] = rows;
  if (first === undefined) return [];
  const next = Math.min(first.first_sequence, after + 1);
  const broken = verifyChain(rows, { prev: next === 1 ? genesisHash : first.prev_hash, next });
  return broken === null ? rows.flatMap(readEvents) : refuseDamage(broken);
}

/** What all events of a row share. @throws as openTurn, for what cannot be read. */
export function openEnvelope(row: TurnRow): TurnEnvelope {
  return readRow(row, () => JSON.parse(row.envelope) as TurnEnvelope);
}

function readEvents(row: TurnRow): readonly LedgerEvent[] {
  const { body } = row;
  if (body === null) return [];
  const envelope = openEnvelope(row);
  return readRow(row, () => {
    const timestamp = instantText(envelope.now);
    return (JSON.parse(body) as TurnEvent[]).map((event, i) => toLedgerEvent(envelope, event, i, timestamp));
  });
}

function readRow<T>(row: TurnRow, read: () => T): T {
  try {
    return read();
  } catch {
    return refuseDamage({ ...placeOf(row), reason: "format" });
  }
}

const placeOf = ({ stream, first_sequence }: TurnRow) => ({ stream, sequence: first_sequence });

/** @throws KernelErrorException T0_LEDGER_CORRUPT. */
export function refuseDamage(broken: ChainBreak): never {
  const { stream, sequence, reason } = broken;
  const message = `the ledger is damaged: ${stream} at sequence ${sequence} (${reason})`;
  raise(kernelError("T0_LEDGER_CORRUPT", message, readRef, { detail: { broken } }));
}

export function toLedgerEvent(envelope: TurnEnvelope, event: TurnEvent, index: number, timestamp: string): LedgerEvent {
  return {
    event_id: event.id,
    event_type: event.type,
    timestamp,
    tenant_id: envelope.tenant_id,
    workflow_id: envelope.workflow_id,
    thread_id: envelope.thread_id,
    intent_id: envelope.intent_id,
    plan_id: event.plan ?? envelope.plan_id,
    step_id: event.step,
    actor: event.actor ?? envelope.actor,
    correlation_id: envelope.correlation_id,
    sequence: envelope.first + index,
    payload: event.payload,
  };
}

/** What is wrong with a chain, at the first row that is wrong; null for a sound one. */
export interface ChainBreak {
  readonly stream: string;
  readonly sequence: number;
  /**
   * `signature`: the chain is sound there, and a signed approval in it is not. `index`: the log is sound, and a row of an
   * index beside it does not say what the log does.
   */
  readonly reason: "hash" | "body" | "link" | "sequence" | "format" | "signature" | "index";
  /** Of an index: which row, and what is wrong with it. */
  readonly index?: IndexBreak;
}

export interface IndexBreak {
  readonly table: string;
  readonly key: JsonObject;
  /** `missing`: the log tells of it; `extra`: it does not; `forged`: `columns` say otherwise than the log. */
  readonly wrong: "missing" | "extra" | "forged";
  readonly columns: readonly string[];
}

/** Verifies one row against the hash before it and the sequence it must begin with. */
export function checkRow(row: TurnRow, prevHash: string, expectedFirst: number): ChainBreak | null {
  const broken = (reason: ChainBreak["reason"]): ChainBreak => ({ ...placeOf(row), reason });
  if (row.prev_hash !== prevHash) return broken("link");
  const damage = findDamage(row);
  if (damage !== null) return broken(damage);
  const envelope = JSON.parse(row.envelope) as TurnEnvelope;
  const whole =
    envelope.first === expectedFirst &&
    row.first_sequence === expectedFirst &&
    row.last_sequence === expectedFirst + envelope.count - 1;
  if (!whole || envelope.stream !== row.stream) return broken("sequence");
  return null;
}

/** What is wrong with the bytes of a row by themselves. */
function findDamage(row: TurnRow): "body" | "hash" | null {
  if (row.body !== null && sha256(row.body) !== row.body_hash) return "body";
  return chainHash(row.prev_hash, row.envelope, row.body_hash) === row.hash ? null : "hash";
}

/** Verifies the rows of one stream in order, from the first or from a known place on. */
export function verifyChain(
  rows: Iterable<TurnRow>,
  from: { readonly prev: string; readonly next: number } = { prev: genesisHash, next: 1 },
): ChainBreak | null {
  let { prev, next } = from;
  for (const row of rows) {
    const broken = checkRowSafely(row, prev, next);
    if (broken !== null) return broken;
    prev = row.hash;
    next = row.last_sequence + 1;
  }
  return null;
}

/** As `checkRow`, of a row that anybody may have written: one whose hashes fit around what is no JSON is broken too. */
export function checkRowSafely(row: TurnRow, prev: string, next: number): ChainBreak | null {
  try {
    return checkRow(row, prev, next);
  } catch {
    return { ...placeOf(row), reason: "format" };
  }
}

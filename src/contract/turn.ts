/**
 * A turn as it lies in the ledger: one row of bytes. The envelope is shared by the turn's events; the body says the
 * events, in short (row-codec.ts); the hash chains the row to the stream's previous row.
 *
 * Owns: the byte format of the envelope. Never: touches a store.
 * INV-1  Hashes are over the bytes stored (chain.ts).
 * INV-2  Readers see single events; nobody outside this file and the codec knows that a row holds several.
 * INV-3  No row holds an event whose type is not in the closed list.
 * INV-4  A row that is not as it was sealed is never read as if it were: T0_LEDGER_CORRUPT names stream and sequence. That
 *        holds for its spelling too: envelope and body are the text that JSON.stringify gives of what they say.
 * INV-5  A row whose envelope names its stream says all by itself; the first of a stream does. Any other goes on from the
 *        context that the rows before it left (`StreamContext`), and is not read without.
 */
import { type ChainBreak, chainHash, checkBytes, refuseDamage, standsAt } from "./chain.ts";
import { sha256 } from "./digest.ts";
import { kernelError } from "./error-codes.ts";
import type { Actor, EventType, LedgerEvent } from "./event.ts";
import { Foretold, isSameJson, packMembers, unpackMembers } from "./foretold.ts";
import { instantText } from "./instant.ts";
import { isPlainObject, type JsonObject } from "./json.ts";
import { raise } from "./kernel-error.ts";
import { moduleRef } from "./module-ref.ts";
import { RowPacker, UnknownEvent, unpackEvents } from "./row-codec.ts";
import { type Shared, StreamContext } from "./stream-context.ts";
import type { TurnInput } from "./turn-input.ts";

/** Rises with every change of what rows say: 2 since rows are lean. Rows of another version are not read. */
export const turnSchemaVersion = 2;

/** Fields that all events of a turn share, with the instant (`now`, epoch ms), the first sequence and the first id. */
export interface TurnEnvelope {
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
  readonly inputs?: readonly TurnInput[] | undefined;
}

export interface TurnEvent {
  readonly id: string;
  readonly type: EventType;
  readonly step: string | null;
  /** Present where the event's plan or actor is not the envelope's; null for no plan. */
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

const readRef = moduleRef(0, "ledger", "read");

const sharedNames = [
  "stream",
  "tenant_id",
  "workflow_id",
  "thread_id",
  "intent_id",
  "plan_id",
  "correlation_id",
  "actor",
] as const satisfies readonly (keyof Shared)[];
/** Who acts where no person does. */
export const system: Actor = Object.freeze({ type: "system", id: "kernel" });
/** What the envelope of a row that says all by itself need not. */
const firstShared = new Foretold(sharedNames, [
  undefined,
  undefined,
  (_: unknown, { stream }: JsonObject) => stream,
  null,
  undefined,
  undefined,
  undefined,
  system,
]);

/** Seals a row that says all by itself. @throws as RowPacking.add. */
export function sealTurn(envelope: TurnEnvelope, events: readonly TurnEvent[], prevHash: string): TurnRow {
  const context = new StreamContext();
  context.follow({ last: envelope.first - 1, head: prevHash });
  return sealNext(context, envelope, events);
}

/** Seals the row that is next in its stream; the context goes on behind it. @throws as RowPacking.add. */
export function sealNext(
  context: StreamContext,
  envelope: RowEnvelope & Pick<TurnEnvelope, "inputs">,
  events: readonly TurnEvent[],
): TurnRow {
  const packing = new RowPacking(context, sharedOf(envelope), envelope.now);
  for (const event of events) packing.add(event);
  return packing.seal(envelope.inputs);
}

/** What is known of an envelope before its row is sealed. `now`: the row's instant, epoch ms. */
export type RowEnvelope = Shared & Pick<TurnEnvelope, "now">;

/** A row in the making: its events are packed as they come. */
export class RowPacking {
  readonly #context: StreamContext;
  readonly #begins: boolean;
  readonly #shared: Shared;
  readonly #events: RowPacker;
  readonly now: number;

  /** @param shared in the order of the format. @param now the row's instant, epoch ms. */
  constructor(context: StreamContext, shared: Shared, now: number) {
    this.now = now;
    this.#context = context;
    this.#shared = shared;
    this.#begins = !isSameJson(context.shared, shared);
    if (this.#begins) context.begin(shared, context.last === 0 ? now : null);
    this.#events = new RowPacker(context, now);
  }

  get count(): number {
    return this.#events.count;
  }

  /** @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for an event type there is not, and for what is no JSON. */
  add(event: TurnEvent): void {
    this.#events.add(event);
  }

  /** @param inputs what led to the row, where its events do not tell it. */
  seal(inputs?: TurnEnvelope["inputs"]): TurnRow {
    const { count, firstId: id, body } = this.#events;
    const { last, head } = this.#context;
    const first = last + 1;
    const shared = this.#begins
      ? `${membersOf(packMembers(this.#shared as unknown as JsonObject, firstShared, null))},`
      : "";
    const led = inputs === undefined ? "" : `,"inputs":${JSON.stringify(inputs)}`;
    const places = `"now":${JSON.stringify(this.now)},"first":${first},"count":${count},"id":${JSON.stringify(id)}`;
    const envelope = `{"v":${turnSchemaVersion},${shared}${places}${led}}`;
    const prev_hash = head;
    const body_hash = sha256(body);
    const hash = chainHash(prev_hash, envelope, body_hash);
    const last_sequence = last + count;
    this.#context.follow({ last: last_sequence, head: hash, now: this.now });
    const { stream } = this.#shared;
    return { stream, first_sequence: first, last_sequence, envelope, body, body_hash, prev_hash, hash };
  }
}

const membersOf = (record: unknown): string => JSON.stringify(record).slice(1, -1);

/** In the order of the format, whatever order they come in. */
export function sharedOf(envelope: Shared): Shared {
  const { stream, tenant_id, workflow_id, thread_id, intent_id, plan_id, correlation_id, actor } = envelope;
  return { stream, tenant_id, workflow_id, thread_id, intent_id, plan_id, correlation_id, actor };
}

/**
 * The single events of a row that says all by itself.
 * @throws KernelErrorException T0_LEDGER_CORRUPT for a row that is not as it was sealed, or that does not; T0_LEDGER_FORMAT
 * for one of another version.
 */
export function openTurn(row: TurnRow): readonly LedgerEvent[] {
  const context = new StreamContext();
  context.follow({ last: row.first_sequence - 1, head: row.prev_hash });
  return openNext(context, row);
}

/** The single events of a stream's rows: of all, or of those that follow in it. @throws as openTurn. */
export function openTurns(rows: readonly TurnRow[], context = new StreamContext()): readonly LedgerEvent[] {
  return rows.flatMap((row) => openNext(context, row));
}

/** As openTurn, of the row that is next in its stream; the context goes on behind it. */
export function openNext(context: StreamContext, row: TurnRow): readonly LedgerEvent[] {
  const { envelope, events } = takeTurn(context, row);
  const timestamp = readRow(row, () => instantText(envelope.now));
  return events.map((event, i) => toLedgerEvent(envelope, event, envelope.first + i, timestamp));
}

/** A row's parts. */
export interface Turn {
  readonly envelope: TurnEnvelope;
  readonly events: readonly TurnEvent[];
}

/** As openNext, with what the events share beside them. */
export function takeTurn(context: StreamContext, row: TurnRow): Turn {
  const envelope = enterRow(context, row);
  const entries = readText(row, row.body ?? "");
  return { envelope, events: readRow(row, () => unpackEvents(entries, envelope, context)) };
}

type OpenedEnvelope = TurnEnvelope & { readonly id: string };

/** The envelope of the row that is next, where the row is as it was sealed. */
function enterRow(context: StreamContext, row: TurnRow): OpenedEnvelope {
  const damage = checkBytes(row, context.head);
  if (damage !== null) return refuseRow(row, damage);
  const stored = readStored(row);
  if (!standsAt(row, stored, context.last + 1)) return refuseRow(row, "sequence");
  const { now, first, count, id, inputs } = stored;
  if (stored.stream !== undefined) context.begin(readShared(stored), first === 1 ? now : null);
  context.follow({ last: row.last_sequence, head: row.hash, now });
  const { shared } = context;
  if (shared?.stream !== row.stream) return refuseRow(row, "sequence");
  return inputs === undefined ? { ...shared, now, first, count, id } : { ...shared, now, first, count, id, inputs };
}

/** An envelope's bytes, as they are parsed. */
type StoredEnvelope = Pick<TurnEnvelope, "now" | "first" | "count" | "inputs"> &
  Partial<Shared> & { readonly v: number; readonly id: string };

function readStored(row: TurnRow): StoredEnvelope {
  const found = readText(row, row.envelope);
  const stored = isPlainObject(found) ? (found as unknown as StoredEnvelope) : refuseRow(row, "format");
  if (stored.v === turnSchemaVersion) return stored;
  return refuseFormat(row, `row format ${stored.v}; this version reads ${turnSchemaVersion}`);
}

/** What another release has written. */
function refuseFormat({ stream, first_sequence }: TurnRow, what: string): never {
  const message = `${stream} at sequence ${first_sequence} holds what this version does not know: ${what}`;
  return raise(kernelError("T0_LEDGER_FORMAT", message, readRef, { detail: { stream, sequence: first_sequence } }));
}

/** What a text of the row says, where it is spelled as it was sealed. */
function readText(row: TurnRow, text: string): unknown {
  const parsed: unknown = readRow(row, () => JSON.parse(text));
  return JSON.stringify(parsed) === text ? parsed : refuseRow(row, "spelling");
}

function readRow<T>(row: TurnRow, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    return thrown instanceof UnknownEvent ? refuseFormat(row, thrown.message) : refuseRow(row, "format");
  }
}

const refuseRow = ({ stream, first_sequence }: TurnRow, reason: ChainBreak["reason"]): never =>
  refuseDamage({ stream, sequence: first_sequence, reason });

const readShared = (stored: Partial<Shared>): Shared =>
  unpackMembers(stored as JsonObject, firstShared, null) as unknown as Shared;

/** What all events of a row share that says all by itself. @throws as openTurn, for what cannot be read. */
export function openEnvelope(row: TurnRow): TurnEnvelope {
  const { now, first, count, ...stored } = readStored(row);
  return stored.stream === undefined ? refuseRow(row, "sequence") : { ...readShared(stored), now, first, count };
}

/** @param sequence its place in the stream. @param timestamp the text of its row's instant. */
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

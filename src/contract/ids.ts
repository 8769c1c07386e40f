/**
 * Ids: the one generator, the patterns, and the lossless uuid form.
 *
 * Owns: prefixes by entity type, monotonic ULIDs on an injected clock and random source, the id schemas. Never: reads
 * the clock by itself, except through ambient.ts for the module-level generateId.
 * 1.  Ids of one source strictly increase in their ULID part, over all entity types, also when the clock goes back.
 * 2.  The same clock readings and random draws give the same ids.
 * 3.  An event id leaves room: the ids after it, as many as `idAfter` gives, are drawn for nothing else.
 */
import { ulidToUUID, uuidToULID } from "ulid";
import { z } from "zod";
import { ambientNow, ambientRandom } from "./ambient.ts";

/** Draws `prefix_ULID` ids. An event's id is drawn for its row: those of the row's further events come after it. */
export type IdSource = { next(entityType: string): string };

const prefixes: ReadonlyMap<string, string> = new Map([
  ["signal", "sig_"],
  ["request", "req_"],
  ["intent", "int_"],
  ["workflow", "wf_"],
  ["plan", "pln_"],
  ["action", "act_"],
  ["outcome", "out_"],
  ["event", "evt_"],
  ["correlation", "cor_"],
  ["halt", "hlt_"],
  ["grant", "grt_"],
  ["stand_in", "stn_"],
]);

const ulidText = "[0-7][0-9A-HJKMNP-TV-Z]{25}";
const maxUlidTime = 2 ** 48 - 1;

/**
 * Creates a source of ids on the given clock (epoch ms) and random source ([0,1)). Entity types outside the table
 * become their lower-cased name: `token` gives `token_…`.
 */
export function createIdSource({ now, random }: { now(): number; random(): number }): IdSource {
  const draw = createUlidSource(now, random);
  return {
    next: (entityType) => {
      const prefix = prefixes.get(entityType) ?? `${entityType.toLowerCase()}_`;
      return prefix + draw(entityType === "event" ? eventBlocks : 1);
    },
  };
}

/**
 * Creates a source of ULIDs. Within a millisecond an id is the previous one plus one, which costs a tenth of drawing.
 * An id that is drawn with room reserves that many blocks, and the next id comes after them. The common prefix of the
 * ids of a block is made once.
 */
function createUlidSource(now: () => number, random: () => number): (room: number) => string {
  let last = 0;
  let head = "";
  let block = blocks;
  let number = 0;
  let stem = { of: block, text: "" };
  const moveTo = (to: number): void => {
    block = to;
    number = 0;
  };
  return (room) => {
    const at = toUlidTime(now());
    if (room > 1 && (number > 0 || block % room > 0)) moveTo(block - (block % room) + room);
    if (at > last || block + room > blocks) {
      // A later millisecond, or the counted part of this one is used up: then the next is borrowed.
      last = at > last ? at : last + 1;
      const tail = drawTail(random);
      head = writeTime(last) + writeTail(drawTail(random));
      moveTo(Math.floor(tail / pairSize));
      if (room > 1) block -= block % room;
      else number = tail % pairSize;
      stem = { of: blocks, text: "" };
    }
    if (stem.of !== block) stem = { of: block, text: head + writeBlock(block) };
    const id = stem.text + pairs[number];
    if (room > 1) moveTo(block + room);
    else if (number + 1 < pairSize) number += 1;
    else moveTo(block + 1);
    return id;
  };
}

const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** The value of each digit by character code. */
const values: readonly (number | undefined)[] = Array.from({ length: 91 }, (_, code) => {
  const value = digits.indexOf(String.fromCharCode(code));
  return value === -1 ? undefined : value;
});
const pairs: readonly string[] = [...digits].flatMap((high) => [...digits].map((low) => high + low));
const tailLength = 8;
const pairSize = pairs.length;
const tailSize = 32 ** tailLength;
/** The number of blocks in the counted part of an id; the ids of a block differ in their last two digits only. */
const blocks = tailSize / pairSize;

const roomLength = 3;
/** Ids that one row may give its events. */
const eventRoom = 32 ** roomLength;
const eventBlocks = eventRoom / pairSize;

/** Returns the id after this one in the room of its row; null if there is none and another id must be drawn. */
export function idAfter(id: string): string | null {
  const place = readPlace(id) + 1;
  if (!(place < eventRoom)) return null;
  const pair = pairs[place % pairSize] as string;
  if (place % pairSize > 0) return id.slice(0, -2) + pair;
  return id.slice(0, -roomLength) + digits[place / pairSize] + pair;
}

/** Returns the number that the last `roomLength` digits of an id form; NaN if one is no digit. */
function readPlace(id: string): number {
  let value = 0;
  for (let i = Math.max(0, id.length - roomLength); i < id.length; i += 1)
    value = value * 32 + (values[id.charCodeAt(i)] ?? Number.NaN);
  return value;
}

const writeBlock = (block: number): string => pairs[block >> 20]! + pairs[(block >> 10) & 1023] + pairs[block & 1023];
const writeTail = (tail: number): string => writeBlock(Math.floor(tail / pairSize)) + pairs[tail % pairSize];
const writeTime = (at: number): string => pairs[Math.floor(at / tailSize)] + writeTail(at % tailSize);

/** Draws half of an id's random digits, the last of them first. */
function drawTail(random: () => number): number {
  let tail = 0;
  for (let place = 1; place < tailSize; place *= 32) tail += (Math.floor(random() * 32) % 32) * place;
  return tail;
}

// Limits a time to what a ULID can hold. 0 is not used, because ulid takes it for a missing time.
function toUlidTime(ms: number): number {
  return Number.isFinite(ms) ? Math.min(Math.max(1, Math.floor(ms)), maxUlidTime) : 1;
}

const ambientIds: IdSource = createIdSource({ now: ambientNow, random: ambientRandom });

/** Returns the next id of the ambient source: generateId("signal") is `sig_` and a monotonic ULID. */
export function generateId(entityType: string): string {
  return ambientIds.next(entityType);
}

/** Returns the pattern of the ids with this prefix: `^wf_<26 characters>$`. */
export function idPattern(prefix: string): RegExp {
  return new RegExp(`^${prefix}_${ulidText}$`);
}

/**
 * Returns the same 128 bits as lower-case uuid text, for hosts with uuid columns. Throws RangeError when `id` has no
 * ULID.
 */
export function toUuid(id: string): string {
  const ulid = id.slice(id.lastIndexOf("_") + 1);
  if (!new RegExp(`^${ulidText}$`).test(ulid)) throw new RangeError(`not an id with a ULID: ${id}`);
  return ulidToUUID(ulid).toLowerCase();
}

/** Returns the id whose toUuid is `uuid`. Throws RangeError when `uuid` is not uuid text. */
export function fromUuid(uuid: string, prefix: string): string {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(uuid)) throw new RangeError(`not a uuid: ${uuid}`);
  return `${prefix}_${uuidToULID(uuid)}`;
}

// A lone surrogate would become U+FFFD in a store, where two tenants could then meet.
const hostText = z
  .string()
  .min(1)
  .max(256)
  .refine((text) => text.isWellFormed(), "expected well-formed text");
const hostId = z.union([z.int(), hostText]);

/** Given by the host: a safe integer, or 1 to 256 characters of text. */
export const TenantId = hostId;
export type TenantId = z.infer<typeof TenantId>;
export const PrincipalId = hostId;
export type PrincipalId = z.infer<typeof PrincipalId>;
export const ThreadId = hostId;
export type ThreadId = z.infer<typeof ThreadId>;

export const WorkflowId = z.string().regex(idPattern("wf"));
export type WorkflowId = z.infer<typeof WorkflowId>;
export const IntentId = z.string().regex(idPattern("int"));
export type IntentId = z.infer<typeof IntentId>;
export const PlanId = z.string().regex(idPattern("pln"));
export type PlanId = z.infer<typeof PlanId>;
export const ActionId = z.string().regex(idPattern("act"));
export type ActionId = z.infer<typeof ActionId>;
export const OutcomeId = z.string().regex(idPattern("out"));
export type OutcomeId = z.infer<typeof OutcomeId>;
export const EventId = z.string().regex(idPattern("evt"));
export type EventId = z.infer<typeof EventId>;
export const CorrelationId = z.string().regex(idPattern("cor"));
export type CorrelationId = z.infer<typeof CorrelationId>;

/** The id of a step that a plan's author writes: letters, digits, underscore and hyphen, 1 to 128. */
export const stepIdPattern: RegExp = /^[A-Za-z0-9_-]{1,128}$/;
export const StepId = z.string().regex(stepIdPattern);
export type StepId = z.infer<typeof StepId>;

/** The id of a step on record: an author's, or with a colon that of a step which another one added, such as `pay:0`. */
export const RecordedStepId = z.string().regex(/^[A-Za-z0-9_:-]{1,160}$/);
export type RecordedStepId = z.infer<typeof RecordedStepId>;

/** `gate-<step_id>`. */
export const GateId = z.string().regex(/^gate-[A-Za-z0-9_:-]{1,200}$/);
export type GateId = z.infer<typeof GateId>;

/** Names one side effect of one operator call; the text is opaque. */
export const IdempotencyKey = z.string().min(1);
export type IdempotencyKey = z.infer<typeof IdempotencyKey>;

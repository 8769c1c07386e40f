/**
 * The shapes of the parts of a row and of the lines of an export: which members each has, of which types.
 *
 * Owns: the members that row format 3 knows. Never: opens a payload, an input, an answer or an audit entry, or compares
 * values.
 * 1.  A member that the format does not know is damage: an earlier reader would pass over what it says.
 */
import { isPlainObject } from "./json.ts";

/** The members of an object, each with the test of its value. A member that may be left out passes `undefined`. */
export type Shape = Readonly<Record<string, (value: unknown) => boolean>>;

const isText = (value: unknown): boolean => typeof value === "string";
const isNumber = (value: unknown): boolean => typeof value === "number";
const isId = (value: unknown): boolean => isText(value) || isNumber(value);
type Test = Shape[string];
const orNull =
  (test: Test): Test =>
  (value) =>
    value === null || test(value);
const orNone =
  (test: Test): Test =>
  (value) =>
    value === undefined || test(value);

/** A row as an export holds it. */
export const rowShape: Shape = {
  stream: isText,
  first_sequence: isNumber,
  last_sequence: isNumber,
  envelope: isText,
  body: orNull(isText),
  body_hash: isText,
  prev_hash: isText,
  hash: isText,
};

const actorShape: Shape = { type: isText, id: isId };
const isActor = (value: unknown): boolean => findMisfit(value, actorShape) === null;

/** An envelope of version 3. The version and the instant are tested where they are read. */
export const envelopeShape: Shape = {
  v: () => true,
  stream: isText,
  tenant_id: isId,
  workflow_id: orNone(orNull(isText)),
  thread_id: orNone(orNull(isId)),
  intent_id: orNull(isText),
  plan_id: orNull(isText),
  correlation_id: isText,
  actor: orNone(isActor),
  now: isText,
  first: isNumber,
  count: isNumber,
};

export const bodyShape: Shape = { inputs: orNone(Array.isArray), events: Array.isArray };

export const eventShape: Shape = {
  event_id: isText,
  type: isText,
  step_id: orNone(orNull(isText)),
  plan_id: orNone(orNull(isText)),
  actor: orNone(isActor),
  payload: isPlainObject,
};

const headShape: Shape = { sequence: isNumber, hash: isText };

const evidence: Readonly<Record<string, Shape>> = {
  audit_entry: { evidence: isText, stream: isText, entry: isPlainObject, hash: isText },
  evaluation_report: {
    evidence: isText,
    stream: isText,
    report_id: isText,
    report: (value) => value !== undefined,
    hash: isText,
  },
  closing: {
    evidence: isText,
    stream: isText,
    rows: isNumber,
    audit_entries: isNumber,
    reports: isNumber,
    head: (value) => findMisfit(value, headShape) === null,
    hash: isText,
  },
};

/** The lines of an export that are no rows, by their member `evidence`. */
export const evidenceShapes: ReadonlyMap<unknown, Shape> = new Map(Object.entries(evidence));

/** Returns the name of a member that does not fit the shape, "" for a value that is no object; null if all fit. */
export function findMisfit(value: unknown, shape: Shape): string | null {
  if (!isPlainObject(value)) return "";
  for (const name of Object.keys(value)) if (!Object.hasOwn(shape, name)) return name;
  for (const name in shape) if (!shape[name]?.(value[name])) return name;
  return null;
}

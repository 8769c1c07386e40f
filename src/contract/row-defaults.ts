/**
 * The members that a row leaves out because they have the documented default of row format 3.
 *
 * Owns: how defaults are left out and filled in; the event catalogue lists them. Never: reads another event, or another
 * row: a member is left out for its own value alone. A change of a default is a new row format.
 */
import type { EventType } from "./event.ts";
import { eventTypes, factsOf } from "./events.ts";
import { isPlainObject, type Json, type JsonObject } from "./json.ts";

/** The defaults of one record, and of records in a member of it (or in each entry of a list there). */
export interface RecordDefaults {
  readonly values: JsonObject;
  readonly inside?: Readonly<Record<string, RecordDefaults>>;
}

/** The defaults of the payload of each event type that has some, from the event catalogue. */
export const payloadDefaults = Object.fromEntries(
  eventTypes.flatMap((type) => {
    const { defaults } = factsOf(type);
    return defaults === undefined ? [] : [[type, defaults]];
  }),
) as { readonly [T in EventType]?: RecordDefaults };

/** Returns the record with all members that have a default, and the other members behind them. */
export function fillDefaults(record: JsonObject, { values, inside }: RecordDefaults): JsonObject {
  const filled: Record<string, unknown> = { ...values, ...record };
  for (const [name, defaults] of Object.entries(inside ?? {}))
    if (name in record) filled[name] = mapRecords(record[name], (inner) => fillDefaults(inner, defaults));
  return filled;
}

/** Returns the record without the members that have their default value. */
export function leaveOutDefaults(record: JsonObject, { values, inside }: RecordDefaults): JsonObject {
  const kept = Object.entries(record).filter(
    ([name, value]) => !Object.hasOwn(values, name) || !isSame(value, values[name]),
  );
  if (inside === undefined) return Object.fromEntries(kept);
  return Object.fromEntries(
    kept.map(([name, value]) => {
      const defaults = Object.hasOwn(inside, name) ? inside[name] : undefined;
      return [name, defaults === undefined ? value : mapRecords(value, (inner) => leaveOutDefaults(inner, defaults))];
    }),
  );
}

function mapRecords(value: unknown, change: (record: JsonObject) => JsonObject): unknown {
  if (Array.isArray(value)) return value.map((one: unknown) => (isPlainObject(one) ? change(one) : one));
  return isPlainObject(value) ? change(value) : value;
}

const isSame = (value: unknown, standard: unknown): boolean =>
  value === standard ||
  (typeof value === "object" && value !== null && JSON.stringify(value as Json) === JSON.stringify(standard));

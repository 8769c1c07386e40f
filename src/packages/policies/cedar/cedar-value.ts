/**
 * Plain JSON as values of Cedar.
 *
 * 1.  A member that is null is left out, since Cedar has no null: `has` tells that it is not there.
 * 2.  A whole number is a Long. A number with a fraction, and any number where the schema says decimal, is a decimal,
 *     which has at most four digits after the point.
 * 3.  A value without a form in Cedar is refused, never rounded. So is a member whose name Cedar would read as a
 *     reference to an entity or as the call of a function.
 */
import type { CedarValueJson } from "@cedar-policy/cedar-wasm/nodejs";
import type { Json } from "../../../contract/json.ts";

/** A type of a schema, as Cedar's JSON form of schemas has it. */
export interface CedarType {
  readonly type: string;
  readonly name?: string;
  readonly element?: CedarType;
  readonly attributes?: Readonly<Record<string, CedarType>>;
}

/** The types that a schema names, by name. */
export type NamedTypes = ReadonlyMap<string, CedarType>;

const escapes: ReadonlySet<string> = new Set(["__entity", "__extn", "__expr"]);

/** Returns the value as Cedar reads it, undefined for null. @throws Error for a value that Cedar cannot express. */
export function toCedarValue(value: Json, type: CedarType | undefined, named: NamedTypes): CedarValueJson | undefined {
  if (value === null) return undefined;
  const known = resolveType(type, named);
  if (typeof value === "number") return isDecimal(known) || !Number.isInteger(value) ? decimalOf(value) : longOf(value);
  if (typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((item) => requireValue(toCedarValue(item, known?.element, named)));
  return recordOf(value as Readonly<Record<string, Json>>, known, named);
}

function recordOf(value: Readonly<Record<string, Json>>, type: CedarType | undefined, named: NamedTypes) {
  const members = Object.entries(value).flatMap(([name, member]) => {
    if (escapes.has(name)) throw new Error(`Cedar reserves the name ${name}, which the payload has as a member`);
    const converted = toCedarValue(member, type?.attributes?.[name], named);
    return converted === undefined ? [] : [[name, converted] as const];
  });
  return Object.fromEntries(members);
}

function requireValue(value: CedarValueJson | undefined): CedarValueJson {
  if (value === undefined) throw new Error("a list holds null, which Cedar cannot express");
  return value;
}

/** Returns the type that a name stands for; the type itself if it has no name. */
function resolveType(type: CedarType | undefined, named: NamedTypes): CedarType | undefined {
  const standsFor = type === undefined ? undefined : named.get(type.name ?? type.type);
  return standsFor === undefined ? type : resolveType(standsFor, named);
}

const isDecimal = (type: CedarType | undefined): boolean =>
  type !== undefined && /^(__cedar::)?decimal$/.test(type.name ?? type.type);

function longOf(value: number): number {
  if (Number.isSafeInteger(value)) return value;
  throw new Error(`Cedar cannot hold ${value} exactly`);
}

const largestDecimal = 922_337_203_685_477;

/** Returns a decimal of Cedar. @throws Error for more than four digits after the point. */
export function decimalOf(value: number): CedarValueJson {
  const text = value.toFixed(4);
  if (Number(text) !== value || Math.abs(value) > largestDecimal)
    throw new Error(`${value} is no decimal of Cedar, which has at most four digits after the point`);
  return { __extn: { fn: "decimal", arg: text } };
}

/**
 * JSON Schema as types of Cedar, for the payloads that a schema of JSON describes.
 *
 * 1.  A whole number is a Long, any other number a decimal; a text of any form a String; a list a Set; an object a
 *     record, whose members are optional unless they are required and never null.
 * 2.  What has no type in Cedar is reported with its path and has none: any value, a map by keys, a choice between
 *     types, a type that contains itself. Nothing is widened, since the validator would then accept a mistake.
 */
import { isPlainObject, type JsonObject } from "../../../contract/json.ts";

/** A place of a schema that has no type in Cedar. */
export interface UntypedPlace {
  readonly path: string;
  readonly problem: string;
}

/** Returns the type of a JSON Schema as Cedar writes it, null if it has none, and adds the places that have none. */
export function cedarTypeOf(schema: JsonObject, untyped: UntypedPlace[]): string | null {
  return typeAt({ schema, path: "", root: schema, seen: [], untyped })?.text ?? null;
}

interface Typed {
  readonly text: string;
  /** Whether null is allowed beside the type: its member is then absent. */
  readonly mayBeNull: boolean;
}
interface Place {
  readonly schema: unknown;
  readonly path: string;
  readonly root: JsonObject;
  /** The references that lead to this place. */
  readonly seen: readonly string[];
  readonly untyped: UntypedPlace[];
}

const simple: Readonly<Record<string, string>> = {
  string: "String",
  integer: "Long",
  number: "decimal",
  boolean: "Bool",
};

function typeAt(place: Place): Typed | null {
  const { schema } = place;
  if (!isPlainObject(schema)) return refuse(place, "any value");
  if (typeof schema["$ref"] === "string") return typeOfReference(place, schema["$ref"]);
  const choices = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(choices)) return typeOfChoice(place, choices);
  if (schema["allOf"] !== undefined) return refuse(place, "several schemas at once");
  const [kinds, mayBeNull] = kindsOf(schema);
  const [kind, ...others] = kinds;
  if (kind === undefined) return mayBeNull ? refuse(place, "null alone") : refuse(place, "any value");
  if (others.length > 0) return refuse(place, `a choice between ${kinds.join(" and ")}`);
  const text = simple[kind] ?? (kind === "array" ? setAt(place, schema) : recordAt(place, schema));
  return text === null ? null : { text, mayBeNull };
}

/**
 * Returns the kinds of values that a schema allows, without null, and whether it allows null. Listed values tell more
 * than the type beside them.
 */
function kindsOf(schema: Readonly<Record<string, unknown>>): readonly [readonly string[], boolean] {
  const values = "const" in schema ? [schema["const"]] : schema["enum"];
  const stated = [schema["type"] ?? []].flat() as readonly unknown[];
  const kinds = new Set(Array.isArray(values) ? values.map(kindOfValue) : stated.map(String));
  if (kinds.has("number")) kinds.delete("integer");
  return [[...kinds].filter((kind) => kind !== "null"), kinds.has("null")];
}

function kindOfValue(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "number" ? (Number.isInteger(value) ? "integer" : "number") : typeof value;
}

function typeOfReference(place: Place, reference: string): Typed | null {
  if (place.seen.includes(reference)) return refuse(place, "a type that contains itself");
  const target = reference
    .replace(/^#\/?/, "")
    .split("/")
    .filter((part) => part !== "")
    .reduce<unknown>((at, part) => (isPlainObject(at) ? at[part] : undefined), place.root);
  return typeAt({ ...place, schema: target, seen: [...place.seen, reference] });
}

/** Returns the type that all of the choices have, beside null. */
function typeOfChoice(place: Place, choices: readonly unknown[]): Typed | null {
  const isNull = (choice: unknown): boolean => isPlainObject(choice) && choice["type"] === "null";
  const all = choices.filter((choice) => !isNull(choice)).map((schema) => typeAt({ ...place, schema }));
  const [first] = all;
  if (first === undefined || all.includes(null)) return first === undefined ? refuse(place, "null alone") : null;
  if (all.some((one) => one?.text !== first?.text)) return refuse(place, "a choice between types");
  return first === null ? null : { ...first, mayBeNull: first.mayBeNull || choices.some(isNull) };
}

function setAt(place: Place, schema: Readonly<Record<string, unknown>>): string | null {
  if (schema["prefixItems"] !== undefined) return refuse(place, "a list whose places have types of their own");
  const items = typeAt({ ...place, schema: schema["items"], path: `${place.path}[]` });
  if (items === null) return null;
  return items.mayBeNull ? refuse(place, "a list that may hold null") : `Set<${items.text}>`;
}

function recordAt(place: Place, schema: Readonly<Record<string, unknown>>): string | null {
  const { properties = {}, required = [], additionalProperties = false, patternProperties } = schema;
  if (additionalProperties !== false || patternProperties !== undefined)
    return refuse(place, "an object with members of any name");
  const wanted = new Set(required as readonly string[]);
  const members = Object.entries(properties as JsonObject).map(([name, member]) => {
    const path = place.path === "" ? name : `${place.path}.${name}`;
    const at = { ...place, schema: member, path };
    if (!isName(name)) return refuse(at, "the name of a member that Cedar cannot write");
    const type = typeAt(at);
    return type === null ? null : `${nameOf(name)}${wanted.has(name) && !type.mayBeNull ? "" : "?"}: ${type.text}`;
  });
  if (members.includes(null)) return null;
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

/** Returns whether Cedar can write a name: without what JSON escapes, and none of the three that it reserves. */
const isName = (name: string): boolean =>
  JSON.stringify(name) === `"${name}"` && !["__entity", "__extn", "__expr"].includes(name);

const nameOf = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) && name !== "in" ? name : `"${name}"`);

function refuse({ path, untyped }: Place, what: string): null {
  untyped.push({ path, problem: `Cedar has no type for ${what}` });
  return null;
}

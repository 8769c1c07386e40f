/**
 * Values for a JSON Schema of the document: those that hold it, and those that are changed until they may not.
 * Owns: what is drawn for each keyword that zod's JSON Schema uses. A schema that it does not know gives any JSON.
 */
import fc from "fast-check";

export type Schema = Readonly<Record<string, unknown>>;
type Json = unknown;

export interface Drawing {
  /** What `$ref` names. */
  readonly components: Readonly<Record<string, Schema>>;
  /** Values for properties of these names, which mean something to the kernel; drawn beside the schema's own. */
  readonly words: Readonly<Record<string, fc.Arbitrary<Json>>>;
}

/** Text of any characters; the library's own takes a second to make, for a shrinking that nobody asks for here. */
export const drawAnyText = (most: number): fc.Arbitrary<string> =>
  fc.array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: most }).map((points) => String.fromCodePoint(...points));

const text = (most: number) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.string({ maxLength: Math.min(most, 24) }) },
    { weight: 2, arbitrary: drawAnyText(Math.min(most, 12)) },
    { weight: 1, arbitrary: fc.constant("x".repeat(Math.min(most, 5_000))) },
  );

export function drawSchema(schema: Schema, drawing: Drawing, depth = 0): fc.Arbitrary<Json> {
  const { $ref, anyOf, oneOf, enum: values } = schema;
  if (typeof $ref === "string")
    return drawSchema(drawing.components[$ref.split("/").at(-1) as string] ?? {}, drawing, depth + 1);
  if ("const" in schema) return fc.constant(schema["const"]);
  if (Array.isArray(values)) return fc.constantFrom(...(values as Json[]));
  const union = (anyOf ?? oneOf) as readonly Schema[] | undefined;
  if (union !== undefined) return fc.oneof(...union.map((one) => drawSchema(one, drawing, depth + 1)));
  return drawType(schema, drawing, depth);
}

function drawType(schema: Schema, drawing: Drawing, depth: number): fc.Arbitrary<Json> {
  switch (schema["type"]) {
    case "string":
      return drawText(schema);
    case "integer":
      return fc.integer(rangeOf(schema));
    case "number":
      return fc.double({ noNaN: true, min: rangeOf(schema).min, max: rangeOf(schema).max });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return fc.array(drawSchema((schema["items"] ?? {}) as Schema, drawing, depth + 1), {
        minLength: (schema["minItems"] as number | undefined) ?? 0,
        maxLength: 3,
      });
    case "object":
      return drawObject(schema, drawing, depth);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

const rangeOf = ({ minimum = -(2 ** 31), maximum = 2 ** 31 - 1, exclusiveMinimum }: Schema) => ({
  min: Math.max((exclusiveMinimum as number | undefined) ?? (minimum as number), Number.MIN_SAFE_INTEGER),
  max: Math.min(maximum as number, Number.MAX_SAFE_INTEGER),
});

function drawText({ pattern, format, minLength = 0, maxLength = 5_000 }: Schema): fc.Arbitrary<string> {
  if (format === "date-time")
    return fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }).map((date) => date.toISOString());
  if (typeof pattern === "string") return fc.stringMatching(new RegExp(pattern));
  return text(maxLength as number).filter((drawn) => drawn.length >= (minLength as number));
}

function drawObject({ properties = {}, required = [] }: Schema, drawing: Drawing, depth: number): fc.Arbitrary<Json> {
  const known = Object.entries(properties as Readonly<Record<string, Schema>>);
  if (known.length === 0)
    return fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 });
  const model = Object.fromEntries(
    known.map(([name, schema]) => {
      const word = drawing.words[name];
      const own = drawSchema(schema, drawing, depth + 1);
      return [name, word === undefined ? own : fc.oneof({ weight: 4, arbitrary: word }, { weight: 1, arbitrary: own })];
    }),
  );
  return fc.record(model, { requiredKeys: required as string[] });
}

/** One change somewhere in a value. `at` chooses the place, counted over all places of the value. */
interface Change {
  readonly at: number;
  readonly how: "replace" | "remove" | "add" | "deepen" | "enlarge";
  readonly junk: Json;
}

const nested = (depth: number): Json => {
  let value: Json = 1;
  for (let i = 0; i < depth; i += 1) value = i % 2 === 0 ? [value] : { a: value };
  return value;
};

const junk = fc.oneof(
  fc.constantFrom<Json>(
    null,
    true,
    "",
    0,
    -1,
    1.5,
    2 ** 53,
    1e308,
    [],
    {},
    "null",
    "\u0000",
    "../..",
    "\u202e\ud83d\ude00",
  ),
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(20, 63, 64, 65, 500).map(nested),
);

const drawChange: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(30),
  how: fc.constantFrom("replace", "remove", "add", "deepen", "enlarge"),
  junk,
});

/** The values of `sound`, some of them changed in up to three places. */
export const drawChanged = (sound: fc.Arbitrary<Json>): fc.Arbitrary<Json> =>
  fc
    .tuple(sound, fc.array(drawChange, { minLength: 1, maxLength: 3 }))
    .map(([value, changes]) => changes.reduce(applyChange, value));

function applyChange(value: Json, change: Change): Json {
  const copy: { root: Json } = { root: structuredClone(value) };
  const places = placesIn(copy, "root");
  const { holder, key } = places[change.at % places.length] as Place;
  changePlace(holder, key, change);
  return copy.root;
}

interface Place {
  readonly holder: Record<string, Json>;
  readonly key: string;
}

function placesIn(holder: Record<string, Json>, key: string): readonly Place[] {
  const value = holder[key];
  const inner = typeof value === "object" && value !== null ? (value as Record<string, Json>) : {};
  return [{ holder, key }, ...Object.keys(inner).flatMap((name) => placesIn(inner, name))];
}

function changePlace(holder: Record<string, Json>, key: string, { how, junk: with_ }: Change): void {
  const value = holder[key];
  if (how === "remove" && key !== "root") delete holder[key];
  else if (how === "add" && typeof value === "object" && value !== null) Object.assign(value, { surplus: with_ });
  else if (how === "deepen") holder[key] = { [key]: [value] };
  else if (how === "enlarge")
    holder[key] = typeof value === "string" ? value.repeat(3_000).slice(0, 30_000) : "y".repeat(9_000);
  else holder[key] = with_;
}

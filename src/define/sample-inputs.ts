/**
 * Sample values of an input schema, with which a definition is tried before any kernel runs it.
 *
 * Owns: values that the schema's JSON Schema describes, and its own `examples` (`.meta({ examples })`). Never: claims
 * that a schema accepts them: a refused sample proves nothing. A schema without a JSON Schema has no samples.
 */
import { z } from "zod";

/** A part of a JSON Schema, as far as samples are made of it. */
interface Described {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly anyOf?: readonly Described[];
  readonly oneOf?: readonly Described[];
  readonly allOf?: readonly Described[];
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly multipleOf?: number;
  readonly minItems?: number;
  readonly items?: Described;
  readonly prefixItems?: readonly Described[];
  readonly properties?: Readonly<Record<string, Described>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Described | boolean;
}

const count = 8;
const maxDepth = 8;

/** Returns sample values of a schema's input; none if the schema cannot be described. */
export function sampleInputs(schema: z.ZodType): readonly unknown[] {
  try {
    const described = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Described;
    const own = described.examples ?? [];
    return [...own, ...Array.from({ length: count }, (_, nr) => sampleOf(described, nr, maxDepth))];
  } catch {
    return [];
  }
}

const texts = ["a", "Two Words", "7", " padded ", "2026-01-02T03:04:05Z", "true", "", "é"];
const numbers = [19.99, 3, 1000, 0, -1.5, 100];
const anything = ["2026-01-02T03:04:05Z", 7, {}, ["a"], true, null, "a", 19.99];
const formats: Readonly<Record<string, string>> = {
  "date-time": "2026-01-02T03:04:05Z",
  date: "2026-01-02",
  time: "03:04:05",
  uri: "https://example.com/a",
  uuid: "123e4567-e89b-42d3-a456-426614174000",
};

const pick = <T>(list: readonly T[], nr: number): T => list[nr % list.length] as T;

/** Returns the sample with this number: other numbers give other values if the schema leaves a choice. */
function sampleOf(described: Described, nr: number, left: number): unknown {
  const options = described.anyOf ?? described.oneOf;
  if (left === 0) return null;
  if (described.examples !== undefined && described.examples.length > 0) return pick(described.examples, nr);
  if (described.const !== undefined) return described.const;
  if (described.enum !== undefined) return pick(described.enum, nr);
  if (options !== undefined) return sampleOf(pick(options, nr), Math.floor(nr / options.length), left - 1);
  if (described.allOf !== undefined)
    return Object.assign({}, ...described.allOf.map((one) => sampleOf(one, nr, left - 1)));
  return (makers[described.type ?? ""] ?? sampleAnything)(described, nr, left - 1);
}

const sampleAnything = (_described: Described, nr: number): unknown => pick(anything, nr);

type Maker = (described: Described, nr: number, left: number) => unknown;

const makers: Readonly<Record<string, Maker>> = {
  string({ format, minLength = 0, maxLength = Number.POSITIVE_INFINITY }, nr) {
    const text = formats[format ?? ""] ?? pick(texts, nr);
    return text.padEnd(minLength, "a").slice(0, maxLength);
  },
  number: sampleNumber,
  integer: (described, nr) => Math.round(sampleNumber(described, nr)),
  boolean: (_described, nr) => nr % 2 === 0,
  null: () => null,
  array({ items = {}, prefixItems, minItems = 1 }, nr, left) {
    if (prefixItems !== undefined) return prefixItems.map((item) => sampleOf(item, nr, left));
    return Array.from({ length: Math.max(1, minItems) }, (_, at) => sampleOf(items, nr + at, left));
  },
  object: sampleObject,
};

function sampleNumber({ minimum, exclusiveMinimum, maximum, multipleOf }: Described, nr: number): number {
  const low = minimum ?? (exclusiveMinimum === undefined ? Number.NEGATIVE_INFINITY : exclusiveMinimum + 1);
  const number = Math.min(Math.max(pick(numbers, nr), low), maximum ?? Number.POSITIVE_INFINITY);
  return multipleOf === undefined ? number : Math.ceil(number / multipleOf) * multipleOf;
}

/** Returns an object with all members at even numbers, with the required ones at odd numbers. */
function sampleObject(
  { properties = {}, required = [], additionalProperties }: Described,
  nr: number,
  left: number,
): unknown {
  const members = Object.entries(properties).filter(([name]) => nr % 2 === 0 || required.includes(name));
  const named = Object.fromEntries(members.map(([name, member]) => [name, sampleOf(member, nr, left)]));
  return typeof additionalProperties === "object" ? { ...named, key: sampleOf(additionalProperties, nr, left) } : named;
}

/**
 * Checks the schemas that a host defines: they must be zod schemas, or schemas of another library with a JSON Schema,
 * and those of data that is supplied as JSON must be satisfiable by JSON.
 *
 * Owns: the schemas that are refused, and the advice on what to write instead. Never: applies a schema.
 */
import { z } from "zod";
import type { StandardSchema } from "./standard-schema.ts";
import { isStandard, problemOfStandard, whyUndescribed } from "./to-zod.ts";

/** A schema of a host's, of any kind. */
export const hostSchema = z.custom<StandardSchema>().superRefine((value, { addIssue }) => {
  if (value instanceof z.ZodType) return;
  const problem = isStandard(value) ? problemOfStandard(value) : describeNonSchema(value);
  if (problem !== null) addIssue({ code: "custom", message: problem });
});

/** A schema of data that requests, plans and drafts supply, which is JSON. */
export const suppliedSchema = hostSchema.superRefine((schema, { addIssue }) => {
  const undescribed = whyUndescribed(schema);
  if (undescribed !== null) addIssue({ code: "custom", message: undescribed });
  if (!(schema instanceof z.ZodType)) return;
  for (const { path, kind } of findUnsuppliable(schema))
    addIssue({ code: "custom", path: [...path], message: `${noJson[kind]}; the input arrives as JSON` });
});

/** Returns what is wrong with a value that is no schema, or one of another zod. */
function describeNonSchema(value: unknown): string {
  const vendor = (value as { readonly "~standard"?: { readonly vendor?: unknown } } | null | undefined)?.["~standard"]
    ?.vendor;
  if (vendor === "zod") return "must be a schema of zod 4: import { z } from the package zod, version 4";
  return "must be a schema: of zod, or of a library that follows Standard Schema with its JSON Schema part";
}

/** The types of zod schemas that no JSON value satisfies, with what to write instead. */
const noJson = {
  date: "z.date() takes a Date, which JSON cannot say: write z.iso.datetime(), and make the Date where it is used",
  bigint:
    "z.bigint() takes a bigint, which JSON cannot say: write z.string() for its digits, and make the bigint where " +
    "it is used",
  symbol: "z.symbol() takes a symbol, which JSON cannot say: write z.string()",
  map: "z.map() takes a Map, which JSON cannot say: write z.record(), or z.array(z.tuple([…])) for its entries",
  set: "z.set() takes a Set, which JSON cannot say: write z.array()",
  nan: "z.nan() takes NaN, which JSON cannot say: write z.null()",
  file: "z.file() takes a File, which JSON cannot say: write z.string() for a reference to it",
  function: "z.function() takes a function, which JSON cannot say: leave it out",
  promise: "z.promise() takes a promise, which JSON cannot say: write the schema of its value",
} as const;
type Kind = keyof typeof noJson;

interface Unsuppliable {
  readonly path: readonly (string | number)[];
  readonly kind: Kind;
}

/** The parts of a zod definition that this file reads. */
interface Definition {
  readonly type: string;
  readonly coerce?: boolean;
  readonly innerType?: z.core.$ZodType;
  readonly element?: z.core.$ZodType;
  readonly items?: readonly z.core.$ZodType[];
  readonly rest?: z.core.$ZodType | null;
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly catchall?: z.core.$ZodType;
  readonly valueType?: z.core.$ZodType;
  readonly options?: readonly z.core.$ZodType[];
  readonly left?: z.core.$ZodType;
  readonly right?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
  readonly getter?: () => z.core.$ZodType;
}

/**
 * Returns the parts that JSON cannot supply. A default does not help: its value is kept as JSON and read by the same
 * schema again.
 */
function findUnsuppliable(schema: z.core.$ZodType, seen = new Set<z.core.$ZodType>()): readonly Unsuppliable[] {
  if (seen.has(schema)) return [];
  seen.add(schema);
  const definition = schema._zod.def as unknown as Definition;
  const { type, coerce } = definition;
  if (coerce === true) return [];
  if (type in noJson) return [{ path: [], kind: type as Kind }];
  if (definition.options !== undefined) return ofUnion(definition.options, seen);
  return partsOf(definition).flatMap(([path, part]) =>
    findUnsuppliable(part, seen).map((found) => ({ ...found, path: [...path, ...found.path] })),
  );
}

/** Returns the problems of a union, which can be supplied if one of its options can. */
function ofUnion(options: readonly z.core.$ZodType[], seen: Set<z.core.$ZodType>): readonly Unsuppliable[] {
  const found = options.map((option) => findUnsuppliable(option, seen));
  return found.every((one) => one.length > 0) ? found.flat() : [];
}

type Part = readonly [path: Unsuppliable["path"], schema: z.core.$ZodType];

/** Returns the schemas inside a schema, each with its path; for a pipe, the side that takes the input. */
function partsOf(definition: Definition): readonly Part[] {
  const { innerType, left, right, in: input, getter } = definition;
  const { element, rest, catchall, valueType, shape = {}, items = [] } = definition;
  return [
    ...partsAt([], [innerType, left, right, input, getter?.()]),
    ...partsAt(["*"], [element, rest, catchall, valueType]),
    ...[...Object.entries(shape), ...items.entries()].flatMap(([key, part]) => partsAt([key], [part])),
  ];
}

const partsAt = (
  path: Unsuppliable["path"],
  schemas: readonly (z.core.$ZodType | null | undefined)[],
): readonly Part[] =>
  schemas.flatMap((schema) => (schema === undefined || schema === null ? [] : [[path, schema] as const]));

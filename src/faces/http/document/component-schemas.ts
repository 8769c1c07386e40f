/**
 * The zod schemas of all routes as JSON Schema, each defined once and referred to by its name.
 *
 * Owns: names of schemas that belong to one operation alone; the removal of members of zod's JSON Schema that OpenAPI
 * has no use for.
 * 1.  Two schemas never share a name.
 * 2.  Only schemas that a route refers to are included.
 */
import { z } from "zod";
import type { JsonObject } from "../../../contract/json.ts";
import { ProblemDetails } from "../../../index.ts";
import type { Route } from "../add-route.ts";
import { inputNames, outputNames } from "./schema-names.ts";

type Io = "input" | "output";
type Registry = ReturnType<typeof z.registry<{ id: string }>>;

export interface SchemaOptions {
  /** Objects of answers exclude further members: for tests. Clients must be ready for fields that come later. */
  readonly closed?: boolean;
}

export interface ComponentSchemas {
  readonly components: Readonly<Record<string, JsonObject>>;
  readonly refTo: (schema: z.ZodType) => JsonObject;
}

const pointer = (name: string): string => `#/components/schemas/${name}`;

export function makeComponentSchemas(routes: readonly Route[], { closed = false }: SchemaOptions): ComponentSchemas {
  const input = nameAll(inputNames, routes.flatMap(bodiesOf));
  const output = nameAll(outputNames, [...routes.flatMap(answersOf), ["ProblemDetails", ProblemDetails]]);
  const all = { ...describeAll(output, { io: "output", closed }), ...describeAll(input, { io: "input", closed }) };
  const refTo = (schema: z.ZodType) => ({ $ref: pointer((input.get(schema) ?? output.get(schema))?.id ?? "") });
  return { components: keepReferred(all, routes, refTo), refTo };
}

type Named = readonly [name: string, schema: z.ZodType];
const capitalize = (word: string): string => `${word.charAt(0).toUpperCase()}${word.slice(1)}`;

const bodiesOf = ({ operation, body }: Route): readonly Named[] =>
  body === undefined ? [] : [[`${capitalize(operation)}Body`, body]];

const answersOf = ({ operation, answers }: Route): readonly Named[] =>
  Object.entries(answers).flatMap(([status, { schema }]) =>
    schema === undefined ? [] : [[`${capitalize(operation)}Answer${status === "200" ? "" : status}`, schema] as const],
  );

/** Names all schemas; the first name of a schema stays. */
function nameAll(known: Readonly<Record<string, z.ZodType>>, more: readonly Named[]): Registry {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of [...Object.entries(known), ...more])
    if (!registry.has(schema)) registry.add(schema, { id });
  return registry;
}

type JsonSchemaNode = z.core.JSONSchema.BaseSchema;

const isFree = ({ type, properties, additionalProperties }: JsonSchemaNode): boolean =>
  type === "object" && properties === undefined && additionalProperties === undefined;

/**
 * Describes a default as text: generators of clients read `default` as a field that is always present, and require it.
 */
function describeDefault(schema: JsonSchemaNode): void {
  if (schema.default === undefined) return;
  const words = `By default \`${JSON.stringify(schema.default)}\`.`;
  schema.description = schema.description === undefined ? words : `${schema.description} ${words}`;
  delete schema.default;
}

function describeAll(registry: Registry, { io, closed }: { readonly io: Io; readonly closed: boolean }) {
  const { schemas } = z.toJSONSchema(registry, {
    io,
    uri: pointer,
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      // In OpenAPI `readOnly` states who may send a field; zod's only states that our own code does not change it.
      delete jsonSchema.readOnly;
      const isOpen = io === "output" && !closed;
      if (isOpen && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      // Without a statement on its fields, generators of clients read an object as an empty one.
      if (isFree(jsonSchema)) jsonSchema.additionalProperties = true;
      if (io === "input") describeDefault(jsonSchema);
    },
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _, $id: __, ...schema }]) => [name, schema as JsonObject]),
  );
}

function keepReferred(
  all: Readonly<Record<string, JsonObject>>,
  routes: readonly Route[],
  refTo: (schema: z.ZodType) => JsonObject,
): Readonly<Record<string, JsonObject>> {
  const roots = [
    ProblemDetails,
    ...routes.flatMap((route) => [...bodiesOf(route), ...answersOf(route)].map(([, one]) => one)),
  ];
  const open = roots.flatMap((schema) => refsIn(refTo(schema)));
  const kept = new Set<string>();
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (kept.has(name)) continue;
    kept.add(name);
    open.push(...refsIn(all[name]));
  }
  return Object.fromEntries(
    Object.entries(all)
      .filter(([name]) => kept.has(name))
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** Names of the schemas that a piece of the document refers to. */
const refsIn = (piece: unknown): readonly string[] =>
  [...JSON.stringify(piece).matchAll(/"\$ref":"#\/components\/schemas\/([^"/]+)"/g)].map(([, name = ""]) => name);

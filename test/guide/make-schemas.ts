/**
 * The JSON Schemas of the ledger: of a row as it is stored and exported, and of an event as readers see it.
 *
 * Owns: the schema of a payload, made from its TypeScript type in `EventPayloads`, with the docstrings as descriptions
 * and the defaults of the row format; the schemas around it, made from the zod schemas of the contract where there are
 * some.
 * Never: states a member that the contract does not declare.
 */
import { join } from "node:path";
import { ts } from "@ts-morph/common";
import { z } from "zod";
import { type EventType, LedgerEvent } from "../../src/contract/event.ts";
import { eventTypes } from "../../src/contract/events.ts";
import { EvidenceLine } from "../../src/contract/evidence.ts";
import { payloadDefaults, type RecordDefaults } from "../../src/contract/row-defaults.ts";
import { turnSchemaVersion } from "../../src/contract/turn.ts";
import { root } from "../tidy/source-files.ts";
import { createProgram } from "./typed-program.ts";

/** A JSON Schema, or a part of one. */
export type Schema = { readonly [keyword: string]: unknown };

const dialect = "https://json-schema.org/draft/2020-12/schema";
const noDefaults: RecordDefaults = { values: {} };

/** Makes JSON Schemas of TypeScript types. A record type that the sources name becomes a definition. */
class TypeReader {
  readonly #checker: ts.TypeChecker;
  readonly #names = new Map<ts.Type, string>();
  readonly definitions: Record<string, Schema> = {};

  constructor(checker: ts.TypeChecker) {
    this.#checker = checker;
  }

  /** Returns the schema of a type whose records leave these defaults out. */
  schemaOf(type: ts.Type, defaults: RecordDefaults = noDefaults): Schema {
    const name = type.aliasSymbol?.name ?? type.symbol?.name ?? "";
    if (name === "Json" || (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) !== 0) return {};
    if (name === "JsonObject") return { type: "object" };
    if (type.isUnion()) return this.#union(type, defaults);
    if (this.#checker.isArrayLikeType(type)) return this.#list(type as ts.TypeReference, defaults);
    return plainSchemaOf(type) ?? this.#record(type, defaults);
  }

  #union(type: ts.UnionType, defaults: RecordDefaults): Schema {
    const present = type.types.filter(({ flags }) => (flags & ts.TypeFlags.Undefined) === 0);
    const literals = present.filter((one) => one.isStringLiteral() || one.isNumberLiteral());
    const isBoolean = present.filter(({ flags }) => (flags & ts.TypeFlags.BooleanLiteral) !== 0).length === 2;
    const rest = present.filter(
      (one) => !literals.includes(one as (typeof literals)[number]) && !(isBoolean && isBooleanLiteral(one)),
    );
    const schemas: Schema[] = rest.map((one) => this.schemaOf(one, defaults));
    if (isBoolean) schemas.unshift({ type: "boolean" });
    if (literals.length > 0) schemas.unshift({ enum: literals.map(({ value }) => value).toSorted() });
    // The compiler orders the members of a union by when it met them, which the schema must not depend on.
    const sorted = schemas.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
    if (JSON.stringify(sorted) === anyJson) return {};
    return sorted.length === 1 ? (sorted[0] as Schema) : { anyOf: sorted };
  }

  #list(type: ts.TypeReference, defaults: RecordDefaults): Schema {
    const items = this.#checker.getTypeArguments(type).map((item) => this.schemaOf(item, defaults));
    if (!this.#checker.isTupleType(type)) return { type: "array", items: items[0] ?? {} };
    return { type: "array", prefixItems: items, minItems: items.length, items: false };
  }

  #record(type: ts.Type, defaults: RecordDefaults): Schema {
    const name = this.#names.get(type);
    if (name !== undefined) return { $ref: `#/$defs/${name}` };
    const own = declaredName(type);
    if (defaults !== noDefaults || own === null) return this.#members(type, defaults);
    if (own in this.definitions) throw new Error(`two types of the ledger are called ${own}`);
    this.#names.set(type, own);
    this.definitions[own] = {};
    this.definitions[own] = this.#members(type, defaults);
    return { $ref: `#/$defs/${own}` };
  }

  #members(type: ts.Type, { values, inside = {} }: RecordDefaults): Schema {
    const properties: Record<string, Schema> = {};
    const required: string[] = [];
    for (const member of this.#checker.getPropertiesOfType(type)) {
      const { name } = member;
      const schema = this.schemaOf(this.#checker.getTypeOfSymbol(member), inside[name]);
      const description = ts.displayPartsToString(member.getDocumentationComment(this.#checker)).replace(/\s+/g, " ");
      const said = description === "" ? schema : { ...schema, description };
      properties[name] = name in values ? { ...said, default: values[name] } : said;
      if ((member.flags & ts.SymbolFlags.Optional) === 0 && !(name in values)) required.push(name);
    }
    const index = this.#checker.getIndexTypeOfType(type, ts.IndexKind.String);
    const others = index === undefined ? false : this.schemaOf(index);
    return { type: "object", properties, required, additionalProperties: others };
  }
}

/** The members of the type `Json`, where the compiler has forgotten its name. */
const anyJson = JSON.stringify([
  { type: "array", items: {} },
  { type: "boolean" },
  { type: "null" },
  { type: "number" },
  { type: "object", properties: {}, required: [], additionalProperties: {} },
  { type: "string" },
]);

const isBooleanLiteral = ({ flags }: ts.Type): boolean => (flags & ts.TypeFlags.BooleanLiteral) !== 0;

/** Returns the schema of a type without members; null for any other. */
function plainSchemaOf(type: ts.Type): Schema | null {
  const { flags } = type;
  if (type.isStringLiteral() || type.isNumberLiteral()) return { const: type.value };
  if (isBooleanLiteral(type))
    return { const: (type as unknown as { readonly intrinsicName: string }).intrinsicName === "true" };
  if ((flags & ts.TypeFlags.Null) !== 0) return { type: "null" };
  if ((flags & ts.TypeFlags.StringLike) !== 0) return { type: "string" };
  if ((flags & ts.TypeFlags.NumberLike) !== 0) return { type: "number" };
  return (flags & ts.TypeFlags.BooleanLike) === 0 ? null : { type: "boolean" };
}

/** Returns the name that the sources gave a type; null for a type without one. */
function declaredName(type: ts.Type): string | null {
  const symbol = type.aliasSymbol ?? type.symbol;
  const [declaration] = symbol?.declarations ?? [];
  const isOurs = declaration?.getSourceFile().fileName.startsWith(join(root, "src")) === true;
  return isOurs && /^[A-Z]/.test(symbol.name) ? symbol.name : null;
}

/** Whether a payload is described as its row holds it, with defaults left out, or as readers see it. */
type Form = "stored" | "read";

/** The types of the ledger as the compiler knows them. Creating it reads the sources, which takes seconds. */
class LedgerTypes {
  readonly #program = createProgram(root, [join(root, "src/contract/turn.ts")]);
  readonly #checker = this.#program.getTypeChecker();

  #typeOf(path: string, name: string): ts.Type {
    const statements = this.#program.getSourceFile(join(root, path))?.statements ?? [];
    for (const one of statements)
      if ((ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one)) && one.name.text === name)
        return this.#checker.getTypeAtLocation(one);
    throw new Error(`${path} declares no type ${name}`);
  }

  /** Returns the schemas of payloads and of what a body holds beside events, and the definitions that both refer to. */
  read(form: Form) {
    const reader = new TypeReader(this.#checker);
    const members = this.#checker.getPropertiesOfType(this.#typeOf("src/contract/event.ts", "EventPayloads"));
    const payloads = members.map((member) => {
      const defaults = form === "read" ? undefined : payloadDefaults[member.name as EventType];
      return [member.name, reader.schemaOf(this.#checker.getTypeOfSymbol(member), defaults)] as const;
    });
    const recorded = reader.schemaOf(this.#typeOf("src/contract/turn-input.ts", "TurnCause"), { values: {} });
    return { payloads, recorded, definitions: reader.definitions };
  }
}

const hash: Schema = { type: "string", pattern: "^[0-9a-f]{64}$" };
const sequence: Schema = { type: "integer", minimum: 1 };
const readEvent = z.toJSONSchema(LedgerEvent) as { readonly properties: Readonly<Record<string, Schema>> };

/** Returns the members of an event under these names, as the contract's schema of an event has them. */
const membersOf = (...names: readonly (keyof LedgerEvent)[]): Record<string, Schema> =>
  Object.fromEntries(names.map((name) => [name, readEvent.properties[name] ?? {}]));

const strict = (properties: Readonly<Record<string, Schema>>, required: readonly string[]): Schema => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

/** Returns the rule that an event of each type carries the payload of this type. */
const payloadRules = (member: string, payloads: readonly (readonly [string, Schema])[]): readonly Schema[] =>
  payloads.map(([type]) => ({
    if: { properties: { [member]: { const: type } } },
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema.
    then: { properties: { payload: { $ref: `#/$defs/${type}` } } },
  }));

const textOf = (name: string): Schema => ({
  contentMediaType: "application/json",
  contentSchema: { $ref: `#/$defs/${name}` },
});

function makeRowSchema(types: LedgerTypes): Schema {
  const { payloads, recorded, definitions } = types.read("stored");
  const body = recorded as { readonly properties: Readonly<Record<string, Schema>> };
  const shared = membersOf("tenant_id", "workflow_id", "thread_id", "intent_id", "plan_id", "correlation_id", "actor");
  const place = { now: readEvent.properties["timestamp"] ?? {}, first: sequence, count: sequence };
  const named = ["v", "stream", "tenant_id", "intent_id", "plan_id", "correlation_id", "now", "first", "count"];
  const event = strict(
    { ...membersOf("event_id"), type: { enum: eventTypes }, ...membersOf("step_id", "plan_id", "actor", "payload") },
    ["event_id", "type", "payload"],
  );
  const row = {
    ...{ stream: { type: "string" }, first_sequence: sequence, last_sequence: sequence },
    ...{ envelope: { type: "string", ...textOf("envelope") }, body: { type: ["string", "null"], ...textOf("body") } },
    ...{ body_hash: hash, prev_hash: hash, hash },
  };
  return {
    ...{
      $schema: dialect,
      $id: "ledger-row.json",
      title: `A row of a Countersign ledger, format ${turnSchemaVersion}`,
    },
    ...strict(row, Object.keys(row)),
    $defs: {
      envelope: strict({ v: { const: turnSchemaVersion }, stream: { type: "string" }, ...shared, ...place }, named),
      body: strict({ ...body.properties, events: { type: "array", items: { $ref: "#/$defs/event" } } }, ["events"]),
      event: { ...event, allOf: payloadRules("type", payloads) },
      ...Object.fromEntries(payloads),
      ...definitions,
    },
  };
}

function makeEventSchema(types: LedgerTypes): Schema {
  const { payloads, definitions } = types.read("read");
  return {
    ...readEvent,
    ...{ $schema: dialect, $id: "ledger-event.json", title: "An event of a Countersign ledger, as readers see it" },
    allOf: payloadRules("event_type", payloads),
    $defs: { ...Object.fromEntries(payloads), ...definitions },
  };
}

const makeEvidenceSchema = (): Schema => ({
  ...z.toJSONSchema(EvidenceLine),
  ...{ $id: "export-evidence.json", title: "A line of an export that is no row" },
});

/**
 * Returns the text of a schema: one line for each definition, and one for each member beside them. Blanks would weigh.
 */
export function printSchema(schema: Schema): string {
  const lines = (members: object): string =>
    Object.entries(members)
      .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
      .join(",\n");
  const { $defs, ...members } = schema;
  const definitions = $defs === undefined ? "" : `,\n"$defs":{\n${lines($defs as object)}\n}`;
  return `{\n${lines(members)}${definitions}\n}\n`;
}

/** Returns the schemas by the names of their files. */
export function makeSchemas(): Readonly<Record<string, Schema>> {
  const types = new LedgerTypes();
  return {
    "ledger-row.json": makeRowSchema(types),
    "ledger-event.json": makeEventSchema(types),
    "export-evidence.json": makeEvidenceSchema(),
  };
}

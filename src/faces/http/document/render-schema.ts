/**
 * A JSON Schema as people read it: close to TypeScript's notation, with links to the schemas that it names.
 */
import { html } from "hono/html";
import type { JsonObject } from "../../../contract/json.ts";
import type { Html } from "../plain-page.ts";

const isSchema = (value: unknown): value is JsonObject => typeof value === "object" && value !== null;
const listOf = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isSchema) : []);

/** Renders a schema. `depth`: the indentation of the text. */
export function renderSchema(schema: unknown, depth = 0): Html {
  if (!isSchema(schema)) return html`${schema === false ? "never" : "any"}`;
  const { $ref, type, anyOf, oneOf, enum: values } = schema;
  if (typeof $ref === "string") return linkTo($ref);
  if ("const" in schema) return html`${JSON.stringify(schema["const"])}`;
  if (Array.isArray(values)) return joinAll(values.map((value) => html`${JSON.stringify(value)}`));
  const union = [...listOf(anyOf), ...listOf(oneOf)];
  if (union.length > 0) return joinAll(union.map((one) => renderSchema(one, depth)));
  if (type === "array") return html`Array&lt;${renderSchema(schema["items"], depth)}&gt;`;
  if (type === "object") return renderObject(schema, depth);
  return renderPlain(schema);
}

function linkTo(ref: string): Html {
  const name = ref.split("/").at(-1) ?? "";
  return html`<a href="#schema-${name}">${name}</a>`;
}

const joinAll = (parts: readonly Html[]): Html =>
  parts.reduce((all, part, at) => (at === 0 ? part : html`${all} | ${part}`), html``);

function renderObject({ properties, additionalProperties, required }: JsonObject, depth: number): Html {
  const known = isSchema(properties) ? Object.entries(properties) : [];
  if (known.length === 0)
    return isSchema(additionalProperties)
      ? html`{ [name]: ${renderSchema(additionalProperties, depth)} }`
      : html`object`;
  const needed = new Set(Array.isArray(required) ? required : []);
  const indent = "  ".repeat(depth + 1);
  const lines = known.map(
    ([name, schema]) => html`${indent}${name}${needed.has(name) ? "" : "?"}: ${renderSchema(schema, depth + 1)}
`,
  );
  return html`{
${lines}${"  ".repeat(depth)}}`;
}

const shown = ["format", "pattern", "minimum", "maximum", "minLength", "maxLength", "default"] as const;
const isPlainLimit = (value: unknown): boolean => Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER;

function renderPlain(schema: JsonObject): Html {
  const notes = shown.flatMap((key) =>
    schema[key] === undefined || isPlainLimit(schema[key]) ? [] : [`${key} ${JSON.stringify(schema[key])}`],
  );
  const type = typeof schema["type"] === "string" ? schema["type"] : "any";
  return notes.length === 0 ? html`${type}` : html`${type} <i>${notes.join(", ")}</i>`;
}

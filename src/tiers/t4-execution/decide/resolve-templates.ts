/**
 * Param templates: `{{step_1.output}}`, `{{step_1.output.field.sub}}`, alone or inside text (seed 002 section 4.2, A-45).
 *
 * Owns: the grammar. Never: evaluates anything.
 * P1  Only own data properties and array indices of plain outputs are followed: no getter, no prototype, no call.
 * P2  A param that is wholly one reference takes the value with its type; inside text, objects become JSON.
 * P3  What cannot be resolved stays as it was written.
 */
import { type Json, type JsonObject, toJson } from "../../../contract/json.ts";

const reference = /\{\{\s*([A-Za-z0-9_-]+)\.output((?:\.[A-Za-z0-9_-]+)*)\s*\}\}/g;
const whole = /^\{\{\s*([A-Za-z0-9_-]+)\.output((?:\.[A-Za-z0-9_-]+)*)\s*\}\}$/;
const anyTemplate = /\{\{[^{}]*\}\}/g;

export interface Resolved {
  readonly value: Json;
  /** Templates left as they were, in order of appearance. */
  readonly unresolved: readonly string[];
}

/** Resolves params against step outputs; see P1 to P3. */
export function resolveTemplates(
  params: unknown,
  outputs: ReadonlyMap<string, unknown> | Readonly<Record<string, unknown>>,
): Json {
  return resolveParams(params, outputs).value;
}

export function resolveParams(
  params: unknown,
  outputs: ReadonlyMap<string, unknown> | Readonly<Record<string, unknown>>,
): Resolved {
  const unresolved: string[] = [];
  const find = (stepId: string, path: string): unknown => follow(outputOf(outputs, stepId), path);
  const value = visit(params, (text) => resolveText(text, find, unresolved));
  return { value, unresolved };
}

const missing = Symbol("missing");

function outputOf(outputs: ReadonlyMap<string, unknown> | Readonly<Record<string, unknown>>, stepId: string): unknown {
  if (outputs instanceof Map) return outputs.has(stepId) ? outputs.get(stepId) : missing;
  return ownValue(outputs, stepId);
}

/** The value of an own data property; accessors are not invoked. */
function ownValue(holder: unknown, key: string): unknown {
  if (typeof holder !== "object" || holder === null || key === "__proto__") return missing;
  if (Array.isArray(holder) && !/^\d+$/.test(key)) return missing;
  const property = Object.getOwnPropertyDescriptor(holder, key);
  return property === undefined || !("value" in property) ? missing : property.value;
}

function follow(start: unknown, path: string): unknown {
  return path === ""
    ? start
    : path
        .slice(1)
        .split(".")
        .reduce((at, key) => (at === missing ? missing : ownValue(at, key)), start);
}

function visit(value: unknown, onText: (text: string) => Json): Json {
  if (typeof value === "string") return onText(value);
  if (Array.isArray(value)) return value.map((item) => visit(item, onText));
  if (typeof value !== "object" || value === null) return (value ?? null) as Json;
  return Object.fromEntries(Object.entries(value as JsonObject).map(([key, member]) => [key, visit(member, onText)]));
}

function resolveText(text: string, find: (stepId: string, path: string) => unknown, unresolved: string[]): Json {
  if (!text.includes("{{")) return text;
  const alone = whole.exec(text);
  if (alone !== null) {
    const value = find(alone[1] as string, alone[2] as string);
    if (value !== missing) return plain(value);
  }
  const rendered = text.replace(reference, (written, stepId: string, path: string) => {
    const value = find(stepId, path);
    return value === missing ? written : render(value);
  });
  unresolved.push(...(rendered.match(anyTemplate) ?? []));
  return rendered;
}

/** Plain data passes by reference; a model object takes its serialised form. */
function plain(value: unknown): Json {
  return typeof value === "object" && value !== null && typeof (value as { toJSON?: unknown }).toJSON === "function"
    ? toJson(value)
    : (value as Json);
}

function render(value: unknown): string {
  if (typeof value === "string") return value;
  return JSON.stringify(typeof value === "object" && value !== null ? toJson(value) : (value ?? null));
}

/** Rewrites references from one step id to another, as a regenerated plan needs. */
export function renameReferences(params: unknown, renamed: ReadonlyMap<string, string>): Json {
  return visit(params, (text) =>
    text.replace(reference, (written, stepId: string) => written.replace(stepId, renamed.get(stepId) ?? stepId)),
  );
}

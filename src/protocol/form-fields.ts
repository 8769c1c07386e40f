/**
 * The fields of a question's form as every face shows and fills them. A page in a browser loads this file: it loads no
 * schema, and the kernel alone says whether an answer follows its form.
 *
 * 1.  A field that is no text, number, choice or yes and no is filled with JSON.
 */
import type { AnswerForm, FormField } from "../contract/answer-form.ts";
import type { Gate } from "../contract/gate.ts";
import type { Json, JsonObject } from "../contract/json.ts";

/** One member of an answer, as a person fills it. */
export interface ShownField {
  /** The name of the member. */
  readonly name: string;
  /** The label: its title, or its name. */
  readonly label: string;
  /** The way in which it is filled. */
  readonly kind: "text" | "number" | "boolean" | "choice" | "json";
  /** Whether an answer must have it; one with a default need not be given. */
  readonly isRequired: boolean;
  /** The values that fit, in words: `a whole number, 1 to 1000`. */
  readonly says: string;
  readonly field: FormField;
}

/** Returns the form that a gate shows; null if it asks no question. */
export function formOfGate({ kind, payload }: Pick<Gate, "kind" | "payload">): AnswerForm | null {
  if (kind !== "ask" || payload === null) return null;
  return (payload as unknown as { readonly form: AnswerForm }).form;
}

const plainTypes: readonly unknown[] = ["string", "number", "integer", "boolean"];
const isPlain = (field: Json | undefined): boolean => plainTypes.includes((field as JsonObject | undefined)?.["type"]);
const isField = (field: Json): boolean => isPlain(field) || isPlainList(field as JsonObject);
const isPlainList = ({ type, items }: JsonObject): boolean => type === "array" && isPlain(items as Json | undefined);

/**
 * Returns a JSON Schema as a form, if it is an object whose members are texts, numbers, choices, yes and no, or lists;
 * null for any other, whose values are typed as JSON.
 */
export function formOfSchema(schema: JsonObject | null | undefined): AnswerForm | null {
  const { type, properties } = (schema ?? {}) as { readonly type?: Json; readonly properties?: JsonObject };
  const fields = Object.values(properties ?? {}) as readonly Json[];
  if (type !== "object" || fields.length === 0) return null;
  return fields.every(isField) ? (schema as unknown as AnswerForm) : null;
}

/** Returns the fields of a form, in its order. */
export function fieldsOf({ properties, required = [] }: AnswerForm): readonly ShownField[] {
  return Object.entries(properties).map(([name, field]) => ({
    name,
    label: field.title ?? name,
    kind: kindOf(field),
    isRequired: required.includes(name) && defaultOf(field) === undefined,
    says: describeField(field),
    field,
  }));
}

/** Returns the value that stands for a member that is left out; undefined if there is none. */
export const defaultOf = (field: FormField): Json | undefined =>
  field.type === "object" ? undefined : (field.default as Json | undefined);

function kindOf(field: FormField): ShownField["kind"] {
  if ("enum" in field && field.enum !== undefined) return "choice";
  if (field.type === "string") return "text";
  if (field.type === "boolean") return "boolean";
  return field.type === "number" || field.type === "integer" ? "number" : "json";
}

const nouns = { string: "a text", number: "a number", integer: "a whole number", boolean: "yes or no" } as const;
const formats = {
  date: "a date such as 2026-12-31",
  "date-time": "an instant such as 2026-12-31T12:00:00Z",
  email: "an address of e-mail",
  uri: "a URL",
  uuid: "a UUID",
} as const;

/** Says what fits a field. */
function describeField(field: FormField): string {
  switch (field.type) {
    case "array":
      return `a list, as JSON${range(field.minItems, field.maxItems, " items")}, of ${describeField(field.items)}`;
    case "object":
      return `an object, as JSON: ${fieldsOf(field)
        .map(({ name, says, isRequired }) => `${name} (${says}${isRequired ? "" : ", optional"})`)
        .join("; ")}`;
    case "boolean":
      return nouns.boolean;
    case "string": {
      if (field.enum !== undefined) return `one of ${field.enum.map((one) => JSON.stringify(one)).join(", ")}`;
      const noun = field.format === undefined ? nouns.string : formats[field.format];
      return `${noun}${range(field.minLength, field.maxLength, " characters")}`;
    }
    default: {
      if (field.enum !== undefined) return `one of ${field.enum.join(", ")}`;
      const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = field;
      const bounds = [
        ...(above === undefined ? [] : [`above ${above}`]),
        ...(below === undefined ? [] : [`below ${below}`]),
        ...(multipleOf === undefined ? [] : [`a multiple of ${multipleOf}`]),
      ];
      return [`${nouns[field.type]}${range(minimum, maximum)}`, ...bounds].join(", ");
    }
  }
}

const furthest = Number.MAX_SAFE_INTEGER;

function range(from: number | undefined, to: number | undefined, of = ""): string {
  const [least, most] = [from === -furthest ? undefined : from, to === furthest ? undefined : to];
  if (least === undefined && most === undefined) return "";
  if (least === undefined) return `, ${most}${of} at most`;
  return most === undefined ? `, ${least}${of} at least` : `, ${least} to ${most}${of}`;
}

/** Returns one line on a field: `limit: a whole number, 1 to 1000, required. What may be spent.` */
export function describeShown({ name, label, says, isRequired, field }: ShownField): string {
  const given = defaultOf(field);
  const stands = given === undefined ? (isRequired ? "required" : "optional") : `${JSON.stringify(given)} by default`;
  const about = field.description === undefined ? "" : `. ${field.description}`;
  return `${label === name ? "" : `${label}, `}${says}, ${stands}${about}`;
}

/** The value that a person typed for a field, undefined for none; or the problem with the text. */
export type TypedField = { readonly value: Json | undefined } | { readonly problem: string };

/** Reads what a person typed. An empty text leaves the member out. Whether the value fits, the kernel says. */
export function readTyped({ kind, label, field }: ShownField, typed: string): TypedField {
  const text = typed.trim();
  if (text === "") return { value: undefined };
  if (kind === "text") return { value: typed };
  if (kind === "choice") {
    const choices: readonly Json[] = "enum" in field ? (field.enum ?? []) : [];
    const found = choices.find((one) => String(one) === text);
    return found === undefined ? { problem: `${label} is ${describeField(field)}` } : { value: found };
  }
  if (kind === "boolean") {
    const word = text.toLowerCase();
    if (["y", "yes", "true"].includes(word)) return { value: true };
    return ["n", "no", "false"].includes(word) ? { value: false } : { problem: `${label} is yes or no` };
  }
  if (kind === "number") {
    const number = Number(text);
    return Number.isFinite(number) ? { value: number } : { problem: `${label} is ${describeField(field)}` };
  }
  try {
    return { value: JSON.parse(text) as Json };
  } catch {
    return { problem: `${label} is no JSON` };
  }
}

/** Returns an answer of these members; those without a value are left out. */
export const answerOf = (members: readonly (readonly [string, Json | undefined])[]): JsonObject =>
  Object.fromEntries(members.filter(([, value]) => value !== undefined));

/** Returns the payload that a face lists field by field: of a question without its form, which is shown as fields. */
export function listedPayload({ kind, payload }: Pick<Gate, "kind" | "payload">): Json {
  if (kind !== "ask" || typeof payload !== "object" || payload === null || Array.isArray(payload)) return payload;
  const { form: _form, ...rest } = payload as Readonly<Record<string, Json>>;
  return rest;
}

/**
 * The form of a question to people: the answer that a step of kind `ask` takes, as a small part of JSON Schema.
 *
 * Owns: which keywords a form may have, and the reading of an answer. Never: asks anybody.
 * 1.  A keyword that is not listed here is refused when the plan is compiled: nothing of a form is ignored.
 * 2.  An answer has the members of the form and no others, in the order of the form; a default stands in for a member
 *     that is left out. Two equal answers are therefore equal as text.
 */
import { z } from "zod";
import type { Json, JsonObject } from "./json.ts";

/** The formats of texts. */
export const formFormats = ["date", "date-time", "email", "uri", "uuid"] as const;

interface About {
  /** The label of the field; the name of the member by default. */
  readonly title?: string | undefined;
  /** The meaning of the field, for people. */
  readonly description?: string | undefined;
}

/** A field for a text, or for one of a list of texts. */
export interface TextField extends About {
  readonly type: "string";
  /** The texts of which one is chosen. */
  readonly enum?: readonly string[] | undefined;
  /** The form of the text. */
  readonly format?: (typeof formFormats)[number] | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  /** The text where none is given. */
  readonly default?: string | undefined;
}

/** A field for a number. */
export interface NumberField extends About {
  readonly type: "number" | "integer";
  /** The numbers of which one is chosen. */
  readonly enum?: readonly number[] | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly exclusiveMinimum?: number | undefined;
  readonly exclusiveMaximum?: number | undefined;
  readonly multipleOf?: number | undefined;
  /** The number where none is given. */
  readonly default?: number | undefined;
}

/** A field for yes or no. */
export interface BooleanField extends About {
  readonly type: "boolean";
  /** The answer where none is given. */
  readonly default?: boolean | undefined;
}

/** A field for a list. */
export interface ListField extends About {
  readonly type: "array";
  /** The field of each item. */
  readonly items: FormField;
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  /** Whether no two items may be equal. */
  readonly uniqueItems?: boolean | undefined;
  /** The list where none is given. */
  readonly default?: readonly Json[] | undefined;
}

/** A field with members of its own. A whole form is one. */
export interface AnswerForm extends About {
  readonly type: "object";
  /** The fields, by the name of their member of the answer. */
  readonly properties: Readonly<Record<string, FormField>>;
  /** The members that an answer must have. */
  readonly required?: readonly string[] | undefined;
  /** An answer never has other members; to say so is allowed. */
  readonly additionalProperties?: false | undefined;
}

/** One field of a form. */
export type FormField = TextField | NumberField | BooleanField | ListField | AnswerForm;

const maxDepth = 5;
const maxFields = 64;
const maxItems = 1_000;
const maxText = 65_536;

const about = { title: z.string().max(200).optional(), description: z.string().max(2_000).optional() };
const Length = z.int().min(0).max(maxText).optional();
const Items = z.int().min(0).max(maxItems).optional();
const Name = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/, "the name of a member is made of letters, digits, _ and -");
const choice = <T extends z.ZodType>(of: T) => z.array(of).min(1).max(500).optional();

const text = z.strictObject({
  type: z.literal("string"),
  ...about,
  enum: choice(z.string().max(1_000)),
  format: z.enum(formFormats).optional(),
  minLength: Length,
  maxLength: Length,
  default: z.string().optional(),
});
const number = z.strictObject({
  type: z.enum(["number", "integer"]),
  ...about,
  enum: choice(z.number()),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  exclusiveMinimum: z.number().optional(),
  exclusiveMaximum: z.number().optional(),
  multipleOf: z.number().positive().optional(),
  default: z.number().optional(),
});
const boolean = z.strictObject({ type: z.literal("boolean"), ...about, default: z.boolean().optional() });
const inner: z.ZodType<FormField> = z.lazy(() => FormField);
const list = z.strictObject({
  type: z.literal("array"),
  ...about,
  items: inner,
  minItems: Items,
  maxItems: Items,
  uniqueItems: z.boolean().optional(),
  default: z.array(z.json()).optional(),
});
const object = z.strictObject({
  type: z.literal("object"),
  ...about,
  properties: z.record(Name, inner),
  required: z.array(z.string()).optional(),
  additionalProperties: z.literal(false).optional(),
});

const FormField = z.discriminatedUnion("type", [
  text,
  number,
  boolean,
  list,
  object,
]) as unknown as z.ZodType<FormField>;

const fieldsIn = (field: FormField): readonly FormField[] =>
  field.type === "array" ? [field.items] : field.type === "object" ? Object.values(field.properties) : [];

const depthOf = (field: FormField): number => 1 + Math.max(0, ...fieldsIn(field).map(depthOf));
const countOf = (field: FormField): number => 1 + fieldsIn(field).reduce((sum, one) => sum + countOf(one), 0);

/** Returns what is wrong with a form beyond its keywords; null if nothing is. */
function whyUnusable(field: FormField): string | null {
  if (field.type === "object") {
    const missing = field.required?.find((name) => !Object.hasOwn(field.properties, name));
    if (missing !== undefined) return `${missing} is required, and no property has that name`;
  } else if (field.type === "array" && field.default === undefined) return whyUnusable(field.items);
  else if (field.default !== undefined) {
    const { success, error } = schemaOf({ ...field, default: undefined } as FormField).safeParse(field.default);
    if (!success) return `the default does not fit its own field: ${error.issues[0]?.message}`;
  }
  return fieldsIn(field).reduce<string | null>((why, one) => why ?? whyUnusable(one), null);
}

/** The form of a question: a JSON Schema of an object, with the keywords that are listed here and no others. */
export const AnswerForm: z.ZodType<AnswerForm> = (object as unknown as z.ZodType<AnswerForm>).superRefine(
  (form, { addIssue }) => {
    if (depthOf(form) > maxDepth) return addIssue(`a form has at most ${maxDepth} levels`);
    if (countOf(form) > maxFields) return addIssue(`a form has at most ${maxFields} fields`);
    if (Object.keys(form.properties).length === 0) return addIssue("a form has at least one property");
    const why = whyUnusable(form);
    if (why !== null) addIssue(why);
  },
);

/** Returns the schema of a field's value. */
function schemaOf(field: FormField): z.ZodType {
  const schema = plainSchemaOf(field);
  const given = field.type === "object" ? undefined : field.default;
  return given === undefined ? schema : schema.default(given as never);
}

function plainSchemaOf(field: FormField): z.ZodType {
  switch (field.type) {
    case "string":
      return textOf(field);
    case "number":
    case "integer":
      return numberOf(field);
    case "boolean":
      return z.boolean();
    case "array": {
      const items = z
        .array(schemaOf(field.items))
        .min(field.minItems ?? 0)
        .max(field.maxItems ?? maxItems);
      return field.uniqueItems === true ? items.refine(isUnique, "two items are equal") : items;
    }
    default: {
      const members = Object.entries(field.properties).map(([name, one]) => {
        const schema = schemaOf(one);
        return [name, field.required?.includes(name) === true || hasDefault(one) ? schema : schema.optional()] as const;
      });
      return z.strictObject(Object.fromEntries(members));
    }
  }
}

const hasDefault = (field: FormField): boolean => field.type !== "object" && field.default !== undefined;

const isUnique = (items: readonly unknown[]): boolean =>
  new Set(items.map((one) => JSON.stringify(one))).size === items.length;

const formats = {
  date: () => z.iso.date(),
  "date-time": () => z.iso.datetime({ offset: true }),
  email: () => z.email(),
  uri: () => z.url(),
  uuid: () => z.uuid(),
} as const;

function textOf({ enum: choices, format, minLength = 0, maxLength = maxText }: TextField): z.ZodType {
  if (choices !== undefined) return z.enum(choices as [string, ...string[]]);
  const schema: z.ZodString = (format === undefined ? z.string() : formats[format]()) as z.ZodString;
  return schema.min(minLength).max(maxLength);
}

function numberOf(field: NumberField): z.ZodType {
  if (field.enum !== undefined) return z.literal([...field.enum]);
  let schema: z.ZodNumber = field.type === "integer" ? z.int() : z.number();
  if (field.minimum !== undefined) schema = schema.min(field.minimum);
  if (field.maximum !== undefined) schema = schema.max(field.maximum);
  if (field.exclusiveMinimum !== undefined) schema = schema.gt(field.exclusiveMinimum);
  if (field.exclusiveMaximum !== undefined) schema = schema.lt(field.exclusiveMaximum);
  return field.multipleOf === undefined ? schema : schema.multipleOf(field.multipleOf);
}

/** The answer as the form reads it, or the issues of one that does not follow the form. */
export type FormReading =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly error: z.ZodError };

/** Reads an answer by its form. Never throws. */
export function readAnswer(form: AnswerForm, answer: unknown): FormReading {
  const { data, error } = schemaOf(form).safeParse(answer);
  return error === undefined ? { ok: true, value: data as JsonObject } : { ok: false, error };
}

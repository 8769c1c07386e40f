/**
 * The shape and the types of schemas of other libraries that follow Standard Schema. `to-zod.ts` makes zod schemas of
 * them.
 */
import type { z } from "zod";

/** A schema of any library that follows Standard Schema and its JSON Schema part; zod's schemas are such schemas. */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** The members of the standard. */
  readonly "~standard": {
    /** The version of the standard. */
    readonly version: 1;
    /** The name of the library. */
    readonly vendor: string;
    /** Judges a value: the value that the schema makes of it, or what is wrong. */
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    /** The types, for the compiler alone. */
    readonly types?:
      | {
          /** The type of the values that it takes. */
          readonly input: Input;
          /** The type of the values that it gives. */
          readonly output: Output;
        }
      | undefined;
    /** Makes the JSON Schemas; a schema without it is refused. */
    readonly jsonSchema?: {
      /** Makes that of the values that it takes. */
      readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
      /** Makes that of the values that it gives. */
      readonly output: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
    };
  };
}

/** The judgement of a value: the value that the schema makes of it, or the issues. */
export type StandardResult<Output> =
  | {
      /** The value that the schema makes. */
      readonly value: Output;
      /** Absent: nothing is wrong. */
      readonly issues?: undefined;
    }
  | {
      /** The problems. */
      readonly issues: readonly StandardIssue[];
    };

/** One thing that is wrong with a value. */
export interface StandardIssue {
  /** The problem, in words. */
  readonly message: string;
  /** The place of the value. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The type of the values that a schema takes. */
export type SchemaInput<S extends StandardSchema> = S extends z.ZodType
  ? z.input<S>
  : NonNullable<S["~standard"]["types"]>["input"];

/** The type of the values that a schema gives. */
export type SchemaOutput<S extends StandardSchema> = S extends z.ZodType
  ? z.output<S>
  : NonNullable<S["~standard"]["types"]>["output"];

/** The zod schema that stands for a schema: itself, if it is one of zod. */
export type ZodOf<S extends StandardSchema> = S extends z.ZodType ? S : z.ZodType<SchemaOutput<S>, SchemaInput<S>>;

/** The zod schemas that stand for schemas, by their names. */
export type ZodsOf<Named extends Readonly<Record<string, StandardSchema>>> = {
  readonly [T in keyof Named]: ZodOf<Named[T]>;
};

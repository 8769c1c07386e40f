// A tool's JSON Schemas as the zod schemas of its operator, judged by the validator of the protocol's own SDK.
// Owns: one validator for one listing, so that what a server calls a schema never meets another server's.
// Never: changes a value: no defaults are put in, nothing is taken out. Follows no reference out of the schema.
// INV-1  A schema that cannot be compiled throws here, where the tool is defined, and not when it is called.

import type { JsonSchemaType } from "@modelcontextprotocol/client";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import { z } from "zod";
import { isPlainObject } from "../../contract/json.ts";

export interface SchemaReader {
  readonly input: (schema: unknown) => z.ZodType;
  /** Of a step's data: the structured content, by itself or beside the files and the text that came with it. */
  readonly output: (schema: unknown) => z.ZodType;
}

type Check = (value: unknown) => string | null;

export function createSchemaReader(): SchemaReader {
  const ajv = new AjvJsonSchemaValidator();
  const compile = (schema: unknown): Check => {
    const validate = ajv.getValidator(schema as JsonSchemaType);
    return (value) => {
      const verdict = validate(value);
      return verdict.valid ? null : verdict.errorMessage;
    };
  };
  return {
    input: (schema) => asZod(compile(schema)),
    output: (schema) => asZod(beside(compile(schema))),
  };
}

const beside =
  (check: Check): Check =>
  (value) => {
    const problem = check(value);
    const mixed = problem !== null && isPlainObject(value) && "files" in value && "data" in value;
    return mixed ? check(value["data"]) : problem;
  };

const asZod = (check: Check): z.ZodType =>
  z.unknown().superRefine((value, context) => {
    const problem = check(value);
    if (problem !== null) context.addIssue({ code: "custom", message: problem });
  });

/**
 * The JSON Schemas of a tool as the zod schemas of its operator. The schemas come from a foreign server.
 *
 * Owns: the compilation of a schema, the judgement of a value, and the time that each may take. Never: changes a value
 * (no defaults are set, nothing is removed), follows a reference out of the schema.
 * 1.  A schema that cannot be compiled, or that has a keyword this reader does not know, throws where the tool is
 *     defined. Keywords that begin with `x-` are annotations, as JSON Schema reserves them for; so are a few of
 *     OpenAPI.
 * 2.  Compilation and judgement stop after `schemaTimeoutMs` of the processor: patterns that backtrack, `uniqueItems`,
 *     `enum` and references can cost more than any size limit bounds. A value whose judgement was stopped is refused.
 * 3.  Each schema has a validator of its own, so that an `$id` never meets the schema of another tool.
 */
import { addFormats } from "@modelcontextprotocol/client/validators/ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { Ajv, type Options } from "ajv/dist/ajv.js";
import { z } from "zod";
import { isPlainObject } from "../../../contract/json.ts";
import { runWithin, stopped } from "../../../define/run-within.ts";
import type { McpClientLimits } from "./mcp-limits.ts";

export interface SchemaReader {
  readonly input: (schema: unknown) => z.ZodType;
  /**
   * Judges the data of a step: the structured content, by itself or beside the files and the text that came with it.
   */
  readonly output: (schema: unknown) => z.ZodType;
}

/** Returns what is wrong with a value, or null. */
type Check = (value: unknown) => string | null;

export function createSchemaReader({ schemaTimeoutMs }: Pick<McpClientLimits, "schemaTimeoutMs">): SchemaReader {
  const compile = (schema: unknown): Check => {
    const check = runWithin(schemaTimeoutMs, () => compileSchema(schema));
    if (check === stopped) throw new Error(`the schema cannot be compiled within ${describeLimit(schemaTimeoutMs)}`);
    return (value) => {
      const problem = runWithin(schemaTimeoutMs, () => check(value));
      return problem === stopped ? `cannot be judged within ${describeLimit(schemaTimeoutMs)}` : problem;
    };
  };
  return {
    input: (schema) => asZod(compile(schema)),
    output: (schema) => asZod(beside(compile(schema))),
  };
}

const describeLimit = (ms: number): string => `limits.schemaTimeoutMs = ${ms}`;

/** Keywords of OpenAPI that generators of schemas emit; they describe a value to people and restrict nothing. */
const annotations = ["discriminator", "example", "externalDocs", "xml"];

const options: Options = {
  // The first problem is enough: a hostile value can have millions, and each would be an object.
  allErrors: false,
  allowMatchingProperties: true,
  inlineRefs: false,
  logger: false,
  meta: false,
  strictNumbers: true,
  strictRequired: false,
  strictSchema: true,
  strictTuples: false,
  strictTypes: false,
  validateSchema: false,
};

/** Compiles a schema. @throws Error if the schema cannot be compiled. */
function compileSchema(schema: unknown): Check {
  const ajv = new (validatorFor(schema))(options);
  // `$async` makes a validator answer with a promise: as an unknown keyword it is refused wherever it stands.
  ajv.removeKeyword("$async");
  addFormats(ajv as never);
  for (const keyword of annotations) ajv.addKeyword(keyword);
  visitMembers(schema, (key, value) => {
    if (key.startsWith("x-") && ajv.getKeyword(key) === false) ajv.addKeyword(key);
    if (key === "format" && typeof value === "string" && !Object.hasOwn(ajv.formats, value)) ajv.addFormat(value, true);
  });
  const validate = ajv.compile(schema as object);
  return (value) => {
    const verdict: unknown = validate(value);
    if (typeof verdict !== "boolean") throw new TypeError("the schema's validator gave no verdict");
    return verdict ? null : ajv.errorsText(validate.errors);
  };
}

const dialects: readonly (readonly [RegExp, typeof Ajv | typeof Ajv2019 | typeof Ajv2020])[] = [
  [/^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/, Ajv2020],
  [/^https?:\/\/json-schema\.org\/draft\/2019-09\/schema#?$/, Ajv2019],
  [/^https?:\/\/json-schema\.org\/draft-0[67]\/schema#?$/, Ajv],
];

/**
 * Returns the class for the dialect that a schema declares, 2020-12 if it declares none. @throws Error if it is
 * unknown.
 */
function validatorFor(schema: unknown): typeof Ajv | typeof Ajv2019 | typeof Ajv2020 {
  const declared = isPlainObject(schema) ? schema["$schema"] : undefined;
  if (declared === undefined) return Ajv2020;
  const [, validator] = dialects.find(([uri]) => typeof declared === "string" && uri.test(declared)) ?? [];
  if (validator === undefined) throw new Error(`the schema's dialect is unknown: ${JSON.stringify(declared)}`);
  return validator;
}

function visitMembers(value: unknown, visit: (key: string, value: unknown) => void): void {
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const one = waiting.pop();
    if (typeof one !== "object" || one === null) continue;
    for (const [key, member] of Object.entries(one)) {
      if (!Array.isArray(one)) visit(key, member);
      waiting.push(member);
    }
  }
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

/** Schemas that a host brings: those that no JSON satisfies, and those of other libraries, are refused when defined. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import * as zod3 from "zod/v3";
import { defineCapability, defineOperator, defineTool } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";

const paidFor: unknown[] = [];
const operatorOf = (input: z.ZodType) =>
  defineOperator({ name: "Shop.Pay", input, run: ({ input: paid }) => ({ count: paidFor.push(paid) }) });

const capabilityOf = (input: z.ZodType, outcomes: Record<string, z.ZodType> = {}) =>
  defineCapability({
    intentType: "Shop.Do",
    version: "1.0",
    input,
    outcomes,
    operators: [operatorOf(z.unknown())],
    plan: ({ input: params }) => ({
      reasoning: "Pay.",
      steps: [{ step_id: "pay", name: "Pay", operator: "Shop.Pay", params: params as Record<string, unknown> }],
    }),
  });

const client = { request: async () => ({}) } as unknown as Parameters<typeof defineTool>[0]["client"];
const places: readonly (readonly [string, (schema: z.ZodType) => unknown, RegExp])[] = [
  ["the input of an operator", operatorOf, /^T0_VALIDATION_SCHEMA_MISMATCH: operator Shop\.Pay: input\.due: /],
  ["the input of a capability", capabilityOf, /^T0_VALIDATION_SCHEMA_MISMATCH: capability .*input\.due: /],
  ["an outcome", (schema) => capabilityOf(z.object({}), { Bill: schema }), /outcomes\.Bill\.due: /],
  ["the input of a tool", (input) => defineTool({ name: "Shop.Tool", tool: "t", client, input }), /input\.due: /],
];

/** A date of which the schema is at `due`, each in a way of its own. */
const unsuppliable: readonly (readonly [string, z.ZodType, RegExp])[] = [
  ["a date", z.date(), /due: z\.date\(\) .*z\.iso\.datetime\(\)/],
  ["an optional date", z.date().optional(), /due: z\.date\(\)/],
  ["a date with a default", z.date().default(new Date(0)), /due: z\.date\(\)/],
  ["a nullable date", z.date().nullable(), /due: z\.date\(\)/],
  ["a date that is made text", z.date().transform((date) => date.toISOString()), /due: z\.date\(\)/],
  ["a list of dates", z.array(z.date()), /due\.\*: z\.date\(\)/],
  ["a record of dates", z.record(z.string(), z.date()), /due\.\*: z\.date\(\)/],
  ["a date in an object", z.object({ on: z.date() }), /due\.on: z\.date\(\)/],
  ["a tuple with a date", z.tuple([z.string(), z.date()]), /due\.1: z\.date\(\)/],
  ["a choice of a date or a bigint", z.union([z.date(), z.bigint()]), /due: z\.date\(\).*due: z\.bigint\(\)/],
  ["a date behind a lazy schema", z.lazy(() => z.date()), /due: z\.date\(\)/],
  ["a bigint", z.bigint(), /z\.bigint\(\) .*z\.string\(\)/],
  ["a map", z.map(z.string(), z.string()), /z\.record\(\)/],
  ["a set", z.set(z.string()), /z\.array\(\)/],
  ["a symbol", z.symbol(), /z\.string\(\)/],
  ["NaN", z.nan(), /z\.null\(\)/],
  ["a file", z.file(), /z\.string\(\)/],
];

interface Tree {
  readonly below: readonly Tree[];
}
const tree: z.ZodType<Tree> = z.object({ below: z.array(z.lazy(() => tree)) });

const suppliable: readonly (readonly [string, z.ZodType, unknown, unknown])[] = [
  ["ISO text", z.iso.datetime(), "2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"],
  ["text or a date", z.union([z.string(), z.date()]), "soon", "soon"],
  ["a schema that holds itself", tree, { below: [{ below: [] }] }, { below: [{ below: [] }] }],
];

describe("a schema that no JSON satisfies", () => {
  it.each(places)("is refused when it is %s, with what to write", (_place, define, told) => {
    expect(() => define(z.object({ due: z.date() }))).toThrow(told);
    expect(() => define(z.object({ due: z.date() }))).toThrow(/write z\.iso\.datetime\(\)/);
  });

  it.each(unsuppliable)("is found where it is %s", (_what, due, told) => {
    expect(() => operatorOf(z.object({ due }))).toThrow(told);
  });

  it.each(suppliable)("is not %s, which runs", async (_what, due, given, paid) => {
    paidFor.length = 0;
    await using t = await createTestKernel({ capabilities: [capabilityOf(z.object({ due }))] });
    expect((await t.run("Shop.Do", { due: given })).state).toBe("completed");
    expect(paidFor).toEqual([{ due: paid }]);
  });

  it("may be what an operator gives: the ledger keeps its JSON", async () => {
    const give = defineOperator({
      name: "Shop.Now",
      input: z.object({}),
      output: z.object({ at: z.date() }),
      run: () => ({ at: new Date(0) }),
    });
    expect(give.metadata.name).toBe("Shop.Now");
  });
});

describe("a schema without a JSON Schema, or of another zod", () => {
  const standard = (vendor: string) => ({
    "~standard": { version: 1, vendor, validate: (value: unknown) => ({ value }) },
  });
  const arktype = Object.assign(() => undefined, standard("arktype"));
  it.each<readonly [string, unknown, RegExp]>([
    [
      "valibot",
      standard("valibot"),
      /input: this schema of valibot gives no JSON Schema .*: wrap it with toStandardJsonSchema/,
    ],
    ["ArkType, whose schemas are functions", arktype, /input: this schema of arktype gives no JSON Schema .*: wrap it/],
    ["zod 3", zod3.z.object({}), /input: must be a schema of zod 4/],
    ["zod/mini", mini.object({}), /input: must be a schema of zod 4/],
    ["nobody", { parse: () => 1 }, /input: must be a schema: of zod, or/],
  ])("of %s is refused wherever a schema is taken, with what to do", (_library, schema, told) => {
    const foreign = schema as z.ZodType;
    expect(() => operatorOf(foreign)).toThrow(told);
    expect(() => capabilityOf(foreign)).toThrow(told);
    expect(() => capabilityOf(z.object({}), { Bill: foreign })).toThrow(/outcomes\.Bill: (must be a|this) schema/);
    expect(() => defineOperator({ name: "A.B", input: z.object({}), output: foreign, run: () => null })).toThrow(
      /output: (must be a|this) schema/,
    );
  });
});

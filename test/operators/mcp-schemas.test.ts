// Foreign JSON Schemas: what a tool's server may say of its arguments and results, and what it costs to judge them.
// Laws: no schema ends or freezes the process, no keyword is passed over in silence, each schema stands by itself.

import type { Tool } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { JsonObject } from "../../src/contract/json.ts";
import { type McpOperatorsOptions, mcpOperators } from "../../src/packages/operators/mcp/mcp-operators.ts";
import { createSchemaReader, type SchemaReader } from "../../src/packages/operators/mcp/tool-schema.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { intentType, planOf, scripted, text, tool } from "./mcp-fixture.ts";

const limits = { limits: { schemaTimeoutMs: 100 } };
const connect = (tools: readonly Tool[], more: Partial<McpOperatorsOptions> = {}) =>
  mcpOperators({ transport: scripted(tools).transport, name: "Bad", effect: "read", ...more });

const properties = (some: JsonObject): Tool["inputSchema"] => ({ type: "object", properties: some as never });

/** A schema whose cost doubles with each level, although it is a few hundred characters long. */
const doubling = (levels: number): Tool["inputSchema"] => {
  const $defs: Record<string, JsonObject> = { d0: { type: "object" } };
  for (let i = 1; i <= levels; i += 1) {
    const $ref = `#/$defs/d${i - 1}`;
    $defs[`d${i}`] = { allOf: [{ $ref }, { $ref }] };
  }
  return { type: "object", $defs, allOf: [{ $ref: `#/$defs/d${levels}` }] } as never;
};

const read = (check: ReturnType<SchemaReader["input"]>, value: unknown): string | undefined =>
  check.safeParse(value).error?.issues[0]?.message;

describe("a schema that an MCP server gives", () => {
  it.each<[string, Tool["inputSchema"]]>([
    ["$async", { $async: true, type: "object" } as never],
    ["$async in a part", properties({ a: { $async: true, type: "string" } })],
    [
      "$async behind a reference",
      { ...properties({ a: { $ref: "#/$defs/a" } }), $defs: { a: { $async: true } } } as never,
    ],
    ["an unknown keyword", properties({ a: { type: "string", maxLenght: 3 } })],
    ["another validator's keyword", properties({ a: { instanceof: "Function" } })],
  ])("is refused at connect for %s, which is named", async (_what, inputSchema) => {
    await using mcp = await connect([tool("bad", { inputSchema }), tool("ok")]);
    expect(mcp.operators.map(({ metadata }) => metadata.name)).toEqual(["Bad.ok"]);
    expect(mcp.leftOut[0]?.reason).toMatch(/\$async|maxLenght|instanceof/);
  });

  it("is refused at connect for $async in its output schema too", async () => {
    const outputSchema = { $async: true, type: "object" } as never;
    await using mcp = await connect([tool("bad", { outputSchema })]);
    expect(mcp.leftOut).toEqual([{ tool: "bad", reason: expect.stringContaining("$async") }]);
  });

  it.each<[string, Tool["inputSchema"]]>([
    ["a property called $async", properties({ $async: { type: "string" } })],
    ["keywords with x-", { ...properties({ a: { type: "string", "x-mcp-header": "A" } }), "x-order": ["a"] } as never],
    ["formats of other languages", properties({ a: { type: "integer", format: "uint32" } })],
    ["words of OpenAPI for people", properties({ a: { type: "string", example: "x", discriminator: {} } })],
    [
      "the words of draft 7",
      { $schema: "http://json-schema.org/draft-07/schema#", definitions: {}, type: "object" } as never,
    ],
    ["the words of 2019-09", { $schema: "https://json-schema.org/draft/2019-09/schema", type: "object" } as never],
  ])("may have %s", async (_what, inputSchema) => {
    await using mcp = await connect([tool("good", { inputSchema })]);
    expect([mcp.leftOut, mcp.operators.length]).toEqual([[], 1]);
  });

  it("stands by itself: another tool of the same server that gives its $id does not replace it", async () => {
    const withId = (type: string) => ({ $id: "https://example.org/x", ...properties({ a: { type } }) }) as never;
    await using mcp = await connect([
      tool("s", { inputSchema: withId("string") }),
      tool("n", { inputSchema: withId("number") }),
    ]);
    expect(mcp.leftOut).toEqual([]);
    expect(mcp.operator("n").input.safeParse({ a: 1 }).success).toBe(true);
    expect(mcp.operator("s").input.safeParse({ a: 1 }).success).toBe(false);
  });

  it("that is asked for its format judges by those that are known", async () => {
    await using mcp = await connect([
      tool("t", { inputSchema: properties({ a: { type: "string", format: "email" } }) }),
    ]);
    const { input } = mcp.operator("t");
    expect([input.safeParse({ a: "a@b.example" }).success, input.safeParse({ a: "nobody" }).success]).toEqual([
      true,
      false,
    ]);
  });
});

describe("judging by a schema", () => {
  const reader = createSchemaReader({ schemaTimeoutMs: 100 });

  it.each<[string, JsonObject, () => unknown]>([
    ["a pattern that backtracks", { type: "string", pattern: "^(a+)+$" }, () => `${"a".repeat(60)}!`],
    [
      "a name's pattern that backtracks",
      { type: "object", patternProperties: { "^(a+)+$": {} } },
      () => ({ [`${"a".repeat(60)}!`]: 1 }),
    ],
    [
      "unique items of many",
      { type: "array", uniqueItems: true },
      () => Array.from({ length: 60_000 }, (_, i) => ({ i })),
    ],
    ["references that double at each level", doubling(40) as never, () => ({})],
    [
      "a long enumeration over many",
      { items: { enum: Array.from({ length: 20_000 }, (_, i) => ({ i })) } },
      () => Array.from({ length: 100_000 }, () => ({ i: 19_999 })),
    ],
  ])("stops at limits.schemaTimeoutMs with %s, and does not accept the value", (_what, schema, value) => {
    const message = read(reader.input(schema), value());
    expect(message).toContain("limits.schemaTimeoutMs");
    expect(read(reader.output(schema), value())).toContain("limits.schemaTimeoutMs");
  });

  it("compiling one stops there too", () => {
    const branches = Array.from({ length: 12_000 }, (_, i) => ({
      properties: { [`p${i}`]: { type: "string", minLength: i } },
    }));
    expect(() => createSchemaReader({ schemaTimeoutMs: 1 }).input({ anyOf: branches })).toThrow(
      "limits.schemaTimeoutMs",
    );
  });

  it("tells the first problem only: a result with a million of them costs no more memory", () => {
    const message = read(
      reader.input({ items: { type: "string" } }),
      Array.from({ length: 1_000 }, (_, i) => i),
    );
    expect(message).toBe("data/0 must be string");
  });

  it("works again after one that was stopped", () => {
    const check = reader.input({ type: "string", pattern: "^(a+)+$" });
    expect([read(check, `${"a".repeat(60)}!`) === undefined, read(check, "aaa")]).toEqual([false, undefined]);
  });
});

describe("a call with such a schema", () => {
  it("whose answer does not fit a slow pattern fails as an invalid output, and the process goes on", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    onTestFinished(() => void process.off("unhandledRejection", unhandled));
    const outputSchema = properties({ a: { type: "string", pattern: "^(a+)+$" } });
    const server = scripted([tool("t", { outputSchema })]);
    server.answers["tools/call"] = () => ({ ...text(""), structuredContent: { a: `${"a".repeat(60)}!` } });
    await using mcp = await mcpOperators({ transport: server.transport, name: "Bad", effect: "read", ...limits });
    await using t = await createTestKernel({
      capabilities: [planOf(mcp.operators, { operator: "Bad.t" })],
      limits: { maxReplans: 0 },
    });
    const { steps } = await t.run(intentType);
    expect(steps[0]?.error).toMatchObject({
      code: "T4_OUTPUT_INVALID",
      message: expect.stringContaining("schemaTimeoutMs"),
    });
    expect([server.calls().length, unhandled.mock.calls]).toEqual([1, []]);
  });

  it("whose parameters do not fit a slow pattern is refused before it is sent", async () => {
    const server = scripted([tool("t", { inputSchema: properties({ a: { type: "string", pattern: "^(a+)+$" } }) })]);
    await using mcp = await mcpOperators({ transport: server.transport, name: "Bad", effect: "read", ...limits });
    const params = { a: `${"a".repeat(60)}!` };
    await using t = await createTestKernel({
      capabilities: [planOf(mcp.operators, { operator: "Bad.t", params })],
      limits: { maxReplans: 0 },
    });
    const { steps } = await t.run(intentType);
    expect(steps[0]?.error?.code).toBe("T4_PARAMS_INVALID");
    expect(server.calls()).toEqual([]);
  });
});

/** Schemas of Valibot and ArkType behave as those of zod: at each door, in each form, with each fault. */

import type { StandardSchemaV1 } from "@standard-schema/spec";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { MockLanguageModelV4 } from "ai/test";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import type { JsonObject } from "../../src/contract/json.ts";
import {
  defineCapability,
  defineOperator,
  describeCapability,
  type Gate,
  ref,
  type StandardSchema,
} from "../../src/index.ts";
import { llmOperator } from "../../src/packages/operators/llm/index.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { refusalOf } from "../fixtures.ts";
import { codeOf, openEdge, submitPath } from "../http/edge-fixture.ts";
import { openMcp } from "../mcp/mcp-fixture.ts";
import { type Library, libraries, names, type Order } from "./orders-of.ts";

/** A package whose schemas are all of one library: it asks for an answer, buys, and drafts a bill. */
function shopOf(library: Library) {
  const { order, answer, bill } = libraries[library];
  const bought: unknown[] = [];
  const buy = defineOperator({
    name: "Order.Buy",
    input: order as (typeof libraries)["zod"]["order"],
    output: bill as (typeof libraries)["zod"]["bill"],
    effect: "write_draft",
    run({ input }) {
      bought.push(input);
      return { text: input.item };
    },
  });
  const capability = defineCapability({
    intentType: "Shop.Order",
    version: "1.0",
    input: order as (typeof libraries)["zod"]["order"],
    operators: [buy],
    outcomes: { Bill: bill as (typeof libraries)["zod"]["bill"] },
    plan({ input, step, ask }) {
      const asked = ask({ step_id: "ask", name: "Ask", form: answer as (typeof libraries)["zod"]["answer"] });
      const params = { item: input.item, total: asked.output.floor };
      return {
        reasoning: "ask, buy",
        steps: [asked, step({ step_id: "buy", name: "Buy", operator: "Order.Buy", params, outcome: "Bill" })],
      };
    },
  });
  return { capability, bought };
}

const asked = (inputs: object) => ({
  ...testCaller,
  intent_hint: { intent_type: "Shop.Order", inputs: inputs as JsonObject },
});

/** Returns a JSON Schema with its members in order and without what only says how it was written. */
const plain = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return [...schema].sort().map(plain);
  if (typeof schema !== "object" || schema === null) return schema;
  const { $schema: _, default: __, maximum: ___, ...rest } = schema as JsonObject;
  return Object.fromEntries(
    Object.entries(rest)
      .toSorted(([one], [other]) => one.localeCompare(other))
      .map(([key, value]) => [key, plain(value)]),
  );
};

describe.each(names)("schemas of %s", (library) => {
  it("are described alike: the package over HTTP, in the API's own list and as a tool of MCP", async () => {
    const described = plain(describeCapability(shopOf("zod").capability, () => null).input);
    const { capability } = shopOf(library);
    expect(plain(describeCapability(capability, () => null).input)).toEqual(described);
    await using edge = await openEdge({ capabilities: [capability] });
    const { body } = await edge.ask<{ readonly input: unknown }>("/v1/kernel/capabilities/Shop.Order");
    expect(plain(body.input)).toEqual(described);
    await using mcp = await openMcp({ capabilities: [capability] });
    const client = await mcp.connect();
    const tool = (await client.listTools()).tools.find(({ name }) => name.includes("Order"));
    expect(plain(tool?.inputSchema)).toEqual(described);
  });

  it("refuse inputs with the path of each mistake, over HTTP and in process", async () => {
    const { capability } = shopOf(library);
    await using edge = await openEdge({ capabilities: [capability] });
    const refused = await edge.post<JsonObject>(submitPath, {
      ...asked({ item: 3, total: 0 }),
      principal: testCaller.principal,
    });
    expect([refused.status, codeOf(refused as never)]).toEqual([400, "T1_NORMALIZE_INPUTS_INVALID"]);
    const { detail } = await refusalOf(edge.t.kernel.submit(asked({ item: 3, total: 0 })));
    const errors = detail["errors"] as readonly { readonly pointer: string }[];
    expect(errors.map(({ pointer }) => pointer).sort()).toEqual([
      "#/intent_hint/inputs/item",
      "#/intent_hint/inputs/total",
    ]);
  });

  it("run from the request over the answer of a person to an outcome, with their defaults", async () => {
    const { capability, bought } = shopOf(library);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id, inputs } = await t
      .run("Shop.Order", { item: "tin", total: 5 })
      .then(async ({ workflow_id }) => ({ workflow_id, inputs: (await t.kernel.workflow(workflow_id)).intent.inputs }));
    expect(inputs).toEqual({ item: "tin", total: 5, note: "none" });
    const [gate] = (await t.kernel.workflow(workflow_id)).gates;
    const { form } = (gate as Gate).payload as { readonly form: JsonObject };
    expect(plain(form)).toEqual(plain(zodForm));
    const give = (answer: JsonObject) =>
      t.kernel.decideGate(workflow_id, { ...testCaller, decision: "approve", payload: { answer } });
    expect(await refusalOf(give({ rush: true, floor: -1 }))).toMatchObject({ code: "T5_ANSWER_INVALID" });
    await give({ rush: true, floor: 7 });
    await t.rest(workflow_id);
    expect(bought).toEqual([{ item: "tin", total: 7, note: "none" }]);
    const { outcomes, state } = await t.kernel.workflow(workflow_id);
    expect([state, outcomes.map(({ content }) => content)]).toEqual(["completed", [{ text: "tin" }]]);
    expect((await t.kernel.replay(workflow_id)).identical).toBe(true);
  });

  it("refuse the payload of a call, the result of one and an edit", async () => {
    const { capability } = shopOf(library);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run("Shop.Order", { item: "tin", total: 5 });
    await t.kernel.decideGate(workflow_id, {
      ...testCaller,
      decision: "approve",
      payload: { answer: { rush: true, floor: 0 } },
    });
    await t.rest(workflow_id);
    const { state, error } = await t.kernel.workflow(workflow_id);
    expect([state, error?.code]).toEqual(["failed", "T4_PARAMS_INVALID"]);
    expect(error?.message).toContain("total");
  });

  it("read the answer of a model", async () => {
    const model = new MockLanguageModelV4({
      doGenerate: async () => ({
        content: [{ type: "text", text: '{"text":"a bill"}' }],
        finishReason: { unified: "stop", raw: "stop" },
        usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } } as never,
        warnings: [],
      }),
    });
    const write = llmOperator({
      name: "Bill.Write",
      models: { small: model },
      output: libraries[library].bill as (typeof libraries)["zod"]["bill"],
    });
    const value = await write.output.safeParseAsync({
      output_text: "x",
      status: "COMPLETED",
      data: { value: { text: "a bill" }, finish_reason: "stop", model: "small" },
    });
    expect(value.error?.issues ?? []).toEqual([]);
    const refused = write.output.safeParse({
      output_text: "x",
      status: "COMPLETED",
      data: { value: { text: "" }, finish_reason: "stop", model: "small" },
    });
    expect(refused.error?.issues.map(({ path }) => path)).toEqual([["data", "value", "text"]]);
  });
});

const zodForm = {
  type: "object",
  properties: { rush: { type: "boolean" }, floor: { type: "integer", minimum: 0 } },
  required: ["rush", "floor"],
  additionalProperties: false,
};

describe("a schema of another library", () => {
  const operatorOf = (input: StandardSchema, output?: StandardSchema) =>
    defineOperator({ name: "A.B", input, ...(output !== undefined && { output }), run: ({ input: given }) => given });

  it("gives its types to the author", () => {
    const byValibot = defineOperator({
      name: "Order.Buy",
      input: libraries.valibot.order,
      output: libraries.valibot.bill,
      run({ input }) {
        expectTypeOf(input).toEqualTypeOf<{ item: string; total: number; note: string }>();
        return { text: input.item };
      },
    });
    expectTypeOf<z.input<typeof byValibot.input>>().toEqualTypeOf<{
      item: string;
      total: number;
      note?: string | undefined;
    }>();
    defineOperator({
      name: "Order.Buy",
      input: libraries.arktype.order,
      output: libraries.arktype.bill,
      // @ts-expect-error: the result has no text
      run: ({ input }: { readonly input: Order }) => ({ title: input.item }),
    });
    expectTypeOf<StandardSchemaV1>().not.toBeAny();
  });

  it("that validates asynchronously refuses every value, and no rejection is left behind", async () => {
    const slow = type({ a: "string" });
    const standard = slow["~standard"];
    const asynchronous = { "~standard": { ...standard, validate: () => Promise.reject(new Error("later")) } };
    const { input } = operatorOf(asynchronous as never);
    expect(() => input.safeParse({ a: "x" })).toThrow("the schema is asynchronous");
  });

  it("that changes its own result, or gives no JSON, is refused when it is defined", () => {
    const growing = toStandardJsonSchema(
      v.object({
        n: v.pipe(
          v.number(),
          v.transform((n) => n + 1),
        ),
      }),
    );
    expect(() => operatorOf(growing)).toThrow(/leaves|what it made itself/);
    const dated = toStandardJsonSchema(
      v.object({
        at: v.pipe(
          v.string(),
          v.transform((at) => new Date(at)),
        ),
      }),
    );
    expect(() => operatorOf(dated)).toThrow(/class Date/);
  });

  it("that JSON Schema cannot say is refused with the library's own words, and so is a form of it", () => {
    const checked = toStandardJsonSchema(
      v.object({
        n: v.pipe(
          v.number(),
          v.check((n) => n % 2 === 0),
        ),
      }),
    );
    expect(() => operatorOf(checked)).toThrow(/cannot be described as JSON Schema: .*check/);
    expect(operatorOf(type({ n: "number" }), checked).metadata.name).toBe("A.B");
  });

  it("without a JSON Schema is refused with what to do, at each door", async () => {
    const bare = v.object({ a: v.string() }) as never;
    const advice = /gives no JSON Schema.*toStandardJsonSchema of @valibot\/to-json-schema/;
    expect(() => operatorOf(bare)).toThrow(advice);
    const package_ = defineCapability({
      intentType: "Shop.Ask",
      version: "1.0",
      input: z.object({}),
      operators: [],
      plan: ({ ask }) => ({ reasoning: "ask", steps: [ask({ step_id: "a", name: "A", form: bare })] }),
    });
    await using t = await createTestKernel({ capabilities: [package_] });
    const { error } = await t.run("Shop.Ask", {});
    expect(error?.message).toMatch(advice);
  });

  it("is taken of an operator and a package that are written without our functions", async () => {
    const { order, bill } = libraries.arktype;
    const { capability } = shopOf("zod");
    const buy = { ...(capability.operators[0] as object), input: order, output: bill };
    const package_ = { ...capability, input: order, outcomes: { Bill: bill }, operators: [buy] };
    await using t = await createTestKernel({ capabilities: [package_ as never] });
    const refused = await refusalOf(t.kernel.submit(asked({ item: "tin", total: 0 })));
    expect(refused.message).toContain("total must be at least 1");
    const { workflow_id } = await t.run("Shop.Order", { item: "tin", total: 5 });
    const answer = { rush: true, floor: 7 };
    await t.kernel.decideGate(workflow_id, { ...testCaller, decision: "approve", payload: { answer } });
    await t.rest(workflow_id);
    expect((await t.kernel.workflow(workflow_id)).state).toBe("completed");
  });

  it("says which members of a param may be missing, so that a reference to nothing leaves them out", async () => {
    for (const library of names) {
      const got: unknown[] = [];
      const look = defineOperator({ name: "Shop.Look", input: z.object({}), run: () => ({ item: "tin" }) });
      const buy = defineOperator({
        name: "Order.Buy",
        input: libraries[library].order as (typeof libraries)["zod"]["order"],
        run: ({ input }) => got.push(input),
      });
      const capability = defineCapability({
        intentType: "Shop.Order",
        version: "1.0",
        input: z.object({}),
        operators: [look, buy],
        plan({ step }) {
          const found = step({ step_id: "look", name: "Look", operator: "Shop.Look", params: {} });
          const params = { item: "tin", total: 3, note: ref("look.output.note") as never };
          return {
            reasoning: "buy",
            steps: [found, step({ step_id: "buy", name: "Buy", operator: "Order.Buy", params, depends_on: [found] })],
          };
        },
      });
      await using t = await createTestKernel({ capabilities: [capability] });
      const { state } = await t.run("Shop.Order", {});
      expect([library, state, got]).toEqual([library, "completed", [{ item: "tin", total: 3, note: "none" }]]);
    }
  });
});

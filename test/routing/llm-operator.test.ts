/** The LLM operator alone: its definition, its input, and how a provider's errors read. */
import {
  APICallError,
  EmptyResponseBodyError,
  InvalidArgumentError,
  InvalidPromptError,
  InvalidResponseDataError,
  JSONParseError,
  type LanguageModelV4CallOptions,
  LoadAPIKeyError,
  LoadSettingError,
  NoContentGeneratedError,
  NoSuchModelError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from "@ai-sdk/provider";
import { MockLanguageModelV3, MockLanguageModelV4 } from "ai/test";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { type ModelEndpoint, OperatorError } from "../../src/index.ts";
import { LlmInput, type LlmOperatorOptions, llmOperator } from "../../src/packages/operators/llm/index.ts";
import { modelError } from "../../src/packages/operators/llm/model-error.ts";
import { callOperator } from "../../src/testing/call-operator.ts";
import { operatorContract } from "../../src/testing/index.ts";
import { endpoint, modelThat, says, usageOf } from "./model-fixture.ts";

const llm = (models: LlmOperatorOptions["models"], more: Partial<LlmOperatorOptions> = {}) =>
  llmOperator({ name: "Model.Say", models, ...more });
const routeTo = (to: ModelEndpoint) => async () => ({ endpoint: to, reason: { kind: "Primary" as const } });
const refusal = expect.objectContaining({ error: expect.objectContaining({ code: "T0_VALIDATION_SCHEMA_MISMATCH" }) });

describe("the definition", () => {
  it("is an operator of kind llm that fetches, honours its signal, and is frozen", () => {
    const { metadata } = llm({ small: modelThat(() => says("ok")) }, { version: "2.0", timeoutSec: 9, retry: "NONE" });
    expect(metadata).toMatchObject({
      name: "Model.Say",
      version: "2.0",
      kind: "llm",
      effect: "read",
      honours_abort: true,
      idempotent: false,
      timeout_sec: 9,
      retry: "NONE",
    });
    expect(Object.isFrozen(metadata)).toBe(true);
  });

  it.each([{}, null, { small: null }, { small: {} }, { small: "gpt" }, { small: new MockLanguageModelV3() }])(
    "without a model of the interface there is no operator: %s",
    (models) => {
      expect(() => llm(models as never)).toThrow(refusal);
    },
  );

  it("metadata that are none are refused with a code", () => {
    expect(() => llm({ small: modelThat(() => []) }, { name: "" })).toThrow(refusal);
    expect(() => llm({ small: modelThat(() => []) }, { estimatedCost: -1 })).toThrow(refusal);
  });
});

describe("the input", () => {
  const message = { role: "user", content: "hello" };
  it.each([
    { prompt: "hello" },
    { messages: [message, { role: "assistant", content: "hi" }, message], max_output_tokens: 5, temperature: 0.5 },
  ])("takes %j", (input) => {
    expect(LlmInput.parse(input)).toEqual(input);
  });

  it.each([
    {},
    { prompt: "" },
    { prompt: "hello", messages: [message] },
    { messages: [] },
    { messages: [{ role: "tool", content: "x" }] },
    { messages: [{ ...message, extra: 1 }] },
    { prompt: "hello", max_output_tokens: 0 },
    { prompt: "hello", temperature: 3 },
    { prompt: "hello", model: "small" },
    { prompt: 5 },
    "hello",
    null,
  ])("refuses %j", (input) => {
    expect(LlmInput.safeParse(input).success).toBe(false);
  });

  it("has a limit over all messages", () => {
    const half = { role: "user", content: "x".repeat(500_001) };
    expect(LlmInput.safeParse({ messages: [half] }).success).toBe(true);
    expect(LlmInput.safeParse({ messages: [half, half] }).success).toBe(false);
  });
});

describe("a call", () => {
  it("streams, reports what it used, and costs by the endpoint's price", async () => {
    const priced = endpoint("small", { price: { in: 1_000_000, out: 0 } });
    const operator = llm({ small: modelThat(() => says("a", "", "b")) });
    const trial = await callOperator({ operator, input: { prompt: "?" }, route: routeTo(priced) });
    expect(trial.output).toEqual({
      data: { text: "ab", finish_reason: "stop", model: "small" },
      output_text: "ab",
      status: "COMPLETED",
    });
    expect(trial.chunks).toEqual(["a", "b"]);
    expect(trial.usage.at(-1)).toEqual({
      model: "small",
      tokens: { in: 30, out: 12, total: 42 },
      cost: { total: 30 },
      trace: { trace_id: "resp-1", trace_type: "mock" },
    });
  });

  it("without a price there is no cost", async () => {
    const operator = llm({ small: modelThat(() => says("a")) });
    const trial = await callOperator({ operator, input: { prompt: "?" }, route: routeTo(endpoint("small")) });
    expect(trial.usage.at(-1)).not.toHaveProperty("cost");
  });

  it("what was cancelled before the model answered throws the reason, and calls nobody", async () => {
    const model = modelThat(() => says("a"));
    const reason = new Error("enough");
    const call = callOperator({
      operator: llm({ small: model }),
      input: { prompt: "?" },
      route: routeTo(endpoint("small")),
      signal: AbortSignal.abort(reason),
    });
    await expect(call).rejects.toBe(reason);
    expect(model.doStreamCalls).toHaveLength(0);
  });

  it("what is cancelled while the model is being asked ends, though the model heeds nothing", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const silent = modelThat(() => {
      controller.abort(reason);
      return new ReadableStream();
    });
    const { signal } = controller;
    const call = {
      operator: llm({ small: silent }),
      input: { prompt: "?" },
      route: routeTo(endpoint("small")),
      signal,
    };
    await expect(callOperator(call)).rejects.toBe(reason);
  });

  it("without endpoints it is refused before a model is asked", async () => {
    const model = modelThat(() => says("a"));
    const call = callOperator({ operator: llm({ small: model }), input: { prompt: "?" } });
    await expect(call).rejects.toMatchObject({ error: { code: "T7_ROUTE_NO_ENDPOINT" } });
    expect(model.doStreamCalls).toHaveLength(0);
  });
});

describe("a provider's error", () => {
  const api = (statusCode: number | undefined, more: Partial<ConstructorParameters<typeof APICallError>[0]> = {}) =>
    new APICallError({
      message: "said no",
      url: "https://models.test/v1?key=secret",
      requestBodyValues: { prompt: "private" },
      responseBody: "private",
      statusCode,
      ...more,
    });
  const transient = { category: "transient", retryable: true };
  const dependency = { category: "dependency", retryable: false };
  const validation = { category: "validation", retryable: false };

  const table: readonly (readonly [string, unknown, object])[] = [
    ["429", api(429), { code: "MODEL_RATE_LIMITED", ...transient }],
    ["408", api(408), { code: "MODEL_UNAVAILABLE", ...transient }],
    ["409", api(409), { code: "MODEL_UNAVAILABLE", ...transient }],
    ["500", api(500), { code: "MODEL_UNAVAILABLE", ...transient }],
    ["529", api(529), { code: "MODEL_UNAVAILABLE", ...transient }],
    ["no status, to be retried", api(undefined, { isRetryable: true }), { code: "MODEL_UNAVAILABLE", ...transient }],
    ["401", api(401), { code: "MODEL_ACCESS_REFUSED", ...dependency }],
    ["402", api(402), { code: "MODEL_ACCESS_REFUSED", ...dependency }],
    ["403", api(403), { code: "MODEL_ACCESS_REFUSED", ...dependency }],
    ["404", api(404), { code: "MODEL_UNKNOWN", ...dependency }],
    ["400", api(400), { code: "MODEL_REQUEST_REFUSED", ...validation }],
    ["413", api(413), { code: "MODEL_REQUEST_REFUSED", ...validation }],
    ["422", api(422), { code: "MODEL_REQUEST_REFUSED", ...validation }],
    ["400, to be retried", api(400, { isRetryable: true }), { code: "MODEL_UNAVAILABLE", ...transient }],
    ["no key", new LoadAPIKeyError({ message: "no key" }), { code: "MODEL_ACCESS_REFUSED", ...dependency }],
    ["no setting", new LoadSettingError({ message: "no" }), { code: "MODEL_ACCESS_REFUSED", ...dependency }],
    [
      "no such model",
      new NoSuchModelError({ modelId: "m", modelType: "languageModel" }),
      { code: "MODEL_UNKNOWN", ...dependency },
    ],
    [
      "unsupported",
      new UnsupportedFunctionalityError({ functionality: "system" }),
      { code: "MODEL_UNSUPPORTED", ...dependency },
    ],
    [
      "invalid prompt",
      new InvalidPromptError({ prompt: "p", message: "bad" }),
      { code: "MODEL_REQUEST_REFUSED", ...validation },
    ],
    [
      "invalid argument",
      new InvalidArgumentError({ argument: "a", message: "bad" }),
      { code: "MODEL_REQUEST_REFUSED", ...validation },
    ],
    ["empty body", new EmptyResponseBodyError(), { code: "MODEL_ANSWER_INVALID", ...transient }],
    ["no content", new NoContentGeneratedError(), { code: "MODEL_ANSWER_INVALID", ...transient }],
    ["bad data", new InvalidResponseDataError({ data: {} }), { code: "MODEL_ANSWER_INVALID", ...transient }],
    ["bad JSON", new JSONParseError({ text: "{", cause: "x" }), { code: "MODEL_ANSWER_INVALID", ...transient }],
    ["bad type", new TypeValidationError({ value: 1, cause: "x" }), { code: "MODEL_ANSWER_INVALID", ...transient }],
    ["an Error", new Error("broke"), { code: "MODEL_FAILED", category: "dependency", retryable: true }],
    ["a text", "overloaded", { code: "MODEL_FAILED", details: { endpoint: "small", provider_message: "overloaded" } }],
    [
      "a plain part",
      { message: "busy" },
      { code: "MODEL_FAILED", details: { endpoint: "small", provider_message: "busy" } },
    ],
    ["nothing", undefined, { code: "MODEL_FAILED", message: "small: it failed", details: { endpoint: "small" } }],
    ["null", null, { code: "MODEL_FAILED" }],
  ];

  it.each(table)("%s is read by name and shape", (_what, thrown, expected) => {
    const error = modelError(thrown, "small");
    expect(error).toBeInstanceOf(OperatorError);
    expect(error.executorError).toMatchObject(expected);
    expect(error.executorError.details).toMatchObject({ endpoint: "small" });
  });

  it.each([
    [{ "retry-after": "7" }, 7000],
    [{ "retry-after-ms": "1500.2", "retry-after": "7" }, 1501],
    [{ "retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", date: "Wed, 21 Oct 2026 07:28:00 GMT" }, 30_000],
    [{ "retry-after": "Wed, 21 Oct 2026 07:28:30 GMT" }, null],
    [{ "retry-after": "99999999999" }, 600_000],
    [{ "retry-after": "-5" }, null],
    [{ "retry-after": "soon" }, null],
    [{}, null],
  ])("the pause that it asks for, %j, is heeded within reason", (responseHeaders, wait) => {
    expect(modelError(api(429, { responseHeaders }), "small").executorError.retry_after_ms).toBe(wait);
  });

  it("that will not pass asks for no pause", () => {
    const error = modelError(api(400, { responseHeaders: { "retry-after": "7" } }), "small");
    expect(error.executorError.retry_after_ms).toBeNull();
  });

  it("repeats no body, address or credential", () => {
    const long = api(401, { message: "wrong key sk-secret", responseHeaders: { authorization: "secret" } });
    expect(JSON.stringify(modelError(long, "small").executorError)).not.toMatch(/secret|private|models\.test/);
    expect(JSON.stringify(modelError(new Error("x".repeat(9999)), "small").executorError).length).toBeLessThan(800);
  });

  it.each(table)("%s: its own words are no part of the message, which is told to whoever asked", (_what, thrown) => {
    const { message } = modelError(thrown, "small");
    expect(message).toMatch(/^small: (it|its|access) [a-z ]+$/);
    const words = typeof thrown === "string" ? thrown : ((thrown as Error | null)?.message ?? "");
    if (words !== "") expect(message).not.toContain(words);
  });
});

operatorContract({
  it,
  expect,
  operator: { ...llm({ small: modelThat(() => says("same")) }) },
  input: { prompt: "?" },
  route: routeTo(endpoint("small")),
});

describe("an answer of a schema", () => {
  const Risk = z.strictObject({ score: z.number().min(0).max(100), why: z.string().trim() });
  const answering = (text: string, more: object = {}) => {
    const asked: LanguageModelV4CallOptions[] = [];
    const model = new MockLanguageModelV4({
      doGenerate: async (options) => {
        asked.push(options);
        const finishReason = { unified: "stop", raw: "stop" } as const;
        return { content: [{ type: "text", text }], finishReason, usage: usageOf(30, 12), warnings: [] };
      },
    });
    const operator = llmOperator({ name: "Model.Rate", model, output: Risk, ...more });
    return { asked, operator, answer: () => callOperator({ operator, input: { prompt: "?" } }) };
  };

  it("is asked for by its JSON Schema, and is the value that the schema reads", async () => {
    const { asked, answer } = answering('{"score":12,"why":" small "}');
    const { output } = await answer();
    expect(output).toMatchObject({ data: { value: { score: 12, why: "small" }, finish_reason: "stop" } });
    expect(asked[0]?.responseFormat).toMatchObject({ type: "json", schema: { required: ["score", "why"] } });
  });

  it.each([
    ["no JSON", "score: 12"],
    ["cut", '{"score":12,'],
    ["another form", '{"score":"12"}'],
    ["out of bounds", '{"score":101,"why":""}'],
    ["with members that nobody knows", '{"score":1,"why":"","more":1}'],
    ["a member named twice", '{"score":1,"score":2,"why":""}'],
    ["a number that would change", '{"score":12345678901234567890,"why":""}'],
  ])("is refused as one that may be asked for again: %s", async (_what, text) => {
    await expect(answering(text).answer()).rejects.toMatchObject({
      executorError: { code: "MODEL_ANSWER_INVALID", category: "transient" },
    });
  });

  it("is typed in the plans that use it, and estimated by what the model may write", async () => {
    const { operator } = answering("{}", { price: { in: 2, out: 10 }, maxOutputTokens: 100 });
    expect(operator.estimate?.({ prompt: "x".repeat(400) } as never)).toEqual({ tokens: 200, money: 0.0012 });
    const stated = answering("{}", { price: { in: 2, out: 10 }, estimatedCost: 3, resources: { tokens: 7 } });
    expect(stated.operator.estimate?.({ prompt: "x", max_output_tokens: 5 } as never)).toEqual({});
    expect(answering("{}").operator.estimate?.({ prompt: "x" } as never)).toEqual({});
    expectTypeOf<z.output<typeof operator.output>["value"]>().toEqualTypeOf<z.output<typeof Risk>>();
  });
});

/**
 * The LLM operator in a kernel: routed, streamed, counted, stopped. Models are mocks of the interface's own package.
 */
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { MockLanguageModelV4 } from "ai/test";
import { describe, expect, it } from "vitest";
import { isSignal, type Signal, streamChunk, toExecutorError } from "../../src/index.ts";
import { LlmAnswer, type LlmOperatorOptions, llmOperator } from "../../src/packages/operators/llm/index.ts";
import { createTestKernel, type TestKernelOptions, testCaller } from "../../src/testing/test-kernel.ts";
import { flow, intent, payloads, step } from "../execution/flow.ts";
import { endpoint, finish, modelThat, says, streamOf, usageOf } from "./model-fixture.ts";

const small = endpoint("small", { budget: { max_invocations: 1 }, price: { in: 100, out: 1000 } });
const large = endpoint("large", { deployment: "cloud", price: { in: 1000, out: 2000 } });
const params = { prompt: "say it" };

const llm = (models: LlmOperatorOptions["models"], more: Partial<LlmOperatorOptions> = {}) =>
  llmOperator({ name: "Model.Say", models, ...more });

/** A kernel whose plan calls the operator so often, one after another. */
function talking(
  operator: ReturnType<typeof llm>,
  { calls = 1, ...more }: Partial<TestKernelOptions> & { readonly calls?: number } = {},
) {
  const steps = Array.from({ length: calls }, (_, i) =>
    step(`s${i + 1}`, "Model.Say", { params, ...(i === 0 ? {} : { depends_on: [`s${i}`] }) }),
  );
  return createTestKernel({ capabilities: [flow([operator], steps)], models: { endpoints: [small, large] }, ...more });
}

describe("an answer", () => {
  it("its deltas are STREAM Signals on the bus, in STEP_STREAMED before they are shown", async () => {
    const texts = ["The ", "kernel ", "speaks."];
    await using t = await talking(llm({ small: modelThat(() => says(...texts)) }));
    const shown: Signal[] = [];
    t.kernel.bus.signals.subscribe((signal) => void (signal.kind === "stream" && shown.push(signal)));
    const { workflow_id, response, steps } = await t.run(intent);
    expect(shown.length).toBeGreaterThan(0);
    expect(shown.every(isSignal)).toBe(true);
    const streamed = await payloads(t, workflow_id, "STEP_STREAMED");
    expect(streamed.flatMap((s) => s.chunks)).toEqual(texts);
    expect(shown.map(streamChunk).join("")).toBe(texts.join(""));
    expect(steps[0]?.output_text).toBe("The kernel speaks.");
    expect(response.text).toBe("The kernel speaks.");
  });

  it("its data has the text, why it ended, and the endpoint; a later step's template reads it", async () => {
    const asked: LanguageModelV4CallOptions[] = [];
    const model = modelThat((options) => {
      asked.push(options);
      return says(`answer ${asked.length}`);
    });
    const steps = [
      step("s1", "Model.Say", { params }),
      step("s2", "Model.Say", { params: { prompt: "{{s1.output.text}}!" }, depends_on: ["s1"] }),
    ];
    const operator = llm({ large: model }, { system: "be brief", maxOutputTokens: 50, temperature: 0 });
    await using t = await createTestKernel({ capabilities: [flow([operator], steps)], models: { endpoints: [large] } });
    const { workflow_id, state } = await t.run(intent);
    expect(state).toBe("completed");
    const [first] = await payloads(t, workflow_id, "STEP_SUCCEEDED");
    expect(LlmAnswer.parse(first?.output)).toEqual({ text: "answer 1", finish_reason: "stop", model: "large" });
    expect(asked[0]).toMatchObject({ maxOutputTokens: 50, temperature: 0, abortSignal: expect.any(AbortSignal) });
    expect(asked.map((options) => options.prompt)).toEqual(
      ["say it", "answer 1!"].map((text) => [
        { role: "system", content: "be brief" },
        { role: "user", content: [{ type: "text", text }] },
      ]),
    );
  });

  it("[TRC-05][EXE-08] its tokens, its cost by the endpoint's price and its id are in action and trace", async () => {
    await using t = await talking(llm({ small: modelThat(() => says("yes")) }));
    const { workflow_id } = await t.run(intent);
    const used = {
      tokens: { in: 30, out: 12, total: 42 },
      cost: { total: 0.015 },
      trace: { trace_id: "resp-1", trace_type: "mock" },
    };
    const [action] = await t.kernel.actions(workflow_id);
    expect(action).toMatchObject({ ...used, operator_name: "Model.Say", status: "succeeded" });
    expect((await t.kernel.trace(workflow_id)).llm_calls).toMatchObject([{ action_id: action?.action_id, ...used }]);
    expect(await payloads(t, workflow_id, "ACTION_SUCCEEDED")).toMatchObject([{ usage: { ...used, model: "small" } }]);
  });

  it("whole, from a model that is not to stream, is one delta", async () => {
    const model = new MockLanguageModelV4({
      doGenerate: {
        content: [
          { type: "reasoning", text: "hm" },
          { type: "text", text: "all " },
          { type: "text", text: "at once" },
        ],
        finishReason: { unified: "stop", raw: "stop" },
        usage: usageOf(1, 2),
        response: { id: "resp-9" },
        warnings: [],
      },
    });
    await using t = await talking(llm({ small: model }, { streaming: false }));
    const { workflow_id, steps } = await t.run(intent);
    expect(steps[0]?.output_text).toBe("all at once");
    expect((await payloads(t, workflow_id, "STEP_STREAMED")).flatMap((s) => s.chunks)).toEqual(["all at once"]);
    expect(await t.kernel.actions(workflow_id)).toMatchObject([
      { tokens: { in: 1, out: 2, total: 3 }, trace: { trace_id: "resp-9" } },
    ]);
  });
});

describe("routing", () => {
  it("[ROU-03][ROU-06] the second call falls back to the next endpoint; each decision links its action", async () => {
    const models = { small: modelThat(() => says("from small")), large: modelThat(() => says("from large")) };
    await using t = await talking(llm(models), { calls: 2 });
    const { workflow_id, steps } = await t.run(intent);
    expect(steps.map((s) => s.output_text)).toEqual(["from small", "from large"]);
    const actions = await t.kernel.actions(workflow_id);
    expect(await payloads(t, workflow_id, "ROUTE_DECIDED")).toMatchObject([
      { action_id: actions[0]?.action_id, decision: { endpoint: small, reason: { kind: "Primary" } } },
      { action_id: actions[1]?.action_id, decision: { endpoint: large, reason: { skipped: ["small"] } } },
    ]);
    expect(actions[1]?.cost).toEqual({ total: 0.054 });
  });

  it("[ROU-04][ROU-06] without any budget the step is blocked, no model is called, and that is recorded", async () => {
    const model = modelThat(() => says("once"));
    await using t = await talking(llm({ small: model }), { calls: 2 });
    const state = await t.run(intent);
    expect(state).toMatchObject({ state: "failed", status: "blocked", error: { code: "T5_BUDGET_EXHAUSTED" } });
    expect(model.doStreamCalls).toHaveLength(1);
    const decisions = await payloads(t, state.workflow_id, "ROUTE_DECIDED");
    expect(decisions[1]).toMatchObject({ decision: null, exhausted: ["small"], request: { among: ["small"] } });
  });

  it("asks for endpoints that it has a model for, with its capabilities and the tokens it expects", async () => {
    const options = { capabilities: ["text"], prefer: "cost", maxOutputTokens: 100 } as const;
    await using t = await talking(llm({ large: modelThat(() => says("ok")) }, options));
    const { workflow_id } = await t.run(intent);
    const [decided] = await payloads(t, workflow_id, "ROUTE_DECIDED");
    expect(decided?.request).toEqual({
      capabilities: ["text"],
      expected_tokens: 102,
      prefer: "cost",
      among: ["large"],
      avoid: [],
    });
  });

  it("a retry goes to another endpoint first", async () => {
    const models = { a: modelThat(() => [{ type: "error", error: "overloaded" }]), b: modelThat(() => says("b")) };
    await using t = await talking(llm(models), { models: { endpoints: [endpoint("a"), endpoint("b")] } });
    const { state, steps } = await t.run(intent);
    expect([state, steps[0]?.output_text, steps[0]?.attempts]).toEqual(["completed", "b", 2]);
  });
});

describe("stopping", () => {
  /** A stream that says one word and then nothing more; tells when it is let go. */
  function endless() {
    const seen = { released: [] as string[], signal: null as AbortSignal | null };
    const model = modelThat((options) => {
      seen.signal = options.abortSignal ?? null;
      return new ReadableStream<LanguageModelV4StreamPart>({
        start: (controller) => controller.enqueue({ type: "text-delta", id: "1", delta: "well" }),
        cancel: () => void seen.released.push("released"),
      });
    });
    return { model, seen };
  }

  it("a cancelled workflow ends the call: the model's signal fires and its stream is released", async () => {
    const { model, seen } = endless();
    await using t = await talking(llm({ small: model }));
    const id = await t.submit(intent);
    await t.clock.settle();
    expect(model.doStreamCalls).toHaveLength(1);
    await t.kernel.cancel(id, testCaller);
    expect((await t.rest(id)).state).toBe("cancelled");
    await t.clock.settle();
    expect([seen.signal?.aborted, seen.released]).toEqual([true, ["released"]]);
  });

  it("a model that never answers, and heeds no signal, ends with the operator's timeout", async () => {
    const { model, seen } = endless();
    const deaf = new MockLanguageModelV4({ doStream: () => new Promise(() => undefined) });
    const models = { small: model, large: deaf };
    await using t = await talking(llm(models, { timeoutSec: 5, retry: "TWICE" }), {
      retryPolicies: { TWICE: 2 },
      limits: { maxReplans: 0 },
    });
    const { workflow_id, state, error } = await t.run(intent);
    expect([state, error?.code, seen.released]).toEqual(["failed", "T4_TOOL_TIMEOUT", ["released"]]);
    const failed = await payloads(t, workflow_id, "ACTION_FAILED");
    expect(failed.map((f) => [f.pending, f.usage.model])).toEqual([
      [false, "small"],
      [false, "large"],
    ]);
  });

  it("a stream is released when an answer grows too long", async () => {
    const { seen } = endless();
    const model = modelThat(
      () =>
        new ReadableStream<LanguageModelV4StreamPart>({
          pull: (controller) => controller.enqueue({ type: "text-delta", id: "1", delta: "x".repeat(100) }),
          cancel: () => void seen.released.push("released"),
        }),
    );
    await using t = await talking(llm({ small: model }, { maxAnswerChars: 1000 }), { limits: { maxReplans: 0 } });
    const { state, error } = await t.run(intent);
    expect(state).toBe("failed");
    expect(error?.detail).toMatchObject({ limit: 1000, executor: { code: "MODEL_ANSWER_TOO_LONG" } });
    expect(seen.released).toEqual(["released"]);
  });
});

describe("what is no answer", () => {
  const cut: readonly LanguageModelV4StreamPart[] = says("half").slice(0, -1);
  const ends: readonly (readonly [string, readonly LanguageModelV4StreamPart[], string])[] = [
    ["a stream without a finish", cut, "MODEL_STREAM_CUT"],
    ["an empty stream", [], "MODEL_STREAM_CUT"],
    ["a finish without text", [finish()], "MODEL_ANSWER_EMPTY"],
    ["blanks", says("  ", "\n"), "MODEL_ANSWER_EMPTY"],
    ["a finish for tools that it was not given", [finish("tool-calls")], "MODEL_ANSWER_EMPTY"],
    ["an end in error", [...cut, finish("error")], "MODEL_STREAM_CUT"],
    ["an interrupted end", [...cut, finish("interrupted")], "MODEL_STREAM_CUT"],
    ["an answer withheld", [finish("content-filter")], "MODEL_ANSWER_WITHHELD"],
    ["an error part, text or not", [...cut, { type: "error", error: { message: "broke" } }, finish()], "MODEL_FAILED"],
  ];

  it.each(ends)("%s fails the step, and what it used is counted", async (_what, parts, code) => {
    const models = { small: modelThat(() => parts) };
    await using t = await talking(llm(models, { retry: "NONE" }), { limits: { maxReplans: 0 } });
    const { workflow_id, state } = await t.run(intent);
    expect(state).toBe("failed");
    const [failed] = await payloads(t, workflow_id, "ACTION_FAILED");
    expect(failed && toExecutorError(failed.error).code.replace("T4_OPERATOR_", "")).toBe(code);
    expect(failed?.usage.model).toBe("small");
    const told = code !== "MODEL_FAILED" && parts.some((part) => part.type === "finish");
    expect(failed?.usage.tokens?.total).toBe(told ? 42 : undefined);
  });

  it("counts that a provider leaves out, or gives as nonsense, count as none", async () => {
    const parts = [...says("ok").slice(0, -1), finish("stop", usageOf(undefined, -3))];
    await using t = await talking(llm({ small: modelThat(() => parts) }));
    const { workflow_id, state } = await t.run(intent);
    expect(state).toBe("completed");
    expect(await t.kernel.actions(workflow_id)).toMatchObject([{ tokens: { in: 0, out: 0, total: 0 } }]);
  });

  it("a call sets aside the tokens that its operator declares, under the operator's ceilings", async () => {
    const saying = llm(
      { large: modelThat(() => says("yes")) },
      { resources: { tokens: 100 }, limits: { max_tokens: 900 } },
    );
    const budgets = { limits: [{ scope: "tenant" as const, tokens: 150 }] };
    await using t = await talking(saying, { calls: 3, budgets });
    expect((await t.kernel.tokens.capabilities()).find((c) => c.name === "Model.Say")?.limits.max_tokens).toBe(900);
    const { workflow_id, error } = await t.run(intent);
    expect(error?.detail).toMatchObject({ kind: "scoped_budget", charged: 84, attempted: 100 });
    expect((await payloads(t, workflow_id, "ACTION_SUCCEEDED")).length).toBe(2);
  });

  it("the usage that a model reports counts, also if its answer is too long or its stream never closes", async () => {
    const long = new MockLanguageModelV4({
      doGenerate: async () => ({
        content: [{ type: "text", text: "x".repeat(50) }],
        finishReason: { unified: "stop", raw: "stop" },
        usage: usageOf(30, 12),
        warnings: [],
      }),
    });
    const open = modelThat(
      () => new ReadableStream({ start: (to) => [...says("ok")].forEach((part) => void to.enqueue(part)) }),
    );
    for (const operator of [
      llm({ small: long }, { streaming: false, maxAnswerChars: 10, retry: "NONE" }),
      llm({ small: open }, { timeoutSec: 5, retry: "NONE" }),
    ]) {
      await using t = await talking(operator, { limits: { maxReplans: 0 } });
      const { workflow_id, state } = await t.run(intent);
      expect(state).toBe("failed");
      expect(await payloads(t, workflow_id, "ACTION_FAILED")).toMatchObject([{ usage: { tokens: { total: 42 } } }]);
    }
  });

  it("a stream that throws is a failure like any other", async () => {
    const broken = modelThat(
      () => new ReadableStream({ start: (controller) => controller.error(new Error("connection lost")) }),
    );
    const models = { a: broken, b: modelThat(() => streamOf(says("b"))) };
    await using t = await talking(llm(models), { models: { endpoints: [endpoint("a"), endpoint("b")] } });
    const { workflow_id, state } = await t.run(intent);
    expect(state).toBe("completed");
    const [failed] = await payloads(t, workflow_id, "ACTION_FAILED");
    expect(failed?.error).toMatchObject({ message: "a: it failed", detail: { provider_message: "connection lost" } });
  });
});

describe("one model, without routes", () => {
  const alone = (more: Partial<LlmOperatorOptions> = {}) =>
    llmOperator({ name: "Model.Say", model: modelThat(() => says("yes")), ...more });
  const kernelOf = (operator: ReturnType<typeof alone>, more: Partial<TestKernelOptions> = {}) =>
    createTestKernel({ capabilities: [flow([operator], [step("s1", "Model.Say", { params })])], ...more });

  it("answers in a kernel that knows no endpoint; its tokens and its cost by its price are counted", async () => {
    await using t = await kernelOf(alone({ price: { in: 100, out: 1000 } }));
    const { workflow_id, state, response } = await t.run(intent);
    expect([state, response.text]).toEqual(["completed", "yes"]);
    const [{ usage } = expect.fail()] = await payloads(t, workflow_id, "ACTION_SUCCEEDED");
    expect(usage).toMatchObject({
      model: "mock-model-id",
      tokens: { in: 30, out: 12, total: 42 },
      cost: { total: 0.015 },
    });
    expect(await payloads(t, workflow_id, "ROUTE_DECIDED")).toEqual([]);
    expect((await t.kernel.replay(workflow_id)).identical).toBe(true);
  });

  it("the provider's description of its failure is in the error's detail, the assistant never says it", async () => {
    const model = new MockLanguageModelV4({
      doStream: async () => {
        throw new Error("quota of account 4711 is used up");
      },
    });
    await using t = await kernelOf(alone({ model, retry: "NONE" }), { limits: { maxReplans: 0 } });
    const { workflow_id, error, response } = await t.run(intent);
    expect(toExecutorError(error as NonNullable<typeof error>)).toMatchObject({
      code: "MODEL_FAILED",
      details: { provider_message: "quota of account 4711 is used up" },
    });
    const told = await Array.fromAsync(t.kernel.assistant(workflow_id, { live: false }));
    expect(told.at(-1)).toEqual({ type: "final", text: "mock-model-id: it failed", state: "failed" });
    expect(JSON.stringify([told, response])).not.toContain("4711");
  });

  it.each([
    [{ models: { small: modelThat(() => []) } }, "without routes"],
    [{ prefer: "cost" }, "without routes"],
    [{ price: { in: -1, out: 0 } }, "price"],
    [{ price: { in: 1, out: 0, cached: 0 } }, "cached"],
    [{ model: undefined, price: { in: 1, out: 1 } }, "stands with its endpoint"],
    [{ model: undefined }, "there is no model"],
  ] as const)("is not mixed with what chooses among several, nor given a price that is none: %o", (more, why) => {
    expect(() => alone(more as object)).toThrow(why);
  });
});

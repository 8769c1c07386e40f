/**
 * An agent and a provider's own package, over a wire: what it says, how it fails, and its conversation kept in a file.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { type AgentOptions, defineAgent, recordModel, replayModel } from "../../../src/packages/operators/llm/index.ts";
import { createTestKernel } from "../../../src/testing/index.ts";
import { letAnswer } from "../../../src/testing/let-run.ts";
import { makeTempFolder } from "../../fixtures.ts";
import { describeChunk, refuses, type Say, says, serveChat, tell } from "./chat-server.ts";
import { ann, begin, shop } from "./shop.ts";

const apiKey = "sk-of-nobody";
const modelAt = (url: string): LanguageModelV4 =>
  createOpenAICompatible({
    name: "shop",
    baseURL: url,
    apiKey,
    includeUsage: true,
    fetch: (input, init) => letAnswer(fetch(input, init)),
  }).chatModel("shop-1");

/** An agent of the shop on a kernel, and what its tools were called with. */
async function openAgent(model: LanguageModelV4, more: Partial<AgentOptions> = {}) {
  const { calls, tools } = shop();
  const system = "You help in a shop.";
  const agent = defineAgent({ intentType: "Shop.Help", version: "1.0", tools, model, system, ...more });
  return { calls, t: await createTestKernel({ capabilities: [agent] }) };
}

const look = says({
  reasoning: "I need a tool.",
  text: "Let me look.",
  calls: [{ name: "Shop_Look", arguments: '{"order":"A-7"}' }],
});
const pay = says({ calls: [{ name: "Shop_Pay", arguments: '{"order":"A-7","cents":1999}' }] });
const done = says({ text: "Order A-7 is refunded: 19.99 were paid back." });

/** Asks for the refund and agrees to it; gives how that ended. */
async function refund({ t, calls }: Awaited<ReturnType<typeof openAgent>>) {
  const { workflow_id } = await begin(t, "Please refund order A-7.");
  await t.kernel.decideGate(workflow_id, { ...ann, decision: "approve" });
  const { state, response } = await t.rest(workflow_id);
  const { identical } = await t.kernel.replay(workflow_id);
  return { told: [state, response.text, ...calls, identical], actions: await t.kernel.actions(workflow_id, ann) };
}
const refunded = ["completed", "Order A-7 is refunded: 19.99 were paid back.", "look A-7", "pay A-7 1999", true];

describe("a conversation with a provider", () => {
  it.each([true, false])(
    "is held to its end, counted, and the same from its record: streamed %s",
    async (streaming) => {
      using folder = makeTempFolder();
      const path = join(folder.path, "conversation.json");
      await using server = await serveChat(look, pay, done);
      const held = await openAgent(recordModel(modelAt(server.url), path), { streaming, price: { in: 1, out: 0 } });
      await using _ = held.t;
      const { told, actions } = await refund(held);
      expect(told).toEqual(refunded);
      const used = actions.filter(({ operator_name }) => operator_name === "Shop.Help.Think");
      expect(used.map(({ tokens, cost, trace }) => [tokens?.total, cost?.total, trace?.trace_id])).toEqual(
        Array(3).fill([470, 0.000412, "chatcmpl-1"]),
      );
      expect(server.asked.map(({ messages, tools }) => [messages.at(-1)?.role, tools?.length])).toEqual([
        ["user", 2],
        ["tool", 2],
        ["tool", 2],
      ]);
      expect(readFileSync(path, "utf8")).not.toMatch(/sk-of-nobody|127\.0\.0\.1|headers/);
      const again = await openAgent(replayModel(path), { streaming });
      await using __ = again.t;
      expect((await refund(again)).told).toEqual(refunded);
    },
  );

  it("that was kept is held word for word: all that was asked is what was asked then", async () => {
    const kept = join(import.meta.dirname, "conversation.json");
    using folder = makeTempFolder();
    const path = join(folder.path, "conversation.json");
    await using server = await serveChat(look, pay, done);
    const held = await openAgent(recordModel(modelAt(server.url), path));
    await using _ = held.t;
    await refund(held);
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual(JSON.parse(readFileSync(kept, "utf8")));
    const other = await openAgent(replayModel(kept), { system: "You sell." });
    await using __ = other.t;
    const { state } = await begin(other.t, "Please refund order A-7.");
    expect([state.state, state.error?.message]).toEqual(["failed", expect.stringContaining("record it again")]);
  });

  it("arguments that are no JSON are told to the model, which may do otherwise", async () => {
    const wrong = says({ calls: [{ name: "Shop_Look", arguments: '{"order": A-7' }] });
    await using server = await serveChat(wrong, says({ text: "I cannot." }));
    const { calls, t } = await openAgent(modelAt(server.url));
    await using _ = t;
    expect((await begin(t)).state).toMatchObject({ state: "completed", response: { text: "I cannot." } });
    expect([calls, JSON.stringify(server.asked[1])]).toEqual([[], expect.stringContaining("no JSON object")]);
  });

  it("that is told to come again later is gone on with after that pause, and not before", async () => {
    await using server = await serveChat(refuses(429, "slow down", { "retry-after": "90" }), done);
    const { t } = await openAgent(modelAt(server.url));
    await using _ = t;
    const from = t.clock.now();
    expect((await begin(t)).state).toMatchObject({ state: "completed" });
    expect([server.asked.length, t.clock.now() - from >= 90_000]).toEqual([2, true]);
  });
});

const words = "the account of org-123 at 10.0.0.7";
/** A stream whose connection ends after its first piece. */
const cut: Say = (answer) => {
  describeChunk(answer, {
    id: "chatcmpl-1",
    choices: [{ index: 0, delta: { content: "Half an" }, finish_reason: null }],
  });
  setImmediate(() => answer.destroy());
};
/** A stream of one message, which is its end as well. */
const streams =
  (chunk: object | string): Say =>
  (answer) => {
    describeChunk(answer, chunk);
    answer.end();
  };

interface Failing {
  readonly what: string;
  readonly say: Say;
  readonly code: string;
  readonly streaming?: boolean;
}
const whole = { code: "MODEL_ANSWER_INVALID", streaming: false };
const failures: readonly Failing[] = [
  { what: "too many calls", say: refuses(429, words), code: "MODEL_RATE_LIMITED" },
  { what: "its own failure", say: refuses(500, words), code: "MODEL_UNAVAILABLE" },
  { what: "a key that is none", say: refuses(401, `${words}: ${apiKey} is none`), code: "MODEL_ACCESS_REFUSED" },
  { what: "a model that is none", say: refuses(404, words), code: "MODEL_UNKNOWN" },
  { what: "a prompt that is too long", say: refuses(400, words), code: "MODEL_REQUEST_REFUSED" },
  { what: "a proxy's page", say: (answer) => tell(answer, 502, `<h1>${words}</h1>`), code: "MODEL_UNAVAILABLE" },
  { what: "a connection that it ends", say: (answer) => void answer.destroy(), code: "MODEL_UNAVAILABLE" },
  { what: "a stream that is cut", say: cut, code: "MODEL_ANSWER_INVALID" },
  { what: "a stream with an error", say: streams({ error: { message: words } }), code: "MODEL_FAILED" },
  { what: "a stream that is no JSON", say: streams(`{${words}`), code: "MODEL_ANSWER_INVALID" },
  { what: "a stream of nothing", say: streams("[DONE]"), code: "MODEL_ANSWER_INVALID" },
  { what: "an answer that is no JSON", say: (answer) => tell(answer, 200, `{${words}`), ...whole },
  { what: "an answer of another shape", say: (answer) => tell(answer, 200, { said: words }), ...whole },
  { what: "an answer without text", say: says({}), code: "MODEL_ANSWER_EMPTY" },
];

/** Asks once; gives how that failed, and all that whoever asked is told. */
async function failOf(model: LanguageModelV4, streaming?: boolean) {
  const { t } = await openAgent(model, { retry: "NONE", streaming });
  await using _ = t;
  const { workflow_id, state } = await begin(t);
  const told: unknown[] = [state.response.text, state.error?.message];
  for await (const delta of t.kernel.assistant(workflow_id, {}, ann)) told.push(delta);
  return { state: state.state, error: state.error, told: JSON.stringify(told) };
}

describe("a provider that fails", () => {
  it.each(failures)("$what: the work fails with $code, in our words, and the same from its record", async (failing) => {
    const { say, code, streaming } = failing;
    using folder = makeTempFolder();
    const path = join(folder.path, "conversation.json");
    await using server = await serveChat(say);
    const failed = await failOf(recordModel(modelAt(server.url), path), streaming);
    expect([failed.state, JSON.stringify(failed.error)]).toEqual(["failed", expect.stringContaining(code)]);
    expect(failed.told).not.toMatch(/org-123|10\.0\.0\.7|127\.0\.0\.1/);
    expect(readFileSync(path, "utf8")).not.toContain(apiKey);
    expect((await failOf(replayModel(path), streaming)).error).toEqual(failed.error);
  });

  it("that cannot be reached", async () => {
    const server = await serveChat();
    await server[Symbol.asyncDispose]();
    const { error } = await failOf(modelAt(server.url));
    expect(JSON.stringify(error)).toContain("MODEL_UNAVAILABLE");
  });
});

describe("a record of a conversation", () => {
  it("that is none is refused when it is opened, with what makes one; so is a model that is none", () => {
    using folder = makeTempFolder();
    const path = join(folder.path, "none.json");
    expect(() => replayModel(path)).toThrow("recordModel makes");
    writeFileSync(path, "[]");
    expect(() => replayModel(path)).toThrow("expected object");
    expect(() => recordModel("gpt" as never, path)).toThrow("is no LanguageModelV4");
  });
});

/** An agent's loop: its turns and its calls of tools are steps, under policy, gates and budgets, and they replay. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, defineOperator, definePolicySet } from "../../../src/index.ts";
import { defineAgent } from "../../../src/packages/operators/llm/index.ts";
import type { LedgerStore } from "../../../src/ports/ledger-store.ts";
import { createTestKernel, memoryLedger, testCaller } from "../../../src/testing/index.ts";
import { payloads } from "../../execution/flow.ts";
import { eventsOf, refusalOf } from "../../fixtures.ts";
import { modelThat, says } from "../../routing/model-fixture.ts";
import { ann, begin, shop } from "./shop.ts";
import { talking, wants } from "./talk.ts";

const lookTurn = wants({ tool: "Shop_Look", input: { order: "A-7" } });
const payTurn = wants({ tool: "Shop_Pay", input: { order: "A-7", cents: 1999 } });

const plain = defineCapability({
  intentType: "Deal.Plain",
  version: "1.0",
  input: z.looseObject({}),
  operators: [],
  plan: { reasoning: "wait", steps: [{ step_id: "s", name: "S", kind: "sleep", params: { ms: 60_000 } }] },
});

describe("an agent", () => {
  it("thinks, has its calls made, thinks again and answers: each a step, each call judged as any other", async () => {
    const { calls, asked, opened } = talking([lookTurn, payTurn, says("It is paid back.")]);
    await using t = await opened;
    const { workflow_id, state } = await begin(t);
    expect([state.state, calls]).toEqual(["waiting_for_user", ["look A-7"]]);
    const [gate, ...others] = await t.kernel.gates({ workflow_id }, ann);
    expect([gate?.operator, gate?.payload, others]).toEqual(["Shop.Pay", { order: "A-7", cents: 1999 }, []]);
    await t.kernel.decideGate(workflow_id, { ...ann, decision: "approve" });
    const end = await t.rest(workflow_id);
    expect([end.state, end.response.text, calls]).toEqual([
      "completed",
      "It is paid back.",
      ["look A-7", "pay A-7 1999"],
    ]);
    const plans = await payloads(t, workflow_id, "PLAN_CREATED");
    expect(plans.map(({ cause, plan }) => [cause, plan.steps.map((s) => s.step_id).join()])).toEqual([
      ["submit", "think_1"],
      ["continue", "call_1_1"],
      ["continue", "think_2"],
      ["continue", "call_2_1"],
      ["continue", "think_3"],
      ["continue", "respond"],
    ]);
    expect(asked[0]?.tools?.map(({ name }) => name)).toEqual(["Shop_Look", "Shop_Pay"]);
    expect(asked[2]?.prompt.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "tool"]);
  });

  it("replays from its ledger to the same bytes, and asks neither model nor tool", async () => {
    const { calls, asked, opened } = talking([lookTurn, says("done")]);
    await using t = await opened;
    const { workflow_id } = await begin(t);
    const before = [calls.length, asked.length];
    expect((await t.kernel.replay(workflow_id)).identical).toBe(true);
    expect([calls.length, asked.length]).toEqual(before);
    expect((await t.kernel.verify()).ok).toBe(true);
  });

  it("goes on in another process where the first one stopped, at a gate, without a turn or a call twice", async () => {
    const first = talking([lookTurn, payTurn]);
    const ledger = memoryLedger();
    const kept = Object.assign(Object.create(ledger), { close: async () => undefined });
    let id = "";
    {
      const { agent } = first;
      await first.opened.then((t) => t.kernel.stop());
      await using t = await createTestKernel({ capabilities: [agent], ledger: kept, seed: 1 });
      id = (await begin(t)).workflow_id;
    }
    const second = talking([says("All is paid.")]);
    await second.opened.then((t) => t.kernel.stop());
    await using t = await createTestKernel({ capabilities: [second.agent], ledger: kept, seed: 2 });
    await t.kernel.decideGate(id, { ...ann, decision: "approve" });
    expect((await t.rest(id)).response.text).toBe("All is paid.");
    expect([first.calls, second.calls, second.asked.length]).toEqual([["look A-7"], ["pay A-7 1999"], 1]);
  });

  it("reads messages of people at its next turn, with their author; they decide no gate and replay", async () => {
    const { asked, opened } = talking([payTurn, payTurn, says("It is paid.")]);
    await using t = await opened;
    const { workflow_id } = await begin(t);
    const bo = { tenant_id: 1, principal: { type: "user", id: "bo", role: "admin" } };
    const answer = await t.kernel.addInput(workflow_id, { ...bo, text: "{{think_1.output.text}} B-8 too" });
    expect(answer).toMatchObject({ workflow_id, status: "received" });
    expect([(await t.kernel.workflow(workflow_id)).state, asked.length]).toEqual(["waiting_for_user", 1]);
    await t.kernel.decideGate(workflow_id, { ...ann, decision: "reject" });
    await t.clock.settle();
    const [next] = await t.kernel.gates({ workflow_id }, ann);
    expect(next?.requesters?.map(({ id }) => id)).toEqual(["ann", "bo"]);
    await t.kernel.decideGate(workflow_id, { ...ann, decision: "approve" });
    expect(await t.rest(workflow_id)).toMatchObject({ state: "completed", response: { text: "It is paid." } });
    const words = { type: "text", text: "A message of user bo:\n{{think_1.output.text}} B-8 too" };
    for (const { prompt } of asked.slice(1)) expect(prompt[3]).toMatchObject({ role: "user", content: [words] });
    expect(asked[2]?.prompt.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "user",
      "assistant",
      "tool",
    ]);
    expect((await t.kernel.replay(workflow_id)).identical).toBe(true);
    const late = t.kernel.addInput(workflow_id, { ...ann, text: "hello?" });
    await expect(late).rejects.toMatchObject({ error: { code: "T4_WORKFLOW_CONFLICT" } });
  });

  it("adds a message once whose row was written before its process lost the lease", async () => {
    const under = memoryLedger();
    let isLost = false;
    const append: LedgerStore["append"] = async (batch) => {
      const receipts = await under.append(batch);
      if (isLost || !batch.some(({ row }) => row.body?.includes("INPUT_ADDED"))) return receipts;
      isLost = true;
      return batch.map(() => ({ ok: false, reason: "fenced" }));
    };
    const { opened } = talking([payTurn, says("It is paid.")], { kernel: { ledger: { ...under, append } } });
    await using t = await opened;
    const { workflow_id } = await begin(t);
    expect(await t.kernel.addInput(workflow_id, { ...ann, text: "B-8 too" })).toMatchObject({ status: "received" });
    const events = await eventsOf(t, workflow_id);
    expect([isLost, events.filter(({ event_type }) => event_type === "INPUT_ADDED").length]).toEqual([true, 1]);
  });

  it("takes another turn for a message that came while it gave its answer, and none after its last", async () => {
    const say = (id: string, text: string) => t.kernel.addInput(id, { ...ann, text });
    let id = "";
    const model = modelThat((options, n) => {
      asked.push(options.prompt.length);
      if (n > 2) return says("never");
      const words = n === 1 ? "first" : "second";
      return new ReadableStream({
        async start(parts) {
          await say(id, `after ${words}`);
          for (const part of says(words)) parts.enqueue(part);
          parts.close();
        },
      });
    });
    const asked: number[] = [];
    const agent = defineAgent({ intentType: "Shop.Help", version: "1.0", tools: shop().tools, model, maxTurns: 2 });
    await using t = await createTestKernel({ capabilities: [agent] });
    const start_at = new Date(t.clock.now() + 1_000).toISOString();
    const intent_hint = { intent_type: "Shop.Help", inputs: { prompt: "hello" } };
    id = (await t.kernel.submit({ ...ann, intent_hint, start_at })).workflow_id;
    await say(id, "before the plan");
    await t.clock.advance(1_000);
    expect((await t.rest(id)).response.text).toBe("second");
    expect(asked).toEqual([2, 4]);
    expect((await t.kernel.replay(id)).identical).toBe(true);
  });

  it("a message that comes while a plan is made stands behind the steps of that plan", async () => {
    const seen: unknown[] = [];
    const note = defineOperator({ name: "Deal.Note", input: z.object({}), run: () => "noted" });
    const noting = defineCapability({
      intentType: "Deal.Note",
      version: "1.0",
      input: z.looseObject({}),
      operators: [note],
      takesInput: true,
      async plan({ situation: { round, inputs }, intent, step }) {
        seen.push(inputs);
        if (round > 0) return { reasoning: "answer", steps: [], direct_response: "done" };
        if (seen.length === 1) await t.kernel.addInput(id, { ...ann, text: "meanwhile" });
        const steps = [step({ step_id: "note", name: "Note", operator: "Deal.Note", params: {} })];
        return { reasoning: intent.type, steps, continues: true };
      },
    });
    await using t = await createTestKernel({ capabilities: [noting] });
    const start_at = new Date(t.clock.now() + 1_000).toISOString();
    const intent_hint = { intent_type: "Deal.Note", inputs: {} };
    const id = (await t.kernel.submit({ ...ann, intent_hint, start_at })).workflow_id;
    await t.clock.advance(1_000);
    expect((await t.rest(id)).state).toBe("completed");
    expect(seen.at(0)).toBeUndefined();
    expect(seen.at(-1)).toEqual([{ text: "meanwhile", author: { type: "user", id: "ann" }, follows: "note" }]);
    expect((await t.kernel.replay(id)).identical).toBe(true);
  });

  it("a message to a plan that another process makes anew stands behind that plan as well", async () => {
    const seen: unknown[] = [];
    const note = defineOperator({ name: "Deal.Note", input: z.object({}), run: () => "noted" });
    const noting = defineCapability({
      intentType: "Deal.Note",
      version: "1.0",
      input: z.looseObject({}),
      operators: [note],
      takesInput: true,
      plan({ situation: { round, inputs }, intent, step }) {
        seen.push(inputs);
        if (seen.length === 1) return new Promise<never>(() => undefined);
        if (round > 0) return { reasoning: "answer", steps: [], direct_response: "done" };
        const steps = [step({ step_id: "note", name: "Note", operator: "Deal.Note", params: {} })];
        return { reasoning: intent.type, steps, continues: true };
      },
    });
    const ledger = memoryLedger();
    const first = await createTestKernel({ capabilities: [noting], ledger, seed: 1 });
    const id = await first.submit("Deal.Note");
    await first.clock.settle();
    await first.kernel.addInput(id, { ...testCaller, text: "meanwhile" });
    await first.kernel.stop({ drainMs: 0 });
    await using t = await createTestKernel({ capabilities: [noting], ledger, seed: 2 });
    expect((await t.rest(id)).state).toBe("completed");
    const words = seen.map((inputs) => ((inputs ?? []) as { text: string }[]).map(({ text }) => text));
    expect([words[1], words.at(-1)]).toEqual([[], ["meanwhile"]]);
  });

  it("a message is refused where no agent reads it, of strangers, and without words", async () => {
    const { opened } = talking([payTurn]);
    await using t = await opened;
    const { workflow_id } = await begin(t);
    const say = (more: object) => t.kernel.addInput(workflow_id, { ...ann, text: "more", ...more } as never);
    const refused = async (made: Promise<unknown>) => (await refusalOf(made)).code;
    expect(await refused(say({ text: "" }))).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    expect(await refused(say({ tenant_id: 2 }))).toBe("T4_WORKFLOW_NOT_FOUND");
    expect(await refused(say({ principal: { type: "user", id: "x", role: "viewer" } }))).toBe("T5_AUTHN_FAILED");
    await using u = await createTestKernel({ capabilities: [plain] });
    const id = await u.submit("Deal.Plain");
    await u.clock.settle();
    expect(await refused(u.kernel.addInput(id, { ...ann, text: "more" }))).toBe("T4_INPUT_NOT_TAKEN");
  });

  it("a call that a person rejects is reported to the model with the comment, and the model goes on", async () => {
    const { calls, asked, opened } = talking([payTurn, lookTurn, says("I have asked for less.")]);
    await using t = await opened;
    const { workflow_id } = await begin(t);
    await t.kernel.decideGate(workflow_id, { ...ann, decision: "reject", payload: { comment: "{{too}} much" } });
    const end = await t.rest(workflow_id);
    expect([end.state, end.response.text, calls]).toEqual(["completed", "I have asked for less.", ["look A-7"]]);
    const [, , result] = asked[1]?.prompt ?? [];
    expect(result).toMatchObject({
      role: "tool",
      content: [{ output: { type: "error-text", value: "a person rejected it: {{too}} much" } }],
    });
    expect((await t.kernel.replay(workflow_id)).identical).toBe(true);
  });

  it("asks a person about each call that the model makes again, and ends after its turns", async () => {
    const { calls, asked, opened } = talking([payTurn, payTurn, says("Nobody wants it.")], { maxTurns: 3 });
    await using t = await opened;
    const { workflow_id } = await begin(t);
    for (const _ of [1, 2]) {
      const [gate] = await t.kernel.gates({ workflow_id }, ann);
      await t.kernel.decideGate(workflow_id, { ...ann, gate_id: gate?.gate_id, decision: "reject" });
      await t.rest(workflow_id);
    }
    expect([(await t.rest(workflow_id)).state, calls, asked.length]).toEqual(["completed", [], 3]);
  });

  it("a person's no with onRejected: end, and a policy's, end the work: the call is not made", async () => {
    const rejected = talking([payTurn], { onRejected: "end" });
    await using t = await rejected.opened;
    const { workflow_id } = await begin(t);
    await t.kernel.decideGate(workflow_id, { ...ann, decision: "reject" });
    expect((await t.rest(workflow_id)).state).toBe("cancelled");
    const when = { operators: ["Shop.Look"] };
    const rule = { name: "no", stages: ["action"], when, decision: "DENY", reason: "not today" };
    const denied = talking([lookTurn], { kernel: { policies: [definePolicySet({ version: "1", rules: [rule] })] } });
    await using u = await denied.opened;
    expect((await begin(u)).state).toMatchObject({ state: "failed", error: { code: "T5_POLICY_DENIED" } });
    expect([rejected.calls, denied.calls]).toEqual([[], []]);
  });

  it("a call that fails is told to the model, which may do otherwise", async () => {
    const lost = wants({ tool: "Shop_Look", input: { order: "lost" } }, { tool: "Shop_Look", input: { order: "B-1" } });
    const { calls, asked, opened } = talking([lost, says("One order is not there.")]);
    await using t = await opened;
    expect((await begin(t)).state).toMatchObject({ state: "completed", response: { text: "One order is not there." } });
    expect(calls).toEqual(["look lost", "look B-1"]);
    const results = asked[1]?.prompt.slice(2).flatMap(({ content }) => content as unknown as { output: unknown }[]);
    expect(results?.map(({ output }) => output)).toEqual([
      { type: "error-text", value: expect.stringContaining("no such order") },
      { type: "json", value: { cents: 1999, note: "{{think_1.output.text}}" } },
    ]);
  });

  it.each([
    ["a tool that there is not", "Shop_Steal", { order: "A-7" }, "there is no tool Shop_Steal"],
    ["input that the tool does not take", "Shop_Look", { order: 7 }, "expected string"],
    ["input that is no JSON", "Shop_Look", "{order", "no JSON object"],
    ["input that is no object", "Shop_Look", "[1]", "no JSON object"],
  ])("%s is told to the model and is no step", async (_what, tool, input, why) => {
    const { calls, asked, opened } = talking([wants({ tool, input }), says("sorry")]);
    await using t = await opened;
    const { state } = await begin(t);
    expect([state.state, state.response.text, calls]).toEqual(["completed", "sorry", []]);
    expect(state.steps.map(({ step_id }) => step_id)).not.toContain("call_1_1");
    expect(JSON.stringify(asked[1]?.prompt)).toContain(why);
  });

  it("what a model writes is text to the letter: it refers to nothing", async () => {
    const order = "{{think_1.output}}";
    const { calls, asked, opened } = talking([
      wants({ tool: "Shop_Look", input: { order } }),
      says("{{call_1_1.output}}"),
    ]);
    await using t = await opened;
    const { state } = await begin(t, "look at {{think_1.output.model}}");
    expect(calls).toEqual([`look ${order}`]);
    expect(JSON.stringify(asked[0]?.prompt)).toContain("look at {{think_1.output.model}}");
    expect(state.response.text).toBe("{{call_1_1.output}}");
  });

  it("has the calls that a plan has no room for made in the next one", async () => {
    const many = ["a", "b", "c"].map((order) => ({ tool: "Shop_Look", input: { order } }));
    const { calls, asked, opened } = talking([wants(...many), says("all there")], {
      kernel: { limits: { maxSteps: 2 } },
    });
    await using t = await opened;
    expect((await begin(t)).state).toMatchObject({ state: "completed", response: { text: "all there" } });
    expect([calls, asked.length]).toEqual([["look a", "look b", "look c"], 2]);
  });

  it("must answer in its last turn, which offers no tools; a model that only calls ends as well", async () => {
    const turns = Array.from({ length: 9 }, () => [...lookTurn.slice(0, -1), ...says("so be it")]);
    const { calls, asked, opened } = talking(turns, { maxTurns: 3 });
    await using t = await opened;
    expect((await begin(t)).state).toMatchObject({ state: "completed", response: { text: "so be it" } });
    expect([calls.length, asked.map(({ tools }) => tools?.length)]).toEqual([2, [2, 2, undefined]]);
  });

  it("stops when its budget is spent: by the tenant's money, the package's rounds, the kernel's rounds", async () => {
    const turns = Array.from({ length: 9 }, () => lookTurn);
    const price = { in: 1_000_000, out: 0 };
    const money = talking(turns, { price, kernel: { budgets: { limits: [{ scope: "tenant", money: 45 }] } } });
    await using t = await money.opened;
    expect((await begin(t)).state).toMatchObject({ state: "failed", error: { code: "T5_BUDGET_EXHAUSTED" } });
    expect(money.asked.length).toBeLessThan(4);
    const rounds = talking(turns, { limits: { max_invocations: 3 } });
    await using u = await rounds.opened;
    expect((await begin(u)).state.state).toBe("failed");
    expect(rounds.asked.length).toBe(2);
    const kernel = talking(turns, { kernel: { limits: { maxRounds: 4 } } });
    await using v = await kernel.opened;
    expect((await begin(v)).state).toMatchObject({ state: "failed", error: { code: "T4_ROUNDS_EXHAUSTED" } });
    expect(kernel.calls.length).toBe(2);
  });

  it("is refused where two tools have one name towards models, and with options that there are not", () => {
    const twin = defineOperator({ name: "Shop_Look", input: z.object({}), run: () => 1 });
    const model = modelThat(() => says("?"));
    const define = (more: object) => () =>
      defineAgent({ intentType: "Shop.Help", version: "1.0", tools: shop().tools, model, ...more });
    expect(define({ tools: [...shop().tools, twin] })).toThrow("two tools are called Shop_Look");
    expect(define({ maxTurn: 3 })).toThrow('did you mean "maxTurns"');
    expect(define({ maxTurns: 0 })).toThrow("maxTurns");
    expect(define({ model: undefined })).toThrow("there is no model");
  });
});

describe("an agent with a budget of its own", () => {
  const turns = Array.from({ length: 9 }, () => [...lookTurn.slice(0, -1), ...says("so be it")]);
  // A turn reads 30 tokens and writes 12, at 30 each million tokens that are read.
  const price = { in: 1_000_000, out: 0 };

  it.each([
    [{ tokens: 84 }, 3],
    [{ tokens: 85 }, 4],
    [{ money: 60 }, 3],
    [{ tokens: 1_000, money: 30 }, 2],
  ] as const)("has its last word after it used up %j: in turn %i", async (budget, last) => {
    const { asked, opened } = talking(turns, { price, budget });
    await using t = await opened;
    const { workflow_id, state } = await begin(t);
    expect([state.state, state.response.text, asked.length]).toEqual(["completed", "so be it", last]);
    expect(asked.map(({ tools = [] }) => tools.length > 0)).toEqual(asked.map((_, i) => i < last - 1));
    expect((await t.kernel.replay(workflow_id)).identical).toBe(true);
  });

  it("sets aside, before each turn, what it may use: a ceiling that it would exceed refuses the turn", async () => {
    const ceiling = (tokens: number) => ({ budgets: { limits: [{ scope: "tenant", tokens }] } }) as const;
    const enough = talking([says("yes")], { maxOutputTokens: 500, kernel: ceiling(503) });
    await using t = await enough.opened;
    const { workflow_id, state } = await begin(t);
    expect([state.state, (await t.kernel.replay(workflow_id)).identical]).toEqual(["completed", true]);
    const [{ amounts } = { amounts: {} }] = await payloads(t, workflow_id, "BUDGET_RESERVED");
    expect(amounts).toMatchObject({ tokens: 503 });
    const little = talking([says("yes")], { maxOutputTokens: 500, kernel: ceiling(502) });
    await using u = await little.opened;
    const refused = await begin(u);
    expect([refused.state.error?.code, little.asked.length]).toEqual(["T5_BUDGET_EXHAUSTED", 0]);
  });
});

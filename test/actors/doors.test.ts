/** A tier's door: only valid Signals come in, exactly one valid Result goes out, and nothing thrown crosses it. */
import { describe, expect, it } from "vitest";
import { kernelError } from "../../src/contract/error-codes.ts";
import { moduleRef } from "../../src/contract/module-ref.ts";
import { fail, metricsOf, ok, partial, Result, skip } from "../../src/contract/result.ts";
import { createSignal, type Signal } from "../../src/contract/signal.ts";
import type { BusItem, Tier } from "../../src/engine/actors/bus.ts";
import type { TierDefinition } from "../../src/engine/actors/define-tier.ts";
import type { TierPatch } from "../../src/kernel/options.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import {
  allTiers,
  askData,
  data,
  errand,
  gated,
  intentType,
  isAnswer,
  isDelivery,
  malformedText,
  oneStep,
  patchDoor,
  patchDoors,
  step,
  testRef,
  tool,
} from "./fixture.ts";

/** Remembers every tier's definition as the kernel made it. */
function spyDefinitions(change: TierPatch = (definition) => definition) {
  const definitions: TierDefinition[] = [];
  const patchTier: TierPatch = (definition) => {
    definitions.push(definition);
    return change(definition);
  };
  const keys = (): readonly (readonly [Tier, string])[] =>
    definitions.flatMap(({ tier, doors }) => Object.keys(doors).map((key) => [tier, key] as const));
  return { patchTier, keys };
}

/** A Signal of a door's kind with this inside. */
function signalFor(key: string, inside: unknown): Signal {
  const [kind, name] = key.split(":") as [Signal["kind"], string];
  const bodies = {
    text: { text: inside },
    data: { data: inside, schema: name },
    file: { file_id: "f", file_type: inside },
    command: { action: name, target: moduleRef(4, "ooda_loop", "act"), intake: inside, workflow_id: inside },
    stream: { chunk: "c", sequence: 1, final: true },
  };
  return createSignal(kind, bodies[kind], testRef, "cor_test");
}

describe("what goes out", () => {
  it("[RES-04] every Signal of real runs, given to its door again, is answered by a Result", async () => {
    await using t = await createTestKernel({ capabilities: [gated()] });
    const { workflow_id } = await t.run(intentType, {}, { input: { text: "an errand" }, thread_id: "t" });
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    const recorded = t.items.filter(isDelivery).filter(({ reply }) => reply !== null);
    expect(new Set(recorded.map(({ to }) => to))).toEqual(new Set([1, 2, 3, 4, 5, 6, 7]));
    for (const { to, signal } of recorded) {
      expect(Result.safeParse(await t.kernel.ask(to, signal)).success, `T${to}`).toBe(true);
    }
  });

  it.each([null, 5, "text", [], {}])("[RES-04] every door answers a body of %j with a Result", async (inside) => {
    const spy = spyDefinitions();
    await using t = await createTestKernel({ capabilities: [oneStep()], patchTier: spy.patchTier });
    expect(spy.keys().length).toBeGreaterThan(30);
    for (const [tier, key] of spy.keys()) {
      const result = await t.kernel.ask(tier, signalFor(key, inside));
      expect(Result.safeParse(result).success, `T${tier} ${key}`).toBe(true);
    }
    expect((await t.run(intentType)).state).toBe("completed");
  });

  it.each([
    [
      "an Error",
      () => {
        throw new Error("thrown");
      },
    ],
    [
      "a text",
      () => {
        throw "thrown";
      },
    ],
    [
      "nothing",
      () => {
        throw undefined;
      },
    ],
    ["a rejection", () => Promise.reject(new Error("thrown"))],
    ["no Result at all", () => "thrown" as never],
    ["a late nothing", async () => undefined as never],
  ])("[ERR-17, RES-04] %s from any handler leaves its tier as an error Result", async (_what, handle) => {
    const spy = spyDefinitions(patchDoors((door) => ({ ...door, handle })));
    await using t = await createTestKernel({ capabilities: [oneStep()], patchTier: spy.patchTier });
    for (const [tier, key] of spy.keys()) {
      if (key.startsWith("command")) continue;
      const signal = signalFor(key, "x");
      const result = await t.kernel.ask(tier, signal);
      expect(Result.safeParse(result).success).toBe(true);
      expect(result).toMatchObject({ status: "error", signals: [], error: { category: expect.any(String) } });
      expect(t.items.filter((item) => isAnswer(item) && item.in_reply_to === signal.id)).toHaveLength(1);
    }
  });

  it("[VAL-06] an inconsistent Result is replaced by an error, and its consumer never sees it", async () => {
    const error = kernelError("T4_OPERATOR_BUG", "not for ok", testRef);
    const patchTier = patchDoor(7, "data:Registration", () => ({
      handle: (signal) => ({ ...ok([signal], metricsOf(testRef)), error }),
    }));
    await using t = await createTestKernel({ capabilities: [oneStep()], patchTier });
    await expect(t.submit(intentType)).rejects.toMatchObject({ error: { code: "T0_VALIDATION_SCHEMA_MISMATCH" } });
    const results = t.items.filter(isAnswer).map(({ from, result }) => [from, result.status, result.error?.code]);
    expect(results).toContainEqual([7, "error", "T0_VALIDATION_SCHEMA_MISMATCH"]);
    expect(JSON.stringify(results)).not.toContain("T4_OPERATOR_BUG");
    expect((await t.kernel.workflows()).length).toBe(0);
  });

  it("[VAL-06] a Result with a malformed Signal in it is not let out", async () => {
    const patchTier = patchDoor(2, "data:ContextRequest", () => ({
      handle: () => ok([malformedText()], metricsOf(testRef)),
    }));
    await using t = await createTestKernel({ capabilities: [oneStep()], patchTier });
    const { error } = await t.run(intentType);
    expect(error).toMatchObject({ code: "T0_VALIDATION_SCHEMA_MISMATCH", cause: { detail: { missing: ["text"] } } });
  });
});

describe("what comes in", () => {
  it.each(allTiers)("[VAL-03] a TEXT without text reaches no handler of T%i", async (tier) => {
    let calls = 0;
    const patchTier = patchDoors((door) => ({
      ...door,
      handle: (signal, runtime) => {
        calls += 1;
        return door.handle(signal, runtime);
      },
    }));
    await using t = await createTestKernel({ capabilities: [oneStep()], patchTier });
    const result = await t.kernel.ask(tier, malformedText());
    expect(result).toMatchObject({ status: "error", error: { code: "T0_VALIDATION_SCHEMA_MISMATCH" } });
    expect(result.error?.detail).toMatchObject({ kind: "text", missing: ["text"] });
    expect(calls).toBe(0);
    const answer = t.items.findLast(isAnswer) as BusItem;
    expect(answer).toMatchObject({ from: tier, result: { status: "error" } });
  });

  it("[VAL-03] a well-formed Signal of a kind that the tier has no door for is refused too", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep()] });
    for (const tier of allTiers) {
      const { error } = await askData(t, tier, "NobodyKnowsThis", { a: 1 });
      expect(error).toMatchObject({ code: "T0_VALIDATION_SCHEMA_MISMATCH", category: "input" });
    }
  });

  it("[BRG-04] a tool call without tool or args, and one of another kind, come back as input errors", async () => {
    const client = { request: async () => ({ content: [] }) };
    await using t = await createTestKernel({
      capabilities: [errand([step("s1", "Test.Get")], [tool("Test.Get", client)])],
    });
    for (const body of [{ args: {} }, { tool: "get" }, { tool: "", args: {} }, { tool: "get", args: [] }]) {
      const signal = createSignal("data", { ...body, data: {}, schema: "ToolCall" }, testRef, "cor_test");
      const result = await t.kernel.ask(0, signal);
      expect(result).toMatchObject({ status: "error", signals: [], error: { category: "input" } });
      expect(result.error?.source).toEqual(moduleRef(0, "bridge", "signal_to_tool_call"));
    }
    const text = createSignal("text", { text: "call the tool" }, testRef, "cor_test");
    expect((await t.kernel.ask(0, text)).error?.category).toBe("input");
  });
});

const slowly = (ms: number, result: () => Result): TierPatch =>
  patchDoor(7, "data:Registration", () => ({
    handle: (_signal, { clock }) =>
      new Promise((resolve) => void clock.setTimer(clock.now() + ms, () => resolve(result()))),
  }));

describe("metrics", () => {
  it("[RES-11] a handler of 25 ms and 120 tokens reports both, and who it is", async () => {
    const ref = moduleRef(7, "team_orchestrator", "register");
    const patchTier = slowly(25, () => ok([data("Registered", {})], metricsOf(ref, { token_count: 120 })));
    await using t = await createTestKernel({ capabilities: [oneStep()], patchTier });
    const asked = askData(t, 7, "Registration", { workflow_id: "wf", tenant_id: 1, principal: null });
    await t.clock.advance(25);
    const expected = { duration_ms: 25, token_count: 120, cache_hit: false, module_ref: ref };
    expect((await asked).metrics).toEqual(expected);
  });

  it("[RES-11] the classifier's wall time is the time of the perception that waited for it", async () => {
    let ready = (): void => undefined;
    const answered = new Promise<void>((resolve) => {
      ready = resolve;
    });
    const classify = async () => {
      await answered;
      return { intent_type: intentType, domain: "general", confidence: 1 };
    };
    await using t = await createTestKernel({ capabilities: [oneStep()], classifier: { classify } });
    const submitted = t.submit(intentType, {}, { input: { text: "an errand" } });
    await t.clock.advance(25);
    ready();
    await submitted;
    const perceived = t.items.filter(isAnswer).find(({ from }) => from === 1);
    expect(perceived?.result.metrics).toMatchObject({ duration_ms: 25, token_count: 0 });
    expect(perceived?.result.metrics.module_ref).toEqual(moduleRef(1, "classification", "classify"));
  });

  it("[RES-11] a second question answered from the cache says so", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep()] });
    await t.run(intentType, {}, { thread_id: "thread" });
    const question = t.items.filter(isDelivery).find(({ to }) => to === 2)?.signal as Signal;
    const hits = [await t.kernel.ask(2, question), await t.kernel.ask(2, question)];
    expect(hits.map(({ metrics }) => metrics.cache_hit)).toEqual([false, true]);
  });
});

describe("a chain of modules", () => {
  it("[RES-10] the next module gets exactly the Signals of the one before, in order, by the route alone", async () => {
    const seen: Signal[] = [];
    let made: readonly Signal[] = [];
    const notes = ["first", "second"].map((type) => data("Notification", { type }));
    const patchTier: TierPatch = (definition) => {
      const watched = patchDoors((door, tier) => ({
        ...door,
        handle: (signal, runtime) => {
          if (tier === 6 && definition.tier === 6) seen.push(signal);
          return door.handle(signal, runtime);
        },
      }))(definition);
      return patchDoor(1, "data:SubmitRequest", ({ handle }) => ({
        async handle(signal, runtime) {
          const result = await handle(signal, runtime);
          made = [...notes, ...result.signals];
          return { ...result, signals: made };
        },
      }))(watched);
    };
    await using t = await createTestKernel({ capabilities: [oneStep()], patchTier });
    expect((await t.run(intentType)).state).toBe("completed");
    expect(made).toHaveLength(3);
    expect(seen.slice(0, 3)).toEqual(made);
  });

  it("[RES-10] a module knows the next one by number alone", async () => {
    const { patchTier } = spyDefinitions(({ doors, ...definition }) => {
      for (const { next } of Object.values(doors)) expect(next === undefined || allTiers.includes(next)).toBe(true);
      return { ...definition, doors };
    });
    await using t = await createTestKernel({ capabilities: [oneStep()], patchTier });
    await t.run(intentType);
    const route = t.items.filter(isDelivery).filter(({ reply, signal }) => reply !== signal.id && reply !== null);
    expect(route.map(({ to }) => to)).toEqual([6, 5, 4]);
  });
});

const registered = () => data("Registered", {});
const lowMemory = kernelError(
  "T7_SPAWN_INSUFFICIENT_RESOURCES",
  "nearly full",
  moduleRef(7, "agent_spawning", "spawn"),
);

describe("what a consumer makes of a Result", () => {
  const register = (answer: () => Result) => patchDoor(7, "data:Registration", () => ({ handle: answer }));
  const metrics = metricsOf(moduleRef(7, "team_orchestrator", "register"));

  it("[RES-09] ok and skip are passed over in silence, and the chain goes on", async () => {
    for (const answer of [() => ok([registered()], metrics), () => skip("asleep", metrics)]) {
      await using t = await createTestKernel({ capabilities: [oneStep()], patchTier: register(answer) });
      expect((await t.run(intentType)).state).toBe("completed");
      expect(t.logged.filter(({ level }) => level !== "debug")).toEqual([]);
    }
  });

  it("[RES-09] of partial what is there is used, and its one error is logged", async () => {
    const patchTier = register(() => partial([registered()], lowMemory, metrics));
    await using t = await createTestKernel({ capabilities: [oneStep()], patchTier });
    expect((await t.run(intentType)).state).toBe("completed");
    expect(t.logged.map(({ detail }) => detail)).toEqual([{ error: lowMemory }]);
  });

  it("[RES-09] of error nothing is used: the request is refused with it", async () => {
    await using t = await createTestKernel({
      capabilities: [oneStep()],
      patchTier: register(() => fail(lowMemory, metrics)),
    });
    await expect(t.submit(intentType)).rejects.toMatchObject({ error: lowMemory });
    expect(t.marks.some(({ stage }) => stage === "plan.create")).toBe(false);
  });

  it.each([
    [true, "completed", 2],
    [false, "failed", 1],
  ])("[RES-09] an error Result with retry_eligible %s is tried again or escalated", async (retry, state, calls) => {
    let asked = 0;
    const client = { request: async () => ({ content: [{ type: "text", text: "hi" }] }) };
    const failing = kernelError("T4_TOOL_EXECUTION_FAILED", "not now", moduleRef(4, "tool_execution", "call"), {
      retry,
    });
    const patchTier = patchDoor(0, "data:ToolCall", ({ handle }) => ({
      handle: (signal, runtime) => {
        asked += 1;
        return asked === 1 ? fail(failing, metricsOf(moduleRef(0, "bridge", "call_tool"))) : handle(signal, runtime);
      },
    }));
    const capabilities = [errand([step("s1", "Test.Get")], [tool("Test.Get", client, { retry: "STANDARD" })])];
    await using t = await createTestKernel({ capabilities, patchTier, limits: { maxReplans: 0 } });
    const { workflow_id, ...end } = await t.run(intentType);
    expect([end.state, asked]).toEqual([state, calls]);
    expect((await t.types(workflow_id)).includes("ERROR_ESCALATED")).toBe(!retry);
  });
});

// Replay: from the lines and the seed alone the same lines again, or the first that differs. Over random token graphs
// with random refusals, failures and yields, submitted between the runs.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  contextHash,
  createTokenKernel,
  foldTokenSpend,
  replayTokens,
  type TokenDraft,
  type TokenEvent,
  type TokenExecutor,
  type TokenKernel,
} from "../../src/index.ts";
import { runs } from "../properties/property-runs.ts";
import { draft, open } from "./kernels.ts";

/** What an executor does is said by the payload; `late` executors take some turns of the event loop. */
const act: TokenExecutor = ({ id, payload }, context) => {
  const todo = (payload ?? []) as readonly string[];
  if (todo.includes("remember")) context.memory.write(`key${id % 3}`, context.random());
  if (todo.includes("recall")) context.emit("recalled", { value: context.memory.read("key1") ?? null });
  if (todo.includes("tell")) context.emit("told", { usage: context.capabilityUsage(), now: context.now() });
  if (todo.includes("save")) context.checkpoint({ id });
  if (todo.includes("fail")) throw new Error(`token ${id} fails`);
  if (todo.includes("yield"))
    return {
      status: "Yielded",
      tokens: [draft({ cost: 2, payload: ["tell"] }), draft({ priority: 9, capability: 1 })],
    };
  return { status: "Completed", output: id };
};
const late: TokenExecutor = async (token, context) => {
  for (let turns = token.id % 4; turns > 0; turns -= 1) await Promise.resolve();
  return act(token, context);
};

type Act = TokenDraft | "process" | "register";

const deeds = ["remember", "recall", "tell", "save", "fail", "yield"] as const;
const amount = fc.nat({ max: 6 });
const someDraft: fc.Arbitrary<Act> = fc
  .record({
    priority: fc.constantFrom(0, 1, 1, 255),
    cost: amount,
    capability: fc.constantFrom(null, null, 1, 2, 3),
    budget: fc.record({ limit: fc.option(amount, { nil: null }), consumed: fc.nat({ max: 2 }) }),
    resources: fc.record({ cpu_time: amount, memory_bytes: amount, network_bytes: amount, tokens: amount }),
    dependencies: fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 3 }),
    payload: fc.uniqueArray(fc.constantFrom(...deeds), { maxLength: 3 }),
  })
  .map((fields) => ({ ...fields, context_hash: contextHash(fields.payload) }));
const story = fc.record({
  acts: fc.array(
    fc.oneof(
      { weight: 6, arbitrary: someDraft },
      { weight: 3, arbitrary: fc.constant<Act>("process") },
      { weight: 1, arbitrary: fc.constant<Act>("register") },
    ),
    { maxLength: 30 },
  ),
  limits: fc.record({
    cpu_time: fc.option(fc.nat({ max: 40 }), { nil: null }),
    tokens: fc.option(fc.nat({ max: 40 }), { nil: null }),
  }),
  seed: fc.nat(),
});
type Story = typeof story extends fc.Arbitrary<infer T> ? T : never;

const capabilities = [
  ["search", { max_invocations: 3 }],
  ["write", { max_tokens: 6 }],
  ["read", {}],
] as const;

/** Plays a story; a draft that the kernel refuses is left out, as a host would have to. */
async function play({ acts, limits, seed }: Story, executor: TokenExecutor): Promise<TokenKernel> {
  const kernel = createTokenKernel({ seed, limits, executor });
  for (const each of acts) await playOne(kernel, each);
  await kernel.run();
  return kernel;
}

async function playOne(kernel: TokenKernel, each: Act): Promise<void> {
  if (each === "process") await kernel.processNext();
  else if (each === "register") {
    const next = capabilities[kernel.capabilities().length];
    if (next !== undefined) kernel.registerCapability(next[0], next[1]);
  } else {
    const known = (id: number) => kernel.events().some((event) => event.token_id === id);
    kernel.submitToken({ ...each, dependencies: each.dependencies?.filter(known) ?? [] });
  }
}

const overStories = (law: (told: Story) => Promise<void>, numRuns = 150): Promise<void> =>
  fc.assert(
    fc.asyncProperty(story, (told) => law(told)),
    { numRuns: runs(numRuns) },
  );

/** Kinds a token may have after it was refused: none. */
const refusedIn = (events: readonly TokenEvent[]): ReadonlySet<number> =>
  new Set(events.filter(({ kind }) => kind.endsWith("_violation")).map(({ token_id }) => token_id));

describe("random token graphs with random refusals", () => {
  it("[EVT-13] [TOK-08] two runs give the same bytes, and a replay of the lines and the seed does too", () =>
    overStories(async (told) => {
      const kernel = await play(told, act);
      const jsonl = kernel.toJsonl();
      expect((await play(told, act)).toJsonl()).toBe(jsonl);
      const replay = await replayTokens(jsonl, { seed: told.seed, executor: act });
      expect(replay).toEqual({ identical: true, jsonl, difference: null });
    }));

  it("[EVT-13] [A-22] asynchronous executors, one at a time, as well", () =>
    overStories(async (told) => {
      const kernel = await play(told, late);
      const replay = await replayTokens(kernel.toJsonl(), { seed: told.seed, executor: late });
      expect(replay.difference).toBeNull();
    }, 60));

  it("[EVT-15] [CAP-06] the counters are the fold of the events, and none ever fell", () =>
    overStories(async (told) => {
      const kernel = await play(told, act);
      const { capabilities: spent, resources } = foldTokenSpend(kernel.events());
      for (const { handle, usage } of kernel.capabilities())
        expect({ invocations: 0, tokens: 0, ...spent.find((each) => each.handle === handle)?.usage }).toEqual(usage);
      for (const [resource, { consumed }] of Object.entries(kernel.governor()))
        expect(resources[resource as keyof typeof resources]).toBe(consumed);
    }));

  it("[EVT-08] [GOV-04] no refused token changed a counter, or ran", () =>
    overStories(async (told) => {
      const kernel = await play({ ...told, acts: told.acts.filter((each) => each !== "process") }, act);
      const refused = refusedIn(kernel.events());
      const kinds = Map.groupBy(kernel.events(), ({ token_id }) => token_id);
      for (const id of refused) expect(kinds.get(id)).toHaveLength(2);
      const kept = createTokenKernel({ seed: 1, limits: told.limits, executor: () => undefined });
      for (const each of told.acts) if (each !== "process") await playOne(kept, each);
      let before = JSON.stringify([kept.governor(), kept.capabilities()]);
      for (let done = await kept.processNext(); done !== null; done = await kept.processNext()) {
        const after = JSON.stringify([kept.governor(), kept.capabilities()]);
        if (done.status === "refused") expect(after).toBe(before);
        before = after;
      }
    }));

  it("[TOK-05] nothing started before each of its dependencies had completed, or what they yielded had", () =>
    overStories(async (told) => {
      const events = (await play(told, act)).events();
      const completedAt = new Map(
        events.filter(({ detail }) => detail["status"] === "completed").map((e) => [e.token_id, e.timestamp]),
      );
      const heirs = new Map(
        events.filter(({ kind }) => kind === "yielded").map((e) => [e.token_id, e.detail["tokens"] as number[]]),
      );
      const endOf = (id: number): number =>
        heirs.has(id)
          ? Math.max(...(heirs.get(id) ?? []).map(endOf))
          : (completedAt.get(id) ?? Number.POSITIVE_INFINITY);
      const dependencies = new Map(
        events
          .filter(({ kind }) => kind === "scheduled")
          .map((e) => [e.token_id, e.detail["dependencies"] as number[]]),
      );
      for (const { token_id, timestamp } of events.filter(({ kind }) => kind === "started"))
        for (const id of dependencies.get(token_id) ?? []) expect(endOf(id)).toBeLessThan(timestamp);
    }));

  it("every token ends, by completing, failing, yielding, being refused or being cancelled", () =>
    overStories(async (told) => {
      const kernel = await play(told, act);
      const last = new Map(kernel.events().map((event) => [event.token_id, event]));
      for (const { kind, label } of last.values())
        expect(
          ["completed", "yielded", "dependency_cancelled"].includes(label ?? kind) || kind.endsWith("_violation"),
        ).toBe(true);
      expect(kernel.queueLength()).toBe(0);
    }));
});

describe("replay", () => {
  const recorded = (): string => {
    const kernel = open({ limits: { tokens: 9 }, executor: act });
    const capability = kernel.registerCapability("search", { max_invocations: 1 });
    kernel.submitToken(draft({ capability, cost: 2, payload: ["tell", "save"] }));
    kernel.processNext();
    kernel.submitToken(draft({ capability, payload: ["yield"] }));
    kernel.submitToken(draft({ priority: 7, payload: ["yield"], resources: { tokens: 4 } }));
    kernel.run();
    return kernel.toJsonl();
  };

  it("[EVT-13] the order of the lines does not matter, nor empty lines", async () => {
    const jsonl = recorded();
    const shuffled = `\n${jsonl.split("\n").toReversed().join("\n\n")}\n`;
    expect(await replayTokens(shuffled, { seed: 1, executor: act })).toEqual({
      identical: true,
      jsonl,
      difference: null,
    });
  });

  it("[EVT-13] what came from outside while an executor ran is fed at the same place", async () => {
    const during: { kernel?: TokenKernel } = {};
    const submits: TokenExecutor = ({ id }, { emit }) => {
      emit("before");
      if (id === 1) during.kernel?.submitToken(draft({ priority: 9 }));
      emit("after");
    };
    const quiet: TokenExecutor = (_, { emit }) => {
      emit("before");
      emit("after");
    };
    const kernel = open({ executor: submits });
    during.kernel = kernel;
    kernel.submitToken(draft());
    kernel.submitToken(draft());
    kernel.run();
    const { difference, jsonl } = await replayTokens(kernel.toJsonl(), { seed: 1, executor: quiet });
    expect([difference, jsonl]).toEqual([null, kernel.toJsonl()]);
  });

  it("[EVT-13] [A-22] several asynchronous executors at once are started in the recorded order", async () => {
    const kernel = open({ executor: late });
    for (let i = 0; i < 4; i += 1) kernel.submitToken(draft({ priority: i % 2 }));
    await Promise.all([kernel.processNext(), kernel.processNext(), kernel.processNext()]);
    await kernel.run();
    expect(await replayTokens(kernel.toJsonl(), { seed: 1, executor: late })).toMatchObject({ difference: null });
  });

  it.each<[string, (jsonl: string) => string, Partial<{ executor: TokenExecutor; seed: number }>, number, RegExp]>([
    ["an executor that does otherwise", (jsonl) => jsonl, { executor: () => undefined }, 3, /token_id|kind/],
    ["a record that was changed", (jsonl) => jsonl.replace('"cost":2', '"cost":3'), {}, 2, /tokens_total/],
    ["a record that lacks a line", (jsonl) => jsonl.split("\n").toSpliced(1, 1).join("\n"), {}, 2, /timestamp/],
    [
      "a token that nobody can have submitted",
      (jsonl) => jsonl.replace('"dependencies":[]', '"dependencies":[5]'),
      {},
      1,
      /refused/,
    ],
    [
      "a record that goes on",
      (jsonl) => {
        const line = lineAt(jsonl, 1).replace('"timestamp":1,', '"timestamp":99,');
        return `${jsonl}\n${line.replace('"parent":null', '"parent":1')}`;
      },
      {},
      -1,
      /nothing to do/,
    ],
    [
      "a record cut off in the midst of a token",
      (jsonl) => jsonl.split("\n").slice(0, 2).join("\n"),
      {},
      3,
      /has ended/,
    ],
  ])("[EVT-13] names the first event that differs: %s", async (_, change, options, timestamp, reason) => {
    const jsonl = change(recorded());
    const { identical, difference } = await replayTokens(jsonl, { seed: 1, executor: act, ...options });
    expect(identical).toBe(false);
    expect(difference?.timestamp).toBe(timestamp === -1 ? jsonl.split("\n").length : timestamp);
    expect(difference?.reason).toMatch(reason);
  });

  it("[EVT-13] a record that lacks a token's end is told, with asynchronous executors too", async () => {
    const kernel = open({ executor: late });
    for (let i = 0; i < 3; i += 1) kernel.submitToken(draft());
    await Promise.all([kernel.processNext(), kernel.processNext(), kernel.processNext()]);
    const lines = kernel.toJsonl().split("\n");
    const ends = lines.flatMap((line, i) => (/"kind":"(completed|failed)"/.test(line) ? [i] : []));
    expect(ends.length).toBe(3);
    for (const at of ends) {
      const jsonl = lines.toSpliced(at, 1).join("\n");
      const { identical, difference } = await replayTokens(jsonl, { seed: 1, executor: late });
      expect([identical, difference?.timestamp]).toEqual([false, at + 1]);
    }
  });

  it("[EVT-13] an executor that waits for what the record lacks is told, and not waited for without end", async () => {
    const never: TokenExecutor = () => new Promise(() => undefined);
    const [submitted = "", started = ""] = recorded().split("\n");
    const jsonl = [submitted, started].join("\n");
    const { identical, difference } = await replayTokens(jsonl, { seed: 1, executor: never, patienceMs: 1 });
    expect([identical, difference?.reason]).toEqual([false, "an executor goes on, and the record tells of no end"]);
  });

  it("[EVT-13] another seed differs where chance was first used", async () => {
    const kernel = open({ executor: act });
    kernel.submitToken(draft({ payload: ["remember"] }));
    kernel.run();
    const { difference } = await replayTokens(kernel.toJsonl(), { seed: 2, executor: act });
    expect(difference).toMatchObject({
      timestamp: 3,
      expected: { kind: "memory_write" },
      reason: "detail.value is not the same",
    });
  });

  it("[EVT-13] limits and capabilities that are given go before what the record tells", async () => {
    const given = { limits: { tokens: 9 }, capabilities: [{ name: "search", limits: { max_invocations: 1 } }] };
    const options = { seed: 1, executor: act } as const;
    expect((await replayTokens(recorded(), { ...options, ...given })).identical).toBe(true);
    const tighter = { ...given, capabilities: [{ name: "search", limits: { max_tokens: 1 } }] };
    expect((await replayTokens(recorded(), { ...options, ...tighter })).difference).toMatchObject({
      timestamp: 2,
      actual: { kind: "capability_violation" },
    });
  });

  it("[EVT-13] an empty record is the record of a kernel that did nothing", async () => {
    expect(await replayTokens("", { seed: 1, executor: act })).toEqual({
      identical: true,
      jsonl: "",
      difference: null,
    });
  });

  it("[EVT-12] a malformed line rejects with a coded error that names it", async () => {
    await expect(replayTokens(`${recorded()}\n{"token_id":`, { seed: 1, executor: act })).rejects.toMatchObject({
      error: {
        code: "T4_TOKEN_RECORD_INVALID",
        category: "input",
        detail: { line: recorded().split("\n").length + 1 },
      },
    });
  });
});

const lineAt = (jsonl: string, number: number): string => jsonl.split("\n")[number - 1] ?? "";

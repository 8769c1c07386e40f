// The stream of events: its clock, its kinds, what they carry, what executors add, and the way through JSON Lines.

import { describe, expect, it, vi } from "vitest";
import {
  foldTokenSpend,
  KernelToken,
  parseTokenEvents,
  type TokenContext,
  type TokenEvent,
  type TokenExecutor,
  tokenEventKinds,
  tokenEventToJson,
} from "../../src/index.ts";
import { codeOf, detailOf, draft, eventsOf, kindsOf, open } from "./kernels.ts";

const usesAll: TokenExecutor = (_, { memory, emit, checkpoint }) => {
  memory.write("key", { a: 1 });
  memory.read("key");
  emit("execution", { ok: true });
  checkpoint({ step: 1 });
};

/** All eleven kinds, in one run. */
function provokeAll() {
  const kernel = open({
    limits: { tokens: 5 },
    executor: (token, context) => {
      usesAll(token, context);
      return token.payload === "yield" ? { status: "Yielded", tokens: [draft()] } : "Completed";
    },
  });
  kernel.submitToken(draft({ payload: "yield" }));
  kernel.submitToken(draft({ capability: 9 }));
  kernel.submitToken(draft({ resources: { tokens: 6 } }));
  kernel.submitToken(draft({ cost: 2, budget: { limit: 1 } }));
  kernel.run();
  return kernel;
}

describe("the stream", () => {
  it("[EVT-03] each of the eleven kinds happens, and no other", () => {
    const kinds = new Set(
      provokeAll()
        .events()
        .map(({ kind }) => kind),
    );
    expect([...kinds].sort()).toEqual([...tokenEventKinds].sort());
  });

  it("[EVT-01] [A-21] each event has five keys, and a label of null unless it is custom", () => {
    for (const event of provokeAll().events()) {
      expect(Object.keys(tokenEventToJson(event))).toEqual(["token_id", "timestamp", "kind", "label", "detail"]);
      expect(event.label).toBe(event.kind === "custom" ? "execution" : null);
    }
  });

  it("[EVT-02] timestamps are virtual: equal under any wall clock, each above the last", () => {
    const runAt = (now: number): readonly number[] => {
      vi.useFakeTimers({ now });
      try {
        return provokeAll()
          .events()
          .map(({ timestamp }) => timestamp);
      } finally {
        vi.useRealTimers();
      }
    };
    const stamps = runAt(0);
    expect(runAt(1_900_000_000_000)).toEqual(stamps);
    expect(stamps).toEqual(stamps.map((_, i) => i + 1));
  });

  it("[EVT-04] scheduled holds the whole token: rebuilt from it, it is the one that ran", () => {
    const ran: KernelToken[] = [];
    const kernel = open({ executor: (token) => void ran.push(token) });
    const capability = kernel.registerCapability("search");
    kernel.submitToken(
      draft({
        priority: 9,
        cost: 2,
        kind: "Plan",
        capability,
        granted_capabilities: [1],
        goal: "find it",
        budget: { limit: 5, consumed: 1 },
        resources: { cpu_time: 1, memory_bytes: 2, network_bytes: 3, tokens: 4 },
        payload: { deep: [null] },
      }),
    );
    kernel.submitToken(draft({ dependencies: [1] }));
    kernel.run();
    const rebuilt = [1, 2].map((id) => KernelToken.parse(detailOf(kernel, id, "scheduled")));
    const { budget, ...rest } = ran[0] as KernelToken;
    expect(rebuilt).toEqual([{ ...rest, budget: { ...budget, consumed: 1 } }, ran[1]]);
  });

  it("[EVT-10] [EVT-11] a token that uses everything: its kinds in the order of the calls, then nothing", () => {
    const kernel = open({ executor: usesAll });
    kernel.submitToken(draft());
    kernel.run();
    expect(kernel.events().map(({ kind }) => kind)).toEqual([
      "scheduled",
      "started",
      "memory_write",
      "memory_read",
      "custom",
      "snapshot_created",
      "completed",
    ]);
    expect(eventsOf(kernel, 1)[4]).toMatchObject({ label: "execution", detail: { ok: true } });
    expect(kernel.queueLength()).toBe(0);
    expect(kernel.processNext()).toBeNull();
    expect(kernel.snapshot().snapshots.at(-1)?.state).toMatchObject({ queue: [], running: [], last_id: 1 });
  });

  it("accounts, limits and snapshots cannot be changed by who reads them either", () => {
    const kernel = open({ limits: { tokens: 9 }, executor: (_, { checkpoint }) => void checkpoint(1) });
    kernel.registerCapability("search", { max_tokens: 9 });
    kernel.submitToken(draft({ capability: 1, cost: 1 }));
    kernel.run();
    kernel.rollback(0);
    const { limits, snapshots } = kernel.snapshot();
    const read = [
      ...kernel.capabilities().map(({ usage }) => usage),
      kernel.governor().tokens,
      limits,
      snapshots[0],
      snapshots[1],
    ];
    expect(read.map((each) => Object.isFrozen(each))).toEqual(read.map(() => true));
  });

  it("cannot be changed by who reads it", () => {
    const kernel = provokeAll();
    const before = kernel.toJsonl();
    (kernel.events() as TokenEvent[]).length = 0;
    expect(() => Object.assign(kernel.events()[0]?.detail ?? {}, { priority: 1 })).toThrow(TypeError);
    expect(kernel.toJsonl()).toBe(before);
  });
});

describe("JSON Lines", () => {
  it("[EVT-12] one event a line, without a break inside, and read back without loss", () => {
    const kernel = open({ executor: (_, { emit }) => emit("text", { text: 'a\nb\r\n"c"\u2028\u0000ä' }) });
    kernel.submitToken(draft({ payload: "line\nbreak" }));
    kernel.run();
    const lines = kernel.toJsonl().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual(kernel.events());
    expect(parseTokenEvents(kernel.toJsonl())).toEqual(kernel.events());
  });

  it.each([
    ["no JSON", '{"token_id":1', 2],
    ["another shape", '{"token_id":1}', 2],
    ["an unknown kind", '{"token_id":1,"timestamp":2,"kind":"finished","label":null,"detail":{}}', 2],
    ["a timestamp of 0", '{"token_id":1,"timestamp":0,"kind":"completed","label":null,"detail":{}}', 2],
    ["a list", "[]", 2],
  ])("[EVT-12] %s in a line: a coded error that names the line", (_, bad, line) => {
    const good = '{"token_id":1,"timestamp":1,"kind":"completed","label":null,"detail":{}}';
    expect(codeOf(() => parseTokenEvents(`${good}\n${bad}\n${good}`))).toBe("T4_TOKEN_RECORD_INVALID");
    expect(() => parseTokenEvents(`${good}\n${bad}`)).toThrow(`line ${line}`);
  });
});

describe("spend", () => {
  it("[EVT-15] folded from the events alone, it is what registry and governor say", () => {
    const kernel = open({ limits: { cpu_time: 20 } });
    const [search, write] = [
      kernel.registerCapability("search", { max_tokens: 4 }),
      kernel.registerCapability("write"),
    ];
    for (let i = 1; i < 12; i += 1)
      kernel.submitToken(
        draft({ capability: i % 2 ? search : write, cost: i % 4, resources: { cpu_time: i, tokens: 2 } }),
      );
    kernel.run();
    const { capabilities, resources } = foldTokenSpend(kernel.events());
    expect(JSON.parse(JSON.stringify(capabilities))).toEqual(
      kernel.capabilities().map(({ handle, name, usage }) => ({ handle, name, usage })),
    );
    const consumed = Object.entries(kernel.governor()).map(([resource, account]) => [resource, account.consumed]);
    expect(resources).toEqual(Object.fromEntries(consumed));
    expect(kernel.events().some(({ kind }) => kind === "capability_violation")).toBe(true);
    expect(kernel.events().some(({ kind }) => kind === "resource_violation")).toBe(true);
  });
});

describe("the executor's context", () => {
  it("[EVT-10] memory is one for all tokens: what one writes, the next reads", () => {
    const read: unknown[] = [];
    const kernel = open({
      executor: ({ id }, { memory }) => {
        read.push(memory.read("key"));
        memory.write("key", { by: id });
      },
    });
    kernel.submitToken(draft());
    kernel.submitToken(draft());
    kernel.run();
    expect(read).toEqual([undefined, { by: 1 }]);
    expect(detailOf(kernel, 2, "memory_read")).toEqual({ key: "key", found: true });
    expect(detailOf(kernel, 2, "memory_write")).toEqual({ key: "key", value: { by: 2 } });
  });

  it("[EVT-02] time is the last event's, and chance repeats by seed and token", () => {
    const runWith = (seed: number | string) => {
      const seen: number[][] = [];
      const kernel = open({ seed, executor: (_, { now, random }) => void seen.push([now(), random(), random()]) });
      kernel.submitToken(draft());
      kernel.submitToken(draft());
      kernel.run();
      return seen;
    };
    const [first, second] = runWith(7);
    expect(first?.[0]).toBe(3);
    expect(first?.slice(1)).not.toEqual(second?.slice(1));
    expect(runWith(7)).toEqual([first, second]);
    expect(runWith("7")).not.toEqual([first, second]);
  });

  it.each<[string, (context: TokenContext) => unknown, string]>([
    ["an empty label", ({ emit }) => emit(""), "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["a label of the kernel's own", ({ emit }) => emit("dependency_cancelled"), "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["a detail that is a list", ({ emit }) => emit("x", [] as never), "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["a detail that is no JSON", ({ emit }) => emit("x", { a: 1n }), "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["too much", ({ emit }) => emit("x", { a: "x".repeat(100) }), "T0_VALIDATION_PAYLOAD_TOO_LARGE"],
    ["a key that is none", ({ memory }) => memory.write(1 as never, 1), "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["a value that is none", ({ memory }) => memory.write("a", () => 1), "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["one key too many", ({ memory }) => [1, 2].map((i) => memory.write(`k${i}`, i)), "T4_TOKEN_LIMIT_REACHED"],
    ["one snapshot too many", ({ checkpoint }) => [1, 2].map(checkpoint), "T4_TOKEN_LIMIT_REACHED"],
  ])("refuses %s with a coded error, and records nothing of it", (_, misuse, code) => {
    const codes: string[] = [];
    const kernel = open({
      limits: { max_payload_chars: 60, max_memory_keys: 1, max_snapshots: 1 },
      executor: (_, context) => void codes.push(codeOf(() => misuse(context))),
    });
    kernel.submitToken(draft());
    expect(kernel.run()).toMatchObject({ completed: 1 });
    expect(codes).toEqual([code]);
    expect(kindsOf(kernel, 1).length).toBeLessThanOrEqual(4);
  });

  it("refuses every use after its token has ended", () => {
    let kept: TokenContext | undefined;
    const kernel = open({
      executor: (_, context) => {
        kept = context;
      },
    });
    kernel.submitToken(draft());
    kernel.run();
    const before = kernel.toJsonl();
    const { emit, checkpoint, memory } = kept as TokenContext;
    for (const use of [() => emit("x"), () => checkpoint(1), () => memory.write("a", 1), () => memory.read("a")])
      expect(codeOf(use)).toBe("T4_TOKEN_STATE_CONFLICT");
    expect(kernel.toJsonl()).toBe(before);
  });
});

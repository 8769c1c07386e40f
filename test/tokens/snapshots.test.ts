// Snapshots: a chain in which nothing can be changed unseen, going back by going on, and a kernel continued elsewhere.

import { describe, expect, it } from "vitest";
import {
  createTokenKernel,
  replayTokens,
  type TokenCapture,
  type TokenExecutor,
  type TokenKernel,
  type TokenSnapshot,
  verifySnapshots,
} from "../../src/index.ts";
import { codeOf, draft, kindsOf, open } from "./kernels.ts";

/** Counts in memory, draws, saves; taken up again, it goes on from what it saved. */
const steps: TokenExecutor = ({ id, payload }, { restored, memory, random, checkpoint, emit }) => {
  if (restored === null) {
    memory.write("count", Number(memory.read("count") ?? 0) + 1);
    emit("drawn", { number: random() });
    checkpoint({ first: true });
  }
  emit("drawn", { number: random() });
  if (payload === "yield") return { status: "Yielded", tokens: [draft({ priority: 200, dependencies: [id - 1] })] };
  if (payload === "fail") throw new Error("no");
  return { status: "Completed", output: memory.read("count") };
};

/** Seven tokens of all kinds. */
function fill(kernel: TokenKernel): TokenKernel {
  const capability = kernel.registerCapability("search", { max_invocations: 3 });
  kernel.submitToken(draft({ capability, priority: 9, cost: 2 }));
  kernel.submitToken(draft({ capability, payload: "yield" }));
  kernel.submitToken(draft({ payload: "fail", priority: 3, resources: { tokens: 2 } }));
  kernel.submitToken(draft({ dependencies: [3] }));
  kernel.submitToken(draft({ dependencies: [2] }));
  kernel.submitToken(draft({ capability, resources: { tokens: 99 } }));
  kernel.submitToken(draft({ capability }));
  return kernel;
}

const limits = { tokens: 50 } as const;
const openFull = (): TokenKernel => fill(open({ limits, executor: steps }));
const asStored = (capture: TokenCapture): TokenCapture => JSON.parse(JSON.stringify(capture));

describe("the chain of snapshots", () => {
  const chain = (): readonly TokenSnapshot[] => {
    const kernel = openFull();
    kernel.run();
    return kernel.snapshots();
  };

  it("[EVT-14] holds everything: who, when, the executor's state, queue, accounts and memory", () => {
    const [first, second] = chain();
    expect(first).toMatchObject({
      index: 0,
      token_id: 1,
      timestamp: 12,
      executor_state: { first: true },
      restores: null,
      previous_hash: "0".repeat(64),
      state: {
        last_id: 7,
        running: [{ token: { id: 1 }, checkpoint: { first: true }, draws: 1 }],
        capabilities: [{ name: "search", usage: { invocations: 1, tokens: 2 } }],
        governor: { tokens: { limit: 50, consumed: 0 } },
        memory: [{ key: "count", value: 1 }],
      },
    });
    expect(first?.state.queue.map(({ token, waits_for }) => [token.id, waits_for])).toEqual([
      [2, []],
      [3, []],
      [4, [3]],
      [5, [2]],
      [6, []],
      [7, []],
    ]);
    expect(second?.previous_hash).toBe(first?.hash);
  });

  it("[EVT-14] as it was written it is whole; a change of any entry is found, and the first broken one named", () => {
    const entries = chain();
    expect(entries.length).toBeGreaterThan(3);
    expect(verifySnapshots(entries)).toBeNull();
    for (const index of entries.keys()) {
      const changed = entries.map((entry, i) =>
        i === index ? { ...entry, state: { ...entry.state, memory: [{ key: "count", value: 99 }] } } : entry,
      );
      expect(verifySnapshots(changed)).toEqual({ index, reason: "hash" });
    }
    expect(verifySnapshots(entries.slice(1))).toEqual({ index: 0, reason: "index" });
    const resealed = entries.map((entry, i) => (i === 1 ? { ...entry, previous_hash: "0".repeat(64) } : entry));
    expect(verifySnapshots(resealed)).toEqual({ index: 1, reason: "previous_hash" });
  });
});

describe("going back", () => {
  it("appends an entry that names what it restores, and rewrites nothing", () => {
    const kernel = openFull();
    kernel.run();
    const [before, events] = [kernel.snapshots(), kernel.events()];
    const entry = kernel.rollback(1);
    expect(entry).toMatchObject({ index: before.length, restores: 1, token_id: before[1]?.token_id });
    expect(kernel.snapshots()).toEqual([...before, entry]);
    expect(kernel.events().slice(0, events.length)).toEqual(events);
    expect(verifySnapshots(kernel.snapshots())).toBeNull();
  });

  it("[CAP-06] [EVT-15] restores queue, memory and the executor's state; what was spent stays spent", () => {
    const kernel = openFull();
    kernel.run();
    const spent = [kernel.capabilities(), kernel.governor()];
    const target = kernel.snapshots()[0] as TokenSnapshot;
    const { state } = kernel.rollback(0);
    const { capabilities, governor, last_id, cancelled, ...rest } = state;
    const { capabilities: _c, governor: _g, last_id: _l, cancelled: _x, ...wanted } = target.state;
    expect(rest).toEqual(wanted);
    expect([capabilities, governor]).toEqual(spent);
    expect([kernel.capabilities(), kernel.governor()]).toEqual(spent);
  });

  it("tells of every token that stands elsewhere now; ids are never given twice", () => {
    const kernel = openFull();
    kernel.run();
    const last = Math.max(...kernel.events().map(({ token_id }) => token_id));
    const from = kernel.events().length;
    kernel.rollback(0);
    const told = kernel.events().slice(from);
    expect(new Set(told.map(({ label }) => label))).toEqual(new Set(["rolled_back"]));
    expect(told.map(({ token_id, detail }) => [token_id, detail["state"]])).toEqual([
      [1, "running"],
      ...[2, 3, 4, 5, 6, 7].map((id) => [id, "scheduled"]),
      [8, "cancelled"],
    ]);
    expect(kernel.submitToken(draft())).toBe(last + 1);
  });

  it("goes on from there: the token that saved is taken up with what it saved, the others run anew", () => {
    const kernel = openFull();
    kernel.run();
    const from = kernel.events().length;
    kernel.rollback(0);
    kernel.run();
    const after = kernel
      .events()
      .slice(from)
      .filter(({ label }) => label !== "rolled_back");
    expect(after.filter(({ token_id }) => token_id === 1).map(({ kind }) => kind)).toEqual([
      "custom",
      "memory_read",
      "completed",
    ]);
    expect(after.filter(({ token_id }) => token_id === 3).map(({ kind }) => kind)).toContain("started");
    expect(kernel.queueLength()).toBe(0);
  });

  it("[EVT-13] is part of the record: a replay goes back as well", async () => {
    const kernel = openFull();
    kernel.run();
    kernel.rollback(1);
    kernel.processNext();
    kernel.submitToken(draft({ priority: 255 }));
    kernel.run();
    kernel.rollback(kernel.snapshots().length - 1);
    kernel.run();
    expect(await replayTokens(kernel.toJsonl(), { seed: 1, executor: steps })).toMatchObject({ difference: null });
  });

  it("is refused for an entry that is not there, from inside, and while a token runs", async () => {
    let end = (): void => undefined;
    const codes: string[] = [];
    const kernel = open({
      executor: ({ id }, { checkpoint }) => {
        checkpoint(id);
        if (id === 1) return void codes.push(codeOf(() => kernel.rollback(0)));
        return new Promise<void>((resolve) => {
          end = resolve;
        });
      },
    });
    kernel.submitToken(draft());
    kernel.submitToken(draft());
    const running = kernel.run();
    codes.push(
      codeOf(() => kernel.rollback(0)),
      codeOf(() => kernel.rollback(7)),
    );
    expect(codes).toEqual(["T4_TOKEN_STATE_CONFLICT", "T4_TOKEN_STATE_CONFLICT", "T0_VALIDATION_SCHEMA_MISMATCH"]);
    end();
    await running;
    expect(verifySnapshots([...kernel.snapshots(), kernel.rollback(0)])).toBeNull();
  });
});

describe("a kernel continued elsewhere", () => {
  const whole = openFull();
  whole.run();

  it("[EVT-14] from a capture taken between any two tokens, it ends with the same events and the same accounts", () => {
    for (let taken = 0; taken < 9; taken += 1) {
      const kernel = openFull();
      for (let i = 0; i < taken; i += 1) kernel.processNext();
      const fresh = createTokenKernel({ seed: 1, executor: steps, snapshot: asStored(kernel.snapshot()) });
      expect(fresh.snapshot()).toEqual(kernel.snapshot());
      fresh.run();
      expect(fresh.toJsonl()).toBe(whole.toJsonl());
      expect([fresh.capabilities(), fresh.governor()]).toEqual([whole.capabilities(), whole.governor()]);
    }
  });

  it("[EVT-14] from the seed, all events and any one snapshot of the chain, in the midst of a token", () => {
    const { seed, events, limits: bounds, snapshots } = asStored(whole.snapshot());
    for (const { index } of whole.snapshots()) {
      const snapshot = { seed, limits: bounds, events, snapshots: snapshots.slice(0, index + 1) };
      const fresh = createTokenKernel({ seed, executor: steps, snapshot });
      expect(fresh.events()).toEqual(events.slice(0, snapshots[index]?.timestamp));
      fresh.run();
      expect(fresh.toJsonl()).toBe(whole.toJsonl());
      expect(fresh.snapshots()).toEqual(whole.snapshots());
    }
  });

  it("[EVT-14] [EVT-13] a replay may begin at a capture, and feeds what came later from outside", async () => {
    const kernel = openFull();
    kernel.processNext();
    const snapshot = asStored(kernel.snapshot());
    kernel.submitToken(draft({ priority: 255 }));
    kernel.run();
    const replay = await replayTokens(kernel.toJsonl(), { seed: 1, executor: steps, snapshot });
    expect(replay).toEqual({ identical: true, jsonl: kernel.toJsonl(), difference: null });
  });

  it.each<[string, (capture: TokenCapture) => unknown]>([
    ["nothing", () => null],
    ["another seed", (capture) => ({ ...capture, seed: 2 })],
    ["no snapshot", (capture) => ({ ...capture, snapshots: [] })],
    ["events missing", (capture) => ({ ...capture, events: capture.events.slice(1) })],
    ["an event twice", (capture) => ({ ...capture, events: [capture.events[0], ...capture.events.slice(0, -1)] })],
    [
      "a budget that somebody raised",
      (capture) => ({
        ...capture,
        snapshots: capture.snapshots.map((entry) => ({
          ...entry,
          state: { ...entry.state, governor: { ...entry.state.governor, tokens: { limit: null, consumed: 0 } } },
        })),
      }),
    ],
    ["a changed event", (capture) => JSON.parse(JSON.stringify(capture).replace('"priority":9', '"priority":8'))],
    [
      "a priority of 256",
      (capture) => JSON.parse(JSON.stringify(capture).replaceAll('"priority":9', '"priority":256')),
    ],
  ])("a capture with %s is refused with a coded error", (_, spoil) => {
    const capture = spoil(asStored(openFull().snapshot())) as TokenCapture;
    expect(codeOf(() => createTokenKernel({ seed: 1, executor: steps, snapshot: capture }))).toBe(
      "T4_TOKEN_RECORD_INVALID",
    );
  });

  it("[EVT-14] a token that ran when the kernel was captured is not admitted twice", async () => {
    const kernel = open({ executor: () => new Promise(() => undefined) });
    kernel.submitToken(draft());
    void kernel.processNext();
    const fresh = createTokenKernel({ seed: 1, executor: () => undefined, snapshot: asStored(kernel.snapshot()) });
    expect(fresh.processNext()).toEqual({ token_id: 1, status: "completed" });
    expect(kindsOf(fresh, 1)).toEqual(["scheduled", "started", "completed"]);
  });
});

/**
 * `durability: "effects"`: every turn is committed; it is synced before an effect outside, a decision, or an answer.
 */
import { copyFileSync, existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { operatorError } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel, testCaller } from "../../src/testing/test-kernel.ts";
import { createVirtualClock } from "../../src/testing/virtual-clock.ts";
import { createWorld, job, ledgerPaths, minute, never, openProcess, step, type World, work } from "./shared-file.ts";

const freshPath = ledgerPaths();

/** What a store was asked to make durable, and a copy of its file as a power cut would leave it. */
function watched(path: string, said: string[]): { readonly ledger: LedgerStore; readonly left: string } {
  const store = sqliteLedger({ path });
  const left = `${path}.left`;
  const keep = (): void => {
    for (const end of ["", "-wal"]) if (existsSync(path + end)) copyFileSync(path + end, left + end);
  };
  const ledger: LedgerStore = {
    ...store,
    async append(batch) {
      const receipts = await store.append(batch);
      const isLazy = batch.every((entry) => entry.lazy === true);
      said.push(isLazy ? "commit" : "durable");
      if (!isLazy) keep();
      return receipts;
    },
    async sync() {
      await store.sync?.();
      said.push("sync");
      keep();
    },
  };
  return { ledger, left };
}

const chainOf = (count: number, operator: string) =>
  Array.from({ length: count }, (_, i) =>
    step(`s${i + 1}`, operator, { depends_on: i === 0 ? [] : [`s${i}`], params: { n: i } }),
  );

function say(said: string[], what: string): { readonly ok: boolean } {
  said.push(what);
  return { ok: true };
}

const think = (world: World, said: string[] = []) =>
  work(world, "Test.Think", { effect: "none", run: () => say(said, "think") });
const read = (world: World, said: string[] = []) =>
  work(world, "Test.Read", { effect: "read", run: () => Promise.resolve(say(said, "read")) });
const act = (world: World, said: string[] = []) =>
  work(world, "Test.Act", { effect: "external_send", run: () => say(said, "act") });

/** Opens a kernel with the default durability, which is `effects`. */
const open = (ledger: LedgerStore, options: object) => createTestKernel({ ledger, defaultPolicies: false, ...options });

describe('durability "effects", the default', () => {
  it("commits five steps without effect in one turn, and syncs for the two answers alone", async () => {
    const said: string[] = [];
    const { ledger } = watched(freshPath(), said);
    await using t = await open(ledger, { capabilities: [job(chainOf(5, "Test.Think"), [think(createWorld(), said)])] });
    const id = await t.submit("Test.Job");
    expect(said).toEqual(["durable"]);
    await t.clock.settle();
    expect(said.slice(1)).toEqual(["think", "think", "think", "think", "think", "commit"]);
    said.length = 0;
    expect(await t.rest(id)).toMatchObject({ state: "completed" });
    expect(new Set(said)).toEqual(new Set(["sync"]));
  });

  it("begins five reading steps before their row is committed, and writes immediate answers in one row", async () => {
    const said: string[] = [];
    const { ledger } = watched(freshPath(), said);
    await using t = await open(ledger, { capabilities: [job(chainOf(5, "Test.Read"), [read(createWorld(), said)])] });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    expect(said).toEqual(["durable", "read", "read", "read", "read", "read", "commit"]);
    expect(await t.rest(id)).toMatchObject({ state: "completed" });
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("syncs the last row with its commit if somebody waits for the workflow", async () => {
    const said: string[] = [];
    const { ledger } = watched(freshPath(), said);
    await using t = await open(ledger, { capabilities: [job(chainOf(2, "Test.Think"), [think(createWorld())])] });
    const id = await t.submit("Test.Job");
    const settled = t.kernel.settled(id);
    await t.clock.settle();
    expect(await settled).toMatchObject({ state: "completed" });
    expect(said.filter((what) => what === "commit")).toEqual([]);
  });

  it("syncs each row with its commit if somebody follows the workflow", async () => {
    const said: string[] = [];
    const { ledger } = watched(freshPath(), said);
    const long = work(createWorld(), "Test.Long", { effect: "none", run: () => Promise.resolve({ ok: true }) });
    await using t = await open(ledger, { capabilities: [job(chainOf(2, "Test.Long"), [long])] });
    const id = await t.submit("Test.Job");
    const progress = Array.fromAsync(t.kernel.progress(id));
    await t.clock.settle();
    expect((await progress).at(-1)).toMatchObject({ stage: "completed" });
    expect(said.filter((what) => what === "commit")).toEqual([]);
  });

  it("makes no call after a gate before the decision is durable, even if the call has no effect", async () => {
    const said: string[] = [];
    const { ledger } = watched(freshPath(), said);
    const world = createWorld();
    const operators = [read(world, said), work(world, "Test.Wait", { effect: "none", run: never })];
    const steps = [step("s1", "Test.Read", { gate: {} }), step("s2", "Test.Wait")];
    await using t = await open(ledger, { capabilities: [job(steps, operators)] });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    expect(world.stepsCalled()).toEqual(["s2"]);
    said.length = 0;
    await t.approve(id, "gate-s1");
    await t.clock.settle();
    expect(said[said.indexOf("read") - 1]).toBe("durable");
  });

  it("makes no call that is charged to a budget before the reservation is durable, even without effect", async () => {
    const said: string[] = [];
    const { ledger } = watched(freshPath(), said);
    const budgets = { limits: [{ scope: "tenant", invocations: 100 }] };
    const capabilities = [job([step("s1", "Test.Read")], [read(createWorld(), said)])];
    await using t = await open(ledger, { capabilities, budgets });
    await t.submit("Test.Job");
    said.length = 0;
    await t.clock.settle();
    expect(said.slice(0, 2)).toEqual(["durable", "read"]);
  });

  it("[INV-15] makes no call with an effect before its start is durable", async () => {
    const said: string[] = [];
    const world = createWorld();
    const { ledger } = watched(freshPath(), said);
    const steps = [...chainOf(2, "Test.Think"), step("s3", "Test.Act", { depends_on: ["s2"] })];
    await using t = await open(ledger, { capabilities: [job(steps, [think(world, said), act(world, said)])] });
    await t.submit("Test.Job");
    await t.clock.settle();
    expect(said).toContain("act");
    expect(said[said.indexOf("act") - 1]).toBe("durable");
  });

  it("[INV-15] makes no call before its durable start if its operator has an effect since the plan", async () => {
    const path = freshPath();
    const steps = [step("s0", "Test.Think", { gate: {} }), step("s1", "Test.Think", { depends_on: ["s0"] })];
    const planned = await open(sqliteLedger({ path }), { capabilities: [job(steps, [think(createWorld())])] });
    const { workflow_id: id } = await planned.run("Test.Job");
    await planned.kernel.stop();
    const said: string[] = [];
    const { ledger } = watched(path, said);
    const thinks = work(createWorld(), "Test.Think", { effect: "write_draft", run: () => say(said, "think") });
    await using t = await open(ledger, { capabilities: [job(steps, [thinks])], seed: 2 });
    await t.approve(id, "gate-s0");
    await t.clock.settle();
    const before = said.flatMap((what, i) => (what === "think" ? [said[i - 1]] : []));
    expect(before).toEqual(["durable", "durable"]);
  });

  it("answers a person's decision once it is durable, also one that was made before", async () => {
    const said: string[] = [];
    const world = createWorld();
    const { ledger } = watched(freshPath(), said);
    const steps = [step("s1", "Test.Think", { gate: {} })];
    await using t = await open(ledger, { capabilities: [job(steps, [think(world, said)])] });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    said.length = 0;
    await t.approve(id, "gate-s1");
    expect(said[0]).toBe("durable");
    await t.clock.settle();
    said.length = 0;
    await t.approve(id, "gate-s1");
    expect(said).toContain("sync");
  });

  it("tells nobody what a power cut could take back: no read, no list, no stream", async () => {
    const said: string[] = [];
    const world = createWorld();
    const { ledger } = watched(freshPath(), said);
    const operators = [think(world, said), work(world, "Test.Wait", { effect: "none", run: never })];
    const steps = [...chainOf(3, "Test.Think"), step("s4", "Test.Wait", { depends_on: ["s3"] })];
    await using t = await open(ledger, { capabilities: [job(steps, operators)] });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    const reads: readonly (() => Promise<unknown>)[] = [
      () => t.kernel.workflow(id, testCaller),
      () => t.kernel.workflows({}, testCaller),
      () => t.kernel.explain(id, testCaller),
      () => Array.fromAsync(t.kernel.events(id, { live: false })),
    ];
    for (const read of reads) {
      said.length = 0;
      await read();
      expect(said[0]).toBe("sync");
    }
  });

  it("after a power cut goes on from what is durable: work without effect is done again, an effect never", async () => {
    const path = freshPath();
    const said: string[] = [];
    const world = createWorld();
    const { ledger, left } = watched(path, said);
    let dead = true;
    const wait = work(world, "Test.Wait", { effect: "none", run: () => (dead ? never() : { ok: true }) });
    const steps = [
      step("s1", "Test.Act"),
      step("s2", "Test.Think", { depends_on: ["s1"] }),
      step("s3", "Test.Wait", { depends_on: ["s2"] }),
      step("s4", "Test.Act", { depends_on: ["s3"] }),
    ];
    const capabilities = [job(steps, [act(world), think(world), wait])];
    const clock = createVirtualClock();
    const first = await open(ledger, { capabilities, clock });
    const id = await first.submit("Test.Job");
    await first.clock.settle();
    expect(world.stepsCalled()).toEqual(["s1", "s2", "s3"]);
    dead = false;
    // What the machine kept is the file as it was at the last sync; the end of s1 was committed after it.
    await using second = await openProcess(left, {
      capabilities,
      at: 10 * minute,
      defaultPolicies: false,
    });
    await second.clock.settle();
    expect(world.stepsCalled().filter((one) => one === "s1")).toHaveLength(1);
    await first.kernel.stop({ drainMs: 0 });
    expect((await second.kernel.workflow(id)).gates.map((gate) => gate.kind)).toEqual(["in_doubt"]);
  });

  it("[INV-12] leaves records that replay to the byte", async () => {
    const world = createWorld();
    const { ledger } = watched(freshPath(), []);
    const steps = [...chainOf(4, "Test.Think"), step("s5", "Test.Act", { depends_on: ["s4"], gate: {} })];
    await using t = await open(ledger, { capabilities: [job(steps, [think(world), act(world)])] });
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    await t.approve(id);
    expect(await t.rest(id)).toMatchObject({ state: "completed" });
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
    expect(await t.kernel.verify(id)).toMatchObject({ broken: [] });
  });

  it("goes on at most limits.maxBurst steps before others run", async () => {
    const world = createWorld();
    const { ledger } = watched(freshPath(), []);
    const limits = { maxBurst: 2 };
    await using t = await open(ledger, { limits, capabilities: [job(chainOf(10, "Test.Think"), [think(world)])] });
    const id = await t.submit("Test.Job");
    expect(await t.rest(id)).toMatchObject({ state: "completed" });
    const rows = await Array.fromAsync(t.kernel.export(id));
    expect(rows.length).toBeGreaterThanOrEqual(5);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("calls again only behind its row: what another process said meanwhile has no attempt made twice", async () => {
    const path = freshPath();
    const world = createWorld();
    const fails = (attempt: number) => {
      if (attempt === 1) throw operatorError({ code: "AWAY", category: "transient", message: "away", retryable: true });
      return never();
    };
    const ask = work(world, "Test.Ask", { effect: "none", retry: "STANDARD", run: ({ attempt }) => fails(attempt) });
    const steps = [step("s1", "Test.Think", { gate: {} }), step("s2", "Test.Ask")];
    const shared = {
      capabilities: [job(steps, [think(world), ask])],
      limits: { tailPollMs: 10 * minute },
    } as const;
    await using one = await openProcess(path, shared);
    const id = await one.submit("Test.Job");
    await one.clock.settle();
    await using other = await openProcess(path, shared);
    await other.approve(id, "gate-s1");
    await one.clock.advance(minute / 2);
    expect(world.calls.map(({ step: at, attempt }) => `${at} ${attempt}`)).toEqual(["s2 1", "s1 1", "s2 2"]);
  });

  it("is what `full` is where a store has no sync", async () => {
    const world = createWorld();
    const { sync: _sync, ...store } = sqliteLedger({ path: freshPath() });
    await using t = await open(store, { capabilities: [job(chainOf(3, "Test.Think"), [think(world)])] });
    expect(await t.run("Test.Job")).toMatchObject({ state: "completed" });
  });
});

describe('durability "full"', () => {
  it("has no commit that is not durable, and never syncs beside one", async () => {
    const said: string[] = [];
    const { ledger } = watched(freshPath(), said);
    const capabilities = [job(chainOf(3, "Test.Think"), [think(createWorld(), said)])];
    await using t = await open(ledger, { capabilities, durability: "full" });
    await t.run("Test.Job");
    expect(new Set(said)).toEqual(new Set(["durable", "think"]));
    for (const [i, one] of said.entries()) if (one === "think") expect(said[i - 1]).toBe("durable");
  });
});

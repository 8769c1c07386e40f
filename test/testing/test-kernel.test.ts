/** The test kernel's time: it moves only when nothing is under way, as far as needed, and without steps for upkeep. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, defineOperator, operatorError } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel, createVirtualClock, memoryLedger, type TestKernelOptions } from "../../src/testing/index.ts";

const dayMs = 86_400_000;
const yearMs = 365 * dayMs;

interface Work {
  readonly run: () => unknown;
  readonly gateMs?: number;
  readonly timeoutSec?: number;
}

/** A package of one step, which does `run`, behind a gate where one is asked for. */
function packageOf({ run, gateMs, timeoutSec = 60 }: Work) {
  const work = defineOperator({
    name: "Shop.Work",
    input: z.object({}),
    effect: "final_write",
    idempotent: false,
    timeoutSec,
    run: async () => ({ said: await run() }),
  });
  const gate = gateMs === undefined ? {} : { gate: { expiry: { after_ms: gateMs, action: "deny" as const } } };
  return defineCapability({
    intentType: "Shop.Do",
    version: "1.0",
    input: z.object({}),
    operators: [work],
    plan: () => ({
      reasoning: "Do it.",
      steps: [{ step_id: "work", name: "Work", operator: "Shop.Work", params: {}, ...gate }],
    }),
  });
}

const kernelOf = (work: Work, more: TestKernelOptions = {}) =>
  createTestKernel({ capabilities: [packageOf(work)], defaultPolicies: false, ...more });

describe("the time of a test kernel", () => {
  let slow: Server;
  let address: string;
  /** Requests of which no answer comes. */
  const forgotten: Server = createServer(() => undefined);

  beforeAll(async () => {
    slow = createServer((_request, response) => void setTimeout(() => response.end("paid"), 60));
    for (const server of [slow, forgotten])
      await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    address = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    for (const server of [slow, forgotten]) {
      server.closeAllConnections();
      server.close();
    }
  });

  const inWorker = (): Promise<unknown> =>
    new Promise((answered, failed) => {
      const code = "setTimeout(() => require('node:worker_threads').parentPort.postMessage('paid'), 60)";
      new Worker(code, { eval: true }).once("message", answered).once("error", failed);
    });

  it.each([
    ["an HTTP call", async () => (await fetch(address)).text()],
    [
      "a second call on the same connection",
      async () => {
        await (await fetch(address)).text();
        return (await fetch(address)).text();
      },
    ],
    ["a timer of the machine", () => new Promise((resolve) => setTimeout(() => resolve("paid"), 60))],
    ["a worker", inWorker],
  ])("[CARD-22] does not move while an operator waits for %s", async (_what, run) => {
    await using t = await kernelOf({ run });
    const began = t.clock.now();
    const { state } = await t.run("Shop.Do");
    expect([state, t.clock.now() - began]).toEqual(["completed", 0]);
  });

  it("[CARD-22] does not move while a host's rule is being asked", async () => {
    const evaluate = async () => {
      await (await fetch(address)).text();
      return null;
    };
    const asks = { name: "asks", stages: ["action"], evaluate } as const;
    await using t = await kernelOf({ run: () => "paid" }, { policies: [asks] });
    const began = t.clock.now();
    expect([(await t.run("Shop.Do")).state, t.clock.now() - began]).toEqual(["completed", 0]);
  });

  it("[CARD-22] does not move while a store's answer is under way, so that no gate expires", async () => {
    const inner = memoryLedger();
    const append: typeof inner.append = async (...given) => {
      await (await fetch(address)).text();
      return inner.append(...given);
    };
    const ledger = { ...inner, append };
    await using t = await kernelOf({ run: () => "paid", gateMs: 7 * dayMs }, { ledger });
    const waiting = await t.run("Shop.Do");
    expect(waiting.state).toBe("waiting_for_user");
    await t.approve(waiting.workflow_id);
    expect((await t.rest(waiting.workflow_id)).state).toBe("completed");
  });

  it("[CARD-22] also moves for a call that nothing outside can answer, which then runs out of time", async () => {
    await using t = await kernelOf({ run: () => new Promise(() => undefined) });
    const { gates } = await t.run("Shop.Do");
    expect(gates.map(({ kind }) => kind)).toEqual(["in_doubt"]);
  });

  it("[CARD-22] moves on from a call that is not answered for as long as the clock's patience", async () => {
    const clock = createVirtualClock(undefined, { patienceMs: 40 });
    const { port } = forgotten.address() as AddressInfo;
    await using t = await kernelOf({ run: () => fetch(`http://127.0.0.1:${port}`) }, { clock });
    const { gates } = await t.run("Shop.Do");
    expect(gates.map(({ kind }) => kind)).toEqual(["in_doubt"]);
  });

  it("[CARD-22] moves as far as a workflow needs to rest, through pauses of weeks", async () => {
    let failures = 2;
    const pause = { code: "LATER", category: "transient", retry_after_ms: 30 * dayMs } as const;
    const run = () => {
      if (failures-- > 0) throw operatorError({ ...pause, message: "come again next month" });
      return "paid";
    };
    await using t = await kernelOf({ run });
    const began = t.clock.now();
    expect((await t.run("Shop.Do")).state).toBe("completed");
    expect(t.clock.now() - began).toBeGreaterThanOrEqual(60 * dayMs);
  });
});

describe("a virtual year", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "countersign-year-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const notifier = { name: "desk", deliver: async () => undefined };
  it.each<[string, () => TestKernelOptions]>([
    ["in memory", () => ({})],
    ["on a file", () => ({ ledger: sqliteLedger({ path: join(folder, "ledger.db") }) })],
    ["with a notifier", () => ({ notifiers: [notifier] })],
  ])("[CARD-22] of a gate that waits takes a few moves of time %s", async (_where, options) => {
    const clock = createVirtualClock();
    let armed = 0;
    const counts = {
      ...clock,
      setTimer: (...given: Parameters<typeof clock.setTimer>) => {
        armed += 1;
        return clock.setTimer(...given);
      },
    };
    await using t = await kernelOf({ run: () => "paid", gateMs: 2 * yearMs }, { clock: counts, ...options() });
    const { workflow_id } = await t.run("Shop.Do");
    armed = 0;
    await t.clock.advance(yearMs);
    expect(armed).toBeLessThan(100);
    expect((await t.kernel.workflow(workflow_id)).state).toBe("waiting_for_user");
    await t.clock.advance(yearMs);
    expect((await t.rest(workflow_id)).state).toBe("cancelled");
  });

  it("[CARD-22] leaves a month of a call under way to a few moves of time", async () => {
    let armed = 0;
    const clock = createVirtualClock();
    const setUpkeep: typeof clock.setUpkeep = (...given) => {
      armed += 1;
      return clock.setUpkeep(...given);
    };
    const monthMs = 30 * dayMs;
    const work = { run: () => new Promise(() => undefined), timeoutSec: monthMs / 1000 };
    await using t = await kernelOf(work, { clock: { ...clock, setUpkeep } });
    const workflowId = await t.submit("Shop.Do");
    await t.clock.advance(monthMs - 1);
    expect(armed).toBeLessThan(100);
    expect((await t.kernel.workflow(workflowId)).state).toBe("running");
  });
});

it("[CARD-22] two test kernels on one ledger see what the other one wrote before any time passes", async () => {
  const ledger = memoryLedger();
  const clock = createVirtualClock();
  const work = { run: () => "paid", gateMs: 7 * dayMs };
  await using one = await kernelOf(work, { ledger, clock });
  await using other = await kernelOf(work, { ledger, clock, recover: false });
  const waiting = await one.run("Shop.Do");
  const second = await one.run("Shop.Do");
  await one.approve(waiting.workflow_id);
  expect((await other.rest(waiting.workflow_id)).state).toBe("completed");
  expect((await other.rest(second.workflow_id)).state).toBe("waiting_for_user");
});

it("[CARD-22] a workflow that does not rest ends with a coded error where timers are set again for ever", async () => {
  await using t = await kernelOf({ run: () => new Promise(() => undefined), timeoutSec: 86_400 });
  const again = (): void => void t.clock.setTimer(t.clock.now() + 1, again);
  again();
  await expect(t.run("Shop.Do")).rejects.toMatchObject({ error: { code: "T0_TEST_NEVER_RESTS" } });
});

/** What users of other engines suffer from when a run is resumed: pains 1, 7, 8, 9, 18. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { wallClock } from "../../src/adapters/wall-clock.ts";
import { digest } from "../../src/contract/digest.ts";
import { payloadOf } from "../../src/contract/event.ts";
import type { TurnEvent } from "../../src/contract/turn.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { createVirtualClock } from "../../src/testing/virtual-clock.ts";
import { reseal } from "../ledgers/reseal.ts";
import { createWorld, job, ledgerPaths, openProcess, start, step, work } from "../recovery/shared-file.ts";
import { secondProcessJob } from "./second-process.ts";

const freshPath = ledgerPaths();
const hour = 3_600_000;
const day = 24 * hour;
const gate = { reason: "a person looks" };

/** A memory store that its first kernel leaves open for the next one. */
async function openLasting(): Promise<LedgerStore> {
  const store = memoryLedger();
  await store.open();
  return { ...store, open: async () => undefined, close: async () => undefined };
}

describe("pains of resuming", () => {
  it("pain 1: resume starts over and runs upstream again", async () => {
    const callsOf = async (gated: boolean): Promise<readonly string[]> => {
      const world = createWorld();
      const steps = ["s1", "s2", "s3", "s4"].map((id, i, all) =>
        step(id, "Test.Act", {
          depends_on: i === 0 ? [] : [all[i - 1] as string],
          ...(gated && i > 0 ? { gate } : {}),
        }),
      );
      await using t = await createTestKernel({ capabilities: [job(steps, [work(world, "Test.Act")])] });
      let state = await t.run("Test.Job");
      for (let i = 0; i < 5 && state.state === "waiting_for_user"; i += 1) {
        await t.approve(state.workflow_id);
        state = await t.rest(state.workflow_id);
      }
      expect(state.state).toBe("completed");
      return world.stepsCalled();
    };
    expect(await callsOf(true)).toEqual(await callsOf(false));
  });

  it("pain 7: finished parallel branches fall back to suspended", async () => {
    const world = createWorld();
    const steps = [
      step("s1", "Test.Act"),
      step("s2", "Test.Act", { gate }),
      step("s3", "Test.Act", { gate }),
      step("s4", "Test.Act", { depends_on: ["s1", "s2", "s3"] }),
    ];
    await using t = await createTestKernel({ capabilities: [job(steps, [work(world, "Test.Act")])] });
    const { workflow_id: id } = await t.run("Test.Job");
    for (const open of ["gate-s3", "gate-s2"]) {
      await t.approve(id, open);
      const { steps: now } = await t.rest(id);
      expect(now.find((s) => s.step_id === "s1")?.state).toBe("succeeded");
    }
    const ended = new Set<string>();
    for await (const { event_type, step_id } of t.kernel.events(id, { live: false })) {
      if (step_id === null) continue;
      expect(ended.has(step_id), `${event_type} of ${step_id} after its end`).toBe(false);
      if (["STEP_SUCCEEDED", "STEP_FAILED", "STEP_SKIPPED"].includes(event_type)) ended.add(step_id);
    }
    expect([...ended].sort()).toEqual(["s1", "s2", "s3", "s4"]);
  });

  it("pain 8: a run cannot be resumed from another process", async () => {
    const path = freshPath();
    const effects = `${path}.effects`;
    let id: string;
    {
      await using t = await openProcess(path, { capabilities: [secondProcessJob(effects)] });
      id = (await t.run("Test.Second")).workflow_id;
    }
    const script = fileURLToPath(new URL("./approve-child.ts", import.meta.url));
    const said = await runNode([script, path, effects, id]);
    expect(said.trim()).toBe("completed");
    expect(readFileSync(effects, "utf8")).toBe("s1\ns2\n");
  });

  it("pain 9: resume uses stale input: after an approval exactly the payload the person saw is used", async () => {
    const path = freshPath();
    const world = createWorld();
    const seen: unknown[] = [];
    const capabilities = (amount: number) => [
      job(
        [
          step("s1", "Test.Quote"),
          step("s2", "Test.Pay", { depends_on: ["s1"], gate, params: { amount: "{{s1.output.amount}}" } }),
        ],
        [
          work(world, "Test.Quote", { run: () => ({ amount }) }),
          work(world, "Test.Pay", { run: ({ input }) => ({ nth: seen.push(input) }) }),
        ],
      ),
    ];
    const first = await openProcess(path, { capabilities: capabilities(10) });
    const { workflow_id: id } = await first.run("Test.Job");
    const [shown] = await first.kernel.gates();
    first.freeze();
    await using second = await openProcess(path, { capabilities: capabilities(99), at: day });
    await second.approve(id);
    await second.rest(id);
    expect(shown?.payload).toEqual({ amount: 10 });
    expect(seen).toEqual([{ amount: 10 }]);
    const started = await startedHash(second, id, "s2");
    expect(started).toBe(digest({ amount: 10 }));
  });

  it("pain 9: a payload that is not the one that was approved is refused, not run", async () => {
    const world = createWorld();
    const store = await openLasting();
    const capabilities = [job([step("s1", "Test.Pay", { gate, params: { amount: 10 } })], [work(world, "Test.Pay")])];
    let id: string;
    {
      await using first = await createTestKernel({ ledger: store, capabilities });
      id = (await first.run("Test.Job")).workflow_id;
    }
    const clock = createVirtualClock(start + day);
    await using second = await createTestKernel({ ledger: falsified(store), capabilities, clock, seed: 2 });
    await expect(second.approve(id)).rejects.toMatchObject({ error: { code: "T5_GATE_CONFLICT" } });
    const { steps, gates } = await second.rest(id);
    expect(world.calls).toEqual([]);
    expect([steps[0]?.phase, gates[0]?.status]).toEqual(["awaiting_approval", "open"]);
  });

  it("pain 18: timers vanish or fire on a restore: a deadline of 40 days survives restarts, fires once", async () => {
    const path = freshPath();
    const world = createWorld();
    const patient = { reason: "no hurry", expiry: { after_ms: 40 * day, action: "deny" as const } };
    const capabilities = [job([step("s1", "Test.Act", { gate: patient })], [work(world, "Test.Act")])];
    let id: string;
    {
      await using first = await openProcess(path, { capabilities });
      id = await first.submit("Test.Job");
      await first.clock.settle();
    }
    for (const at of [10 * day, 40 * day - hour]) {
      await using again = await openProcess(path, { capabilities, at });
      await again.clock.advance(hour - 1);
      expect((await again.kernel.workflow(id)).state).toBe("waiting_for_user");
    }
    await using last = await openProcess(path, { capabilities, at: 40 * day - 1000 });
    await last.clock.advance(1000);
    const expired = (await Array.fromAsync(last.kernel.events(id, { live: false }))).filter(
      (e) => e.event_type === "GATE_EXPIRED",
    );
    expect(expired.map((e) => e.timestamp)).toEqual([new Date(start + 40 * day).toISOString()]);
  });

  it("pain 18: the machine's clock waits longer than one of its timers can", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    let fired = 0;
    wallClock.setTimer(wallClock.now() + 40 * day, () => {
      fired += 1;
    });
    vi.advanceTimersByTime(40 * day - 1);
    expect(fired).toBe(0);
    vi.advanceTimersByTime(1);
    expect(fired).toBe(1);
  });
});

async function startedHash(t: Awaited<ReturnType<typeof openProcess>>, id: string, stepId: string): Promise<string> {
  const events = await Array.fromAsync(t.kernel.events(id, { live: false }));
  const found = events.find((e) => e.event_type === "ACTION_STARTED" && e.step_id === stepId);
  return found === undefined ? "" : payloadOf(found, "ACTION_STARTED").payload_hash;
}

/** A ledger in which somebody wrote another payload under the gate's digest, and made the hashes fit. */
function falsified(store: LedgerStore): LedgerStore {
  const pays99 = (event: TurnEvent): TurnEvent => {
    const text = JSON.stringify(event).replace('"payload":{"amount":10}', '"payload":{"amount":99}');
    return event.type === "GATE_OPENED" ? (JSON.parse(text) as TurnEvent) : event;
  };
  return { ...store, read: async (stream) => reseal(await store.read(stream), { event: pays99 }) };
}

function runNode(args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [...args], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", () => resolve(said));
  });
}

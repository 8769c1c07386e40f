/** Ids and time are injected: one seed repeats a run, and minutes of waiting cost no waiting. */
import { describe, expect, it, vi } from "vitest";
import { createTestKernel, type TestKernel, type TestKernelOptions } from "../../src/testing/test-kernel.ts";
import { errand, gated, intentType, isAnswer, isDelivery, oneStep, step, tool } from "./fixture.ts";

const idText = /\b[a-z]+_[0-7][0-9A-HJKMNP-TV-Z]{25}\b/g;
const ulidOf = (id: string): string => id.slice(id.indexOf("_") + 1);

/** Every id that the bus and the ledger show, in order of appearance, each once. */
async function idsOf(t: TestKernel, workflowId: string): Promise<readonly string[]> {
  const shown: unknown[] = t.items.map((item) => (isDelivery(item) ? item.signal : item.result.signals));
  for await (const row of t.kernel.export(workflowId)) shown.push(row.envelope, row.body);
  return [...new Set(JSON.stringify(shown).match(idText) ?? [])];
}

async function runOnce(options: TestKernelOptions): Promise<readonly string[]> {
  await using t = await createTestKernel(options);
  const { workflow_id, gates } = await t.run(intentType, {}, { input: { text: "an errand" }, thread_id: "t" });
  if (gates.length > 0) {
    await t.approve(workflow_id);
    await t.rest(workflow_id);
  }
  return idsOf(t, workflow_id);
}

const failingTool = () =>
  errand([step("s1", "Test.Get")], [tool("Test.Get", { request: () => Promise.reject(new Error("no")) })]);

describe("ids", () => {
  it.each([
    ["a gated run", gated],
    ["a tool whose client fails", failingTool],
  ])("[CARD-20] two kernels of one seed and clock give the same ids in %s", async (_what, capability) => {
    const options = () => ({ capabilities: [capability()], limits: { maxReplans: 1 } });
    const [first, again] = [await runOnce(options()), await runOnce(options())];
    expect(first.length).toBeGreaterThan(20);
    expect(again).toEqual(first);
    const other = await runOnce({ ...options(), seed: 7 });
    expect(other).toHaveLength(first.length);
    expect(other.some((id) => first.includes(id))).toBe(false);
  });

  it("[CARD-20] ids of one millisecond sort in the order in which they were made", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep()] });
    const { workflow_id } = await t.run(intentType, {}, { input: { text: "an errand" } });
    const published = t.items.filter(isDelivery).map(({ signal }) => signal.id);
    const made = [...new Set(published)].map(ulidOf);
    expect(new Set(made.map((ulid) => ulid.slice(0, 10))).size).toBe(1);
    expect(made).toEqual(made.toSorted());
    const events: string[] = [];
    for await (const event of t.kernel.events(workflow_id, { live: false })) events.push(ulidOf(event.event_id));
    expect(events).toEqual(events.toSorted());
  });

  it("[CARD-20] every kind of id is a prefix and a ULID of the kernel's own source", async () => {
    const ids = await runOnce({ capabilities: [failingTool()], limits: { maxReplans: 0 } });
    expect(new Set(ids.map((id) => id.slice(0, id.indexOf("_"))))).toEqual(
      new Set(["sig", "req", "int", "wf", "pln", "act", "evt", "cor"]),
    );
    const ulids = ids.map(ulidOf);
    const drawnInOneMillisecond = new Set(ulids.map((ulid) => ulid.slice(0, 20)));
    expect(drawnInOneMillisecond.size).toBe(1);
  });
});

const hour = 3_600_000;
const hanging = () => new Promise<string>(() => undefined);
/** What the machine's own timers were asked for while something ran. */
async function realTimersOf(work: () => Promise<unknown>): Promise<readonly unknown[]> {
  const timer = vi.spyOn(globalThis, "setTimeout");
  try {
    await work();
    return [...timer.mock.calls];
  } finally {
    timer.mockRestore();
  }
}

describe("time", () => {
  it("[CARD-22] five timeouts of 60 s and backoffs up to 16 s are the virtual clock's alone", async () => {
    const slow = oneStep(hanging, { timeoutSec: 60, retry: "AGGRESSIVE" });
    await using t = await createTestKernel({ capabilities: [slow], limits: { maxReplans: 0 } });
    const start = t.clock.now();
    const timers = await realTimersOf(async () => {
      expect((await t.run(intentType)).error?.code).toBe("T4_TOOL_TIMEOUT");
    });
    expect(t.clock.now() - start).toBe(1000 * (5 * 60 + 2 + 4 + 8 + 16));
    expect(timers).toEqual([]);
  });

  it("[CARD-22] a gate that expires after a week waits on no timer of the machine", async () => {
    const gate = { reason: "think about it", expiry: { after_ms: 7 * 24 * hour, action: "deny" } } as const;
    const capability = errand([step("s1", "Test.Do", { gate })], oneStep().operators as never);
    await using t = await createTestKernel({ capabilities: [capability] });
    const timers = await realTimersOf(async () => {
      const { workflow_id } = await t.run(intentType);
      await t.clock.advance(7 * 24 * hour);
      expect((await t.rest(workflow_id)).gates).toMatchObject([{ status: "expired" }]);
    });
    expect(timers).toEqual([]);
  });

  it("[CARD-22] nothing of the kernel runs while the clock stands still", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(hanging, { timeoutSec: 60 })] });
    await t.submit(intentType);
    await t.clock.settle();
    const answers = () => t.items.filter(isAnswer).length;
    const before = [t.items.length, answers(), t.clock.now()];
    await t.clock.settle();
    expect([t.items.length, answers(), t.clock.now()]).toEqual(before);
  });
});

/**
 * What was asked before its process ended counts no more: what the next process is told instead leaves the first as it
 * was.
 */
import { expect, it } from "vitest";
import type { GatePreview } from "../../src/contract/operator.ts";
import { definePolicy, type LedgerStore, type Middleware, operatorError } from "../../src/index.ts";
import { createTestKernel, memoryLedger, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { letRun } from "../../src/testing/let-run.ts";
import { ann, approve } from "../gates/people.ts";
import { counted, eventsOf, gateOf, intent, step, story } from "../gates/story.ts";

const never = (): Promise<never> => new Promise(() => undefined);

const refuse = (): never => {
  throw operatorError({ code: "NO", message: "not now", category: "dependency" });
};

/** Stops without closing the ledger, which the next kernel goes on with. */
const kept = (ledger: LedgerStore): LedgerStore =>
  Object.assign(Object.create(ledger), { close: async () => undefined });

type More = Parameters<typeof counted>[1];

/** One gated step under two kernels, one after the other, on one ledger. */
function twoKernels(more: More, middleware: readonly Middleware[] = []) {
  const work = counted("Note.Work", { effect: "write_draft", ...more });
  const capabilities = [story([work], [step("a", work, { gate: {} })])];
  const ledger = memoryLedger();
  const limits = { maxReplans: 0 };
  let seed = 0;
  const open = (): Promise<TestKernel> => {
    seed += 1;
    return createTestKernel({ capabilities, middleware, ledger: kept(ledger), limits, seed, defaultPolicies: false });
  };
  return { work, open };
}

async function goOn(t: TestKernel, id: string) {
  await t.clock.advance(60_000);
  return t.rest(id);
}

const typesOf = async (t: TestKernel, id: string) => (await eventsOf(t, id)).map((event) => event.event_type);

it.each([
  ["a hook", never],
  ["a hook on the way back", refuse],
])("[INV-12] a basis that moved after the process was gone whose call waited for %s", async (_what, before) => {
  let disk = "one";
  let isAway = true;
  const slow = {
    name: "slow",
    before: () => (isAway ? before() : undefined),
    onError: () => (isAway ? never() : undefined),
  };
  const preview = (): GatePreview => ({ preview: disk, basis: [{ name: "file", digest: disk }] });
  const { open, work } = twoKernels({ preview }, [slow]);
  const first = await open();
  const { workflow_id: id } = await first.run(intent);
  void approve(first, id, ann).catch(() => undefined);
  await letRun();
  await first.kernel.stop({ drainMs: 0 });
  disk = "two";
  isAway = false;
  await using t = await open();
  await goOn(t, id);
  expect([(await gateOf(t, id, "gate-a")).preview, await typesOf(t, id)]).toEqual([
    "two",
    expect.arrayContaining(["USER_APPROVED", "GATE_REVISED"]),
  ]);
  expect(work.calls).toEqual([]);
  expect((await t.kernel.replay(id)).difference).toBeNull();
});

it("[INV-12] a call that could not be made any more once the process was gone that was to show it", async () => {
  let isAway = true;
  const check = (): void => {
    if (!isAway) throw new Error("the folder is gone");
  };
  const preview = () => (isAway ? never() : { preview: "as it is" });
  const { open } = twoKernels({ check, preview: preview as never });
  const first = await open();
  const id = await first.submit(intent);
  await letRun();
  await first.kernel.stop({ drainMs: 0 });
  isAway = false;
  await using t = await open();
  expect((await goOn(t, id)).state).toBe("failed");
  expect(await typesOf(t, id)).toContain("STEP_FAILED");
  expect((await t.kernel.replay(id)).difference).toBeNull();
});

it.each(["at once", "late"])(
  "[INV-12] a hook that failed %s, whose way back nobody saw through, and that let the call pass afterwards",
  async (when) => {
    let isAway = true;
    const fail = (): void | Promise<void> => {
      const no = operatorError({ code: "NO", message: "not now", category: "dependency" });
      if (isAway && when === "late") return letRun().then(() => Promise.reject(no));
      if (isAway) throw no;
    };
    const { open, work } = twoKernels({}, [
      { name: "moody", before: fail, onError: () => (isAway ? never() : undefined) },
    ]);
    const first = await open();
    const { workflow_id: id } = await first.run(intent);
    void approve(first, id, ann).catch(() => undefined);
    await letRun();
    await first.kernel.stop({ drainMs: 0 });
    isAway = false;
    await using t = await open();
    expect((await goOn(t, id)).state).toBe("completed");
    expect(work.calls).toHaveLength(1);
    expect((await t.kernel.replay(id)).difference).toBeNull();
  },
);

it("[INV-12] a plan that policy was still looking at, where the next process was given none", async () => {
  let isAway = true;
  const work = counted("Note.Work");
  const capability = story([work], [step("a", work)]);
  const plan = (): never => {
    if (isAway) return { plan: capability.plan, usage: { total_cost: 0 } } as never;
    throw new Error("the model is away");
  };
  const slow = definePolicy({ name: "slow", stages: ["plan"], evaluate: () => (isAway ? never() : null) });
  const options = { capabilities: [capability], planner: { plan }, policies: [slow], ledger: kept(memoryLedger()) };
  const first = await createTestKernel(options);
  const id = await first.submit(intent);
  await letRun();
  await first.kernel.stop({ drainMs: 0 });
  isAway = false;
  await using t = await createTestKernel({ ...options, seed: 2 });
  expect((await goOn(t, id)).error?.code).toBe("T3_PLANNER_FAILED");
  expect((await t.kernel.replay(id)).difference).toBeNull();
});

it.each(["check", "preview"] as const)(
  "[INV-12] a call that another workflow made while the operator's %s of it was waited for, and its process went",
  async (asked) => {
    const state = { hangs: false };
    const check = (): void | Promise<void> => (state.hangs && asked === "check" ? never() : undefined);
    const preview = () => (state.hangs && asked === "preview" ? never() : { preview: "as it is" });
    const { open, work } = twoKernels({ check, preview: preview as never });
    const first = await open();
    const { workflow_id: parent } = await first.run(intent);
    await first.reject(parent);
    await first.rest(parent);
    const again = async () => (await first.kernel.retry(parent, { ...testCaller, mode: "replay" })).workflow_id;
    state.hangs = true;
    const waiting = await again();
    await first.clock.settle();
    state.hangs = false;
    const other = await again();
    await first.rest(other);
    await first.approve(other);
    await first.rest(other);
    await first.kernel.stop({ drainMs: 0 });
    await using t = await open();
    expect((await goOn(t, waiting)).state).toBe("completed");
    expect(work.calls.length).toBe(1);
    expect((await t.kernel.replay(waiting)).difference).toBeNull();
  },
);

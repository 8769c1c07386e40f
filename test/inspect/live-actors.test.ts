/** What the player tells of a ledger is where the live actors stand, after each commit. */
import { describe, expect, it } from "vitest";
import type { LedgerEvent } from "../../src/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel, memoryLedger, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { errand, gated, intentType, operator, step } from "../actors/fixture.ts";
import { rowOpener } from "../ledgers/reseal.ts";
import { pictureOf, playAll, statesIn } from "./story.ts";

type Live = NonNullable<ReturnType<TestKernel["kernel"]["lifecycles"]>>;

const flat = (id: string, { workflow, steps, gates }: Live): object =>
  Object.fromEntries([
    [id, workflow],
    ...Object.entries({ ...steps, ...gates }).map(([part, state]) => [`${id}/${part}`, state]),
  ]);

/** A memory ledger that, before each append, compares the commits so far: by then each has been delivered. */
function comparing() {
  const inner = memoryLedger();
  const write = inner.append.bind(inner);
  const open = rowOpener();
  const events: LedgerEvent[] = [];
  const pairs: { readonly live: object; readonly told: object }[] = [];
  let kernel: TestKernel["kernel"] | null = null;
  const append: LedgerStore["append"] = async (batch) => {
    const id = events[0]?.workflow_id ?? "";
    const live = kernel?.lifecycles(id) ?? null;
    if (live !== null) pairs.push({ live: flat(id, live), told: statesIn(pictureOf(playAll(events)), id) });
    const receipts = await write(batch);
    for (const [n, { row }] of batch.entries()) if (receipts[n]?.ok) events.push(...open(row));
    return receipts;
  };
  const watch = (t: TestKernel): void => {
    kernel = t.kernel;
  };
  return { ledger: Object.assign(inner, { append }), pairs, watch };
}

const flaky = () =>
  errand(
    [step("s1", "Test.Do"), step("s2", "Test.Flaky", { depends_on: ["s1"] })],
    [operator("Test.Do"), operator("Test.Flaky", ({ attempt }) => (attempt < 3 ? Promise.reject(new Error("x")) : 1))],
  );
const hopeless = () =>
  errand(
    [step("s1", "Test.Fine", { gate: { reason: "look" } }), step("s2", "Test.Fails", { depends_on: ["s1"] })],
    [operator("Test.Fine"), operator("Test.Fails", () => Promise.reject(new Error("never")), { retry: "NONE" })],
  );

const stories: Readonly<Record<string, readonly [ReturnType<typeof errand>, (t: TestKernel, id: string) => unknown]>> =
  {
    "an approval": [gated(), (t, id) => t.approve(id)],
    "a rejection": [gated(), (t, id) => t.reject(id)],
    "a cancel at a gate": [gated(), (t, id) => t.kernel.cancel(id, testCaller)],
    "calls that fail and are made again": [flaky(), () => undefined],
    "a failed workflow resumed": [
      hopeless(),
      async (t, id) => {
        await t.approve(id);
        await t.rest(id);
        await t.kernel.retry(id, { ...testCaller, mode: "resume_failed_steps" });
      },
    ],
  };

describe("the player", () => {
  it.each(Object.keys(stories))("tells the states of the live actors through %s", async (name) => {
    const [capability, story] = stories[name] as NonNullable<(typeof stories)[string]>;
    const { ledger, pairs, watch } = comparing();
    await using t = await createTestKernel({
      ledger,
      capabilities: [capability],
      durability: "full",
      inspect: () => undefined,
    });
    watch(t);
    const id = await t.submit(intentType);
    await t.rest(id);
    await story(t, id);
    await t.rest(id);
    expect(pairs.length).toBeGreaterThan(2);
    for (const { live, told } of pairs) expect(told).toMatchObject(live);
  });
});

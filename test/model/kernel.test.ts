/** The lifecycle of a kernel, each declared transition taken by one: opened, or not, and stopped. */
import { describe, expect, it } from "vitest";
import { kernelMachine } from "../../machines/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { titleOf } from "./driver.ts";
import { type ChartEvent, type ChartPath, createModel, eventsOf, follow, missingOf } from "./paths.ts";

const model = createModel(kernelMachine);
const covered = new Set<string>();
const visited = new Set<string>();

/** A kernel's own actor: what it heard, and where it is, as an inspector sees it. */
class Subject {
  readonly heard: ChartEvent[] = [];
  state = "opening";
  t: TestKernel | null = null;

  /** A ledger that opens when it is told to, or fails to. */
  async open(ledger: LedgerStore): Promise<void> {
    this.t = await createTestKernel({
      ledger,
      inspect: (inspection) => {
        if (!("id" in inspection.actorRef) || inspection.actorRef.id !== "kernel") return;
        if (inspection.type === "@xstate.event" && model.wordFor(inspection.event.type) !== null)
          this.heard.push({ type: inspection.event.type });
        if (inspection.type === "@xstate.snapshot" && "value" in inspection.snapshot)
          this.state = inspection.snapshot.value as string;
      },
    });
  }
}

const failing = (): LedgerStore => {
  const store = sqliteLedger({ path: ":memory:" });
  return { ...store, open: () => Promise.reject(new Error("no such disk")) };
};

/** What brings each event about; a stop drains at once where nothing runs. */
const acts: Readonly<Record<string, (subject: Subject) => Promise<void>>> = {
  OPENED: (subject) => subject.open(sqliteLedger({ path: ":memory:" })),
  OPEN_FAILED: async (subject) => {
    await expect(subject.open(failing())).rejects.toThrow(/no such disk/);
  },
  STOP: async ({ t }) => t?.kernel.stop({ drainMs: 0 }),
  DRAINED: async () => undefined,
};

async function walkPath(path: ChartPath): Promise<void> {
  const subject = new Subject();
  for (const { type } of eventsOf(path)) {
    await acts[type]?.(subject);
    const { state, pairs } = follow(model, subject.heard);
    expect(subject.state).toBe(state);
    for (const pair of pairs) covered.add(pair);
    visited.add(state);
  }
  expect(missingOf(model, path, subject.heard)).toEqual([]);
  await subject.t?.kernel.stop({ drainMs: 0 });
}

describe("[CARD-10] each path through the kernel's lifecycle, by a kernel", () => {
  it.each(model.paths.map((path) => [titleOf(path), path] as const))("%s", (_title, path) => walkPath(path));
});

describe("what these walks have covered", () => {
  it("[CARD-10] every transition that the kernel's lifecycle declares was taken", () => {
    expect(model.pairs.filter((pair) => !covered.has(pair))).toEqual([]);
  });

  it("[CARD-10] every state was rested in, but for those that nothing waits in: opening and draining", () => {
    expect(model.states.filter((state) => !visited.has(state))).toEqual(["opening", "draining"]);
  });
});

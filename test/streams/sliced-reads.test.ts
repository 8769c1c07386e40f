/** Long logs are read in pages and folded in slices: what is done between two turns of the event loop, counted. */
import { setImmediate } from "node:timers";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { genesisHash } from "../../src/contract/chain.ts";
import { endOf, openTurn, sealTurn, type TurnRow } from "../../src/contract/turn.ts";
import { sliceOfWork, WorkSlices } from "../../src/engine/actors/yield-to-event-loop.ts";
import { foldInSlices, openInSlices, readPages } from "../../src/engine/log/read-pages.ts";
import { readStream } from "../../src/engine/log/read-turns.ts";
import { defineCapability, type Kernel } from "../../src/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel, memoryLedger, testCaller } from "../../src/testing/index.ts";
import { counted } from "../fixtures.ts";

const job = defineCapability({
  intentType: "T.Job",
  version: "1.0",
  input: z.object({}),
  operators: [counted("T.Work").operator],
  plan: { reasoning: "works", steps: [{ step_id: "s", name: "s", operator: "T.Work" }] },
});

/** The rows of a workflow that has run, and further ones of one fact each. */
async function longLog(more: number, chars = 0) {
  const ledger = memoryLedger();
  await using t = await createTestKernel({ capabilities: [job], ledger });
  const { workflow_id } = await t.run("T.Job");
  const rows = [...(await ledger.read(workflow_id))];
  const [first] = openTurn(rows[0] as TurnRow);
  const { tenant_id, thread_id, intent_id, plan_id, correlation_id } = first as NonNullable<typeof first>;
  const shared = { stream: workflow_id, workflow_id, tenant_id, thread_id, intent_id, plan_id, correlation_id };
  for (let i = 0; i < more; i += 1) {
    const { last, head } = endOf(rows.at(-1) as TurnRow);
    const actor = { type: "system", id: "kernel" } as const;
    const payload = { kind: "note", message: "x".repeat(chars), detail: { number: i } };
    const event = { id: `evt_${i}`, type: "OPERATOR_ALERT" as const, step: "s", payload };
    const at = { now: t.clock.now(), first: last + 1, count: 1 };
    rows.push(sealTurn({ ...shared, ...at, actor }, [event], head || genesisHash));
  }
  return { workflow_id, rows };
}

/** A store that holds one long log and counts what is read of it. */
function storeOf({ workflow_id, rows }: { readonly workflow_id: string; readonly rows: readonly TurnRow[] }) {
  const asked: { readonly after: number; readonly rows: number }[] = [];
  const kept: TurnRow[] = [...rows];
  const ledger = memoryLedger();
  const store: LedgerStore = {
    ...ledger,
    async read(id, after = 0, limit) {
      if (id !== workflow_id) return ledger.read(id, after, limit);
      const found = kept.filter((row) => row.first_sequence > after).slice(0, limit);
      asked.push({ after, rows: found.length });
      return found;
    },
  };
  return { store, asked, kept };
}

/** Counts turns of the event loop until a promise is there. */
async function turnsUntil<T>(work: Promise<T>): Promise<{ readonly value: T; readonly turns: number }> {
  let [turns, isOver] = [0, false];
  const value = work.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await new Promise<void>((resolve) => void setImmediate(resolve));
    turns += 1;
  }
  return { value: await value, turns };
}

describe("a slice of work", () => {
  it("ends after so many rows or characters, whichever comes first, and each begins anew", async () => {
    const slices = new WorkSlices();
    const { rows, chars } = sliceOfWork;
    const full = Array.from({ length: 3 * rows }, () => slices.add(1) !== null);
    expect(full.flatMap((is, i) => (is ? [i + 1] : []))).toEqual([rows, 2 * rows, 3 * rows]);
    expect([chars / 2, chars / 2, chars, 1].map((each) => slices.add(each) !== null)).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });
});

describe("a long log", () => {
  it("is folded in slices to the same result: at most a slice between two turns of the event loop", async () => {
    const log = await longLog(1_000);
    const { store } = storeOf(log);
    let [turn, most, inTurn] = [0, 0, 0];
    let seen = -1;
    const count = (): void => {
      inTurn = seen === turn ? inTurn + 1 : 1;
      seen = turn;
      most = Math.max(most, inTurn);
    };
    const reading = foldInSlices(log.workflow_id, async (after, limit) => store.read(log.workflow_id, after, limit), {
      onEvent: count,
    });
    const ticking = { over: false };
    const tick = (): void => {
      turn += 1;
      if (!ticking.over) setImmediate(tick);
    };
    setImmediate(tick);
    const read = await reading;
    ticking.over = true;
    expect(read).toEqual(readStream(log.workflow_id, log.rows));
    expect(turn).toBeGreaterThanOrEqual(Math.floor(log.rows.length / sliceOfWork.rows));
    // The first row of a workflow holds several events.
    expect(most).toBeLessThanOrEqual(sliceOfWork.rows + 32);
  });

  it("of large rows gives way after each", async () => {
    const { workflow_id, rows } = await longLog(6, sliceOfWork.chars);
    const { turns } = await turnsUntil(openInSlices(rows, { last: 0, head: genesisHash }));
    expect(turns).toBeGreaterThanOrEqual(6);
    expect(workflow_id).toBe(rows[0]?.stream);
  });

  it("is read in pages that grow with it and shrink with the size of its rows, each row once", async () => {
    const pagesOf = async (more: number, chars?: number) => {
      const log = await longLog(more, chars);
      const { store, asked } = storeOf(log);
      const read = async (after: number, limit: number) => store.read(log.workflow_id, after, limit);
      const pages = await Array.fromAsync(readPages(read, 0));
      expect(pages.flat()).toEqual(log.rows);
      return asked.map(({ rows }) => rows);
    };
    const small = await pagesOf(500);
    expect(small.slice(0, 4)).toEqual([8, 32, 128, 128]);
    const large = await pagesOf(40, 200_000);
    expect(Math.max(...large.slice(1))).toBeLessThanOrEqual(8);
    expect((await pagesOf(0)).length).toBe(1);
  });

  it("of a kernel: readers who ask at once share one fold, and others are served meanwhile", async () => {
    const log = await longLog(2_000);
    const { store, asked } = storeOf(log);
    await using t = await createTestKernel({ ledger: store, capabilities: [job], recover: false });
    await t.kernel.workflow(log.workflow_id, testCaller);
    const alone = asked.splice(0).length;
    const readers = Array.from({ length: 50 }, () => t.kernel.workflow(log.workflow_id, testCaller));
    const { value, turns } = await turnsUntil(Promise.all(readers));
    expect(turns).toBeGreaterThan(10);
    for (const state of value) expect(state).toEqual(value[0]);
    // Each asks for its first page and whether there is more; all but these pages are read once.
    expect(asked.length).toBeLessThanOrEqual(alone + 2 * readers.length);
  });

  it("that grows while it is folded: who asks afterwards is told what was committed before", async () => {
    const log = await longLog(600);
    const { store, kept } = storeOf({ ...log, rows: log.rows.slice(0, -1) });
    const last = log.rows.at(-1) as TurnRow;
    const late: ReturnType<Kernel["workflow"]>[] = [];
    // The last page of the first fold has been read when the row is committed and the others ask.
    const read: LedgerStore["read"] = async (id, after, limit) => {
      const page = await store.read(id, after, limit);
      const isLastPage = page.at(-1)?.first_sequence === log.rows.at(-2)?.first_sequence;
      if (!isLastPage || kept.includes(last)) return page;
      kept.push(last);
      for (let i = 0; i < 3; i += 1) late.push(t.kernel.workflow(log.workflow_id));
      return page;
    };
    await using t = await createTestKernel({ ledger: { ...store, read }, capabilities: [job], recover: false });
    expect((await t.kernel.workflow(log.workflow_id)).sequence).toBe(last.last_sequence - 1);
    const sequences = (await Promise.all(late)).map(({ sequence }) => sequence);
    expect(sequences).toEqual([1, 2, 3].map(() => last.last_sequence));
  });

  it("is another tenant's to nobody, also while it is folded for its owner", async () => {
    const log = await longLog(600);
    const { store, asked } = storeOf(log);
    await using t = await createTestKernel({ ledger: store, capabilities: [job], recover: false });
    const own = t.kernel.workflow(log.workflow_id, testCaller);
    const foreign = t.kernel.workflow(log.workflow_id, { ...testCaller, tenant_id: 2 });
    foreign.catch(() => undefined);
    // The owner's fold is under way.
    while (asked.length < 4) await new Promise<void>((resolve) => void setImmediate(resolve));
    const late = t.kernel.workflow(log.workflow_id, { ...testCaller, tenant_id: 2 });
    await expect(late).rejects.toMatchObject({ error: { code: "T4_WORKFLOW_NOT_FOUND" } });
    await expect(foreign).rejects.toMatchObject({ error: { code: "T4_WORKFLOW_NOT_FOUND" } });
    expect((await own).workflow_id).toBe(log.workflow_id);
  });
});

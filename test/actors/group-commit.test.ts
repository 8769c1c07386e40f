/** Group commit: how much one transaction takes, and how much goes on after it before others run. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defaultLimits } from "../../src/engine/actors/runtime.ts";
import { createLedgerWriter } from "../../src/engine/log/ledger-writer.ts";
import { defineCapability } from "../../src/index.ts";
import type { Append, AppendReceipt, LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { counted } from "../fixtures.ts";

const receipt: AppendReceipt = { ok: true, position: 1, epoch: null };

/** A store that says how many entries each transaction had. */
function countingStore() {
  const batches: number[] = [];
  const append = async (batch: readonly Append[]): Promise<readonly AppendReceipt[]> => {
    batches.push(batch.length);
    return batch.map(() => receipt);
  };
  return { batches, store: { append } as unknown as LedgerStore };
}

describe("group commit", () => {
  it("takes at most maxBatch rows, and notifies at most maxBurst waiters in one turn of the event loop", async () => {
    const { batches, store } = countingStore();
    const writer = createLedgerWriter(store, { maxBatch: 10, maxBurst: 4 });
    let turn = 0;
    let running = true;
    const count = (): void => {
      turn += 1;
      if (running) setImmediate(count);
    };
    setImmediate(count);
    const told: number[] = [];
    const entry = {} as Append;
    for (let i = 0; i < 25; i += 1)
      writer.post({ seal: () => entry, resolve: () => void told.push(turn), reject: () => undefined });
    await writer.drained();
    running = false;
    expect(batches).toEqual([10, 10, 5]);
    const perTurn = [...new Set(told)].map((one) => told.filter((other) => other === one).length);
    expect(perTurn).toEqual([4, 4, 2, 4, 4, 2, 4, 1]);
  });

  it("takes what the first of those who are told posts only after all have been told", async () => {
    const { batches, store } = countingStore();
    const writer = createLedgerWriter(store, { maxBatch: 10, maxBurst: 1 });
    const entry = {} as Append;
    const again = (left: number): void =>
      writer.post({ seal: () => entry, resolve: () => left > 0 && again(left - 1), reject: () => undefined });
    for (let i = 0; i < 8; i += 1) again(2);
    await writer.drained();
    expect(batches).toEqual([8, 8, 8]);
  });

  it("has bounds of a kernel: 64 rows a transaction, 16 workflows that go on before others run", async () => {
    expect(defaultLimits).toMatchObject({ maxBatch: 64, maxBurst: 16 });
    const { operator } = counted("T.Work");
    const steps = [{ step_id: "s1", name: "work", operator: "T.Work" }];
    const job = defineCapability({
      intentType: "T.Job",
      version: "1.0",
      input: z.object({}),
      operators: [operator],
      plan: { reasoning: "as told", steps },
    });
    await using t = await createTestKernel({ capabilities: [job], limits: { maxBatch: 2, maxBurst: 1 } });
    const ids = await Promise.all(Array.from({ length: 9 }, () => t.submit("T.Job")));
    for (const id of ids) expect(await t.rest(id)).toMatchObject({ state: "completed" });
  });
});

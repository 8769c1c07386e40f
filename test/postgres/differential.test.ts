/** The same seed and story on SQLite and on Postgres: equal rows, to the byte, and equal answers. */
import { describe, expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { letAnswer } from "../../src/testing/let-run.ts";
import { counted } from "../fixtures.ts";
import { intent, publishing, step, story } from "../gates/story.ts";
import { freshLedger } from "./server.ts";

/**
 * What is decided while a row is under way joins the next one: answers of both stores come in the order of the
 * questions, and each when all else is at rest. No time of the virtual clock passes meanwhile.
 */
function waited(store: LedgerStore): LedgerStore {
  let before: Promise<unknown> = Promise.resolve();
  const inTurn = (ask: () => unknown): Promise<unknown> => {
    const answer = before.then(ask);
    before = answer.catch(() => undefined).then(letRest);
    return before.then(() => answer);
  };
  const members = Object.entries(store).map(([name, member]) =>
    typeof member === "function"
      ? [name, (...args: readonly unknown[]) => letAnswer(inTurn(() => member(...args)))]
      : [name, member],
  );
  return Object.fromEntries(members) as LedgerStore;
}

async function letRest(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

async function describeGated(ledger: LedgerStore, seed: number) {
  await using t = await createTestKernel({ seed, ledger: waited(ledger), capabilities: [publishing().capability] });
  const ids: string[] = [];
  for (let n = 0; n < 4; n += 1) {
    const { workflow_id } = await t.run(intent, { n });
    ids.push(workflow_id);
    if (n % 2 === 0) await t.approve(workflow_id);
    else await t.reject(workflow_id);
    await t.rest(workflow_id);
  }
  return await answersOf(t, ledger, ids);
}

async function describeRetried(ledger: LedgerStore, seed: number) {
  let calls = 0;
  const flaky = counted("Story.Flaky", { retry: "STANDARD", idempotent: true }, () => {
    calls += 1;
    if (calls % 2 === 1) throw new Error("not yet");
    return { ok: true };
  });
  const steps = ["a", "b", "c"].map((id) => step(id, flaky));
  await using t = await createTestKernel({ seed, ledger: waited(ledger), capabilities: [story([flaky], steps)] });
  return await answersOf(t, ledger, [(await t.run(intent)).workflow_id]);
}

async function answersOf(
  { kernel }: Awaited<ReturnType<typeof createTestKernel>>,
  ledger: LedgerStore,
  ids: readonly string[],
) {
  return {
    rows: (await ledger.tail(0, 1000)).map(({ row }) => row),
    heads: await ledger.heads({}),
    listed: await kernel.workflows({}, testCaller),
    gates: await kernel.gates({}, testCaller),
    keys: await Promise.all(ids.map((id) => kernel.explain(id, testCaller))),
    verified: await kernel.verify(),
  };
}

describe("one seed on two stores", () => {
  it.each([
    ["gates that are approved and rejected", describeGated],
    ["calls that are made again", describeRetried],
  ])("gives the same rows, to the byte: %s", async (_title, tell) => {
    for (const seed of [1, 2, 3]) {
      const expected = await tell(sqliteLedger(), seed);
      expect(expected.rows.length).toBeGreaterThan(3);
      expect(expected.verified.ok).toBe(true);
      expect(await tell(freshLedger(), seed)).toEqual(expected);
    }
  });
});

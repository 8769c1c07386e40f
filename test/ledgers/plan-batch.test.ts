/** The planner that both stores share, on its own: it judges an entry by what the batch left before it. */
import { describe, expect, it } from "vitest";
import { noCharge } from "../../src/contract/budget.ts";
import { planBatch, type Standing, workflowColumns } from "../../src/ledger/tables/plan-batch.ts";
import { emptyLine, mayTake } from "../../src/ledger/tables/queue-lines.ts";
import type { Append } from "../../src/ports/ledger-store.ts";
import { firstTurn, nextTurn, testStream } from "../../src/testing/ledger-turns.ts";

const nothing: Standing = {
  position: 7,
  headOf: () => undefined,
  holderOf: () => undefined,
  haltsAt: () => 0,
  lineOf: () => emptyLine,
  totalOf: () => noCharge,
};

const key = (unique: boolean) => ({ keys: [{ key: "k", action_id: "act_1", ...(unique && { unique }) }] });
const create = (n: number, indexes: object = {}): Append => firstTurn(testStream(n), {}, { indexes }).entry;

describe("a place in a line", () => {
  it("is taken by priority, then by time, also before one who waits is woken", () => {
    const one = (workflow_id: string, rank: number, since: number) =>
      ({ workflow_id, rank, since, concurrency: 1, rate_limit: null, rate_per: null }) as const;
    const line = { ...emptyLine, waiting: [one("wf_first", -5, 20)] };
    expect(mayTake(line, one("wf_low", 0, 10), 30)).toBe(false);
    expect(mayTake(line, one("wf_late", -5, 30), 30)).toBe(false);
    expect(mayTake(line, one("wf_high", -9, 30), 30)).toBe(true);
  });
});

describe("planBatch", () => {
  it("keeps a key with the workflow that held it before, though the batch brings it again", () => {
    const standing = { ...nothing, holderOf: () => "wf_other" };
    const first = firstTurn(testStream(1), {}, { indexes: key(false) });
    const plan = planBatch([first.entry, nextTurn(first.after, { indexes: key(true) }).entry], standing);
    expect(plan.receipts).toMatchObject([{ ok: true }, { ok: false, reason: "taken" }]);
  });

  it("writes nothing of a refused entry, and numbers the others without a gap", () => {
    const plan = planBatch([create(1, key(true)), create(2, key(true)), create(3)], nothing);
    expect(plan.receipts).toMatchObject([{ position: 7 }, { reason: "taken" }, { position: 8 }]);
    expect(plan.streams.map(({ stream }) => stream)).toEqual([testStream(1).id, testStream(3).id]);
    expect(plan.newWorkflows).toHaveLength(2);
  });

  it("merges the entries of one workflow into one row, and names a change of the progress alone", () => {
    const first = firstTurn(testStream(1));
    const [half, more] = [10, 20].map((percent) => ({ percent }));
    const two = nextTurn(first.after, { indexes: half });
    const three = nextTurn(two.after, { indexes: { ...more, due_at: 5 } });
    const head = planBatch([first.entry], nothing).streams[0]?.head;
    const known = { ...nothing, headOf: () => head };
    expect(planBatch([two.entry], known).changedWorkflows).toMatchObject([{ percent: 10, isProgress: true }]);
    const both = planBatch([two.entry, three.entry], known).changedWorkflows;
    expect(both).toMatchObject([{ percent: 20, due_at: 5, state: null, isProgress: false }]);
    const all = planBatch([first.entry, two.entry], nothing);
    expect([all.newWorkflows[0]?.[workflowColumns.indexOf("percent")], all.changedWorkflows]).toEqual([10, []]);
  });
});

/**
 * `npm run soak:parked` in small: what opening, a first approval and lists read does not depend on how much is parked.
 */
import { describe, expect, it } from "vitest";
import { wallClock } from "../../src/adapters/wall-clock.ts";
import { createKernel } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { freshPaths } from "../fixtures.ts";
import { callerOf, fillParked, soakCapabilities } from "./parked-ledger.ts";

const freshPath = freshPaths();
const waiting = { states: ["waiting_for_user"] } as const;

/** Counts what is asked of a store, and how much comes back. */
function counting(store: LedgerStore) {
  const calls = new Map<string, number>();
  const items = new Map<string, number>();
  const add = (to: Map<string, number>, name: string, n: number): void => void to.set(name, (to.get(name) ?? 0) + n);
  const ledger = Object.fromEntries(
    Object.entries(store).map(([name, member]: [string, unknown]) => {
      if (typeof member !== "function") return [name, member];
      const counted = async (...args: readonly unknown[]): Promise<unknown> => {
        add(calls, name, 1);
        const answer: unknown = await Reflect.apply(member, store, args);
        if (Array.isArray(answer)) add(items, name, answer.length);
        return answer;
      };
      return [name, counted];
    }),
  ) as unknown as LedgerStore;
  const take = () => {
    const taken = { calls: Object.fromEntries(calls), items: Object.fromEntries(items) };
    calls.clear();
    items.clear();
    return taken;
  };
  return { ledger, take };
}

/** A clock that stands: what is known of other tenants' orders does not grow old, however slow the machine is. */
const stopped = { ...wallClock, now: () => startedAt };
const startedAt = Date.now();

async function readOf(count: number) {
  const path = freshPath();
  await fillParked({ path }, { count, originals: 30 });
  const { ledger, take } = counting(sqliteLedger({ path }));
  const kernel = await createKernel({ ledger, capabilities: soakCapabilities, clock: stopped });
  try {
    const opened = take();
    const listed = await kernel.workflows({ ...waiting, limit: 10 }, callerOf(0));
    await kernel.workflows(
      { intent_type: "Soak.Order.Refund", principal: 1, since: "2020-01-01", limit: 10 },
      callerOf(0),
    );
    const { total } = await kernel.workflows({ ...waiting, total: true, limit: 1 }, callerOf(0));
    await kernel.gates({ operator: "Soak.Step", limit: 10 }, callerOf(0));
    const lists = take();
    const [first] = listed;
    await kernel.decideGate(String(first?.workflow_id), { ...callerOf(0), gate_id: "gate-s2", decision: "approve" });
    const { state } = await kernel.settled(String(first?.workflow_id));
    const approved = take();
    const broken = (await kernel.verify()).broken;
    return { opened, lists, approved, state, total, broken };
  } finally {
    await kernel.stop();
  }
}

describe("a ledger of parked workflows", () => {
  it("is opened, listed and approved with equally many reads for 60 or 600, and its copies verify", async () => {
    const few = await readOf(60);
    const many = await readOf(600);
    expect(few.total).toBe(6);
    expect(many.total).toBe(60);
    expect([few.state, many.state]).toEqual(["completed", "completed"]);
    expect(many.opened).toEqual(few.opened);
    expect(many.opened.items).toEqual({
      ...{ grantingTenants: 0, halts: 0, held: 0, overdueWaits: 0, standInTenants: 0, takeUp: 0 },
    });
    // A gate of a list is shown as the log of its workflow says, which is read for each gate of the page.
    // Before each read the store is asked whether all that it holds is synced.
    expect(many.lists.calls).toEqual({
      listHeads: 3,
      countHeads: 1,
      listGates: 1,
      read: 10,
      sync: 15,
      nextScheduleDue: 1,
    });
    expect(many.lists.items["listHeads"]).toBeLessThanOrEqual(21);
    expect(many.approved).toEqual(few.approved);
    expect([few.broken, many.broken]).toEqual([[], []]);
  });
});

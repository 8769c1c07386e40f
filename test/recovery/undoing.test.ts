/** A process that dies while a workflow undoes what it has done: at whichever commit, each undo takes effect once. */
import { beforeEach, expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel, createVirtualClock } from "../../src/testing/index.ts";
import { freshPaths } from "../fixtures.ts";
import { asks, booking, empty, trip, undo, world } from "../lifecycle/booked-trip.ts";
import { mortal } from "./mortal-store.ts";
import { minute, start } from "./shared-file.ts";

const nextPath = freshPaths();
beforeEach(empty);

/** Three bookings, the last of which a person rejects; an undo fails once, and another is approved by a person. */
const steps = [
  booking("a"),
  booking("b", ["a"], { undo: { ...undo("{{b.output.room}}"), ...asks } }),
  booking("c", ["b"]),
  booking("d", ["c"], asks),
];

/** Answers whatever is asked, until the workflow has ended. */
async function answerAll(t: Awaited<ReturnType<typeof createTestKernel>>, id: string) {
  for (let state = await t.rest(id); ; state = await t.rest(id)) {
    if (state.state === "failed" || state.state === "cancelled") return state;
    const open = (await t.kernel.gates()).filter(({ workflow_id }) => workflow_id === id);
    if (open.length === 0) throw new Error(`${id} is ${state.state}, and nobody is asked`);
    for (const { gate_id, kind } of open) {
      if (gate_id === "gate-d") await t.reject(id, gate_id);
      else if (kind === "ask") await t.approve(id, gate_id, { answer: { resolution: "retry" } });
      else if (kind === "in_doubt") await t.approve(id, gate_id, { resolution: "retry" });
      else await t.approve(id, gate_id);
    }
  }
}

async function undoAndDie(left: number, side: string) {
  empty();
  world.faults.set("undo:c", 1);
  const capabilities = [trip(steps)];
  const path = nextPath();
  const { fate, ledger } = mortal(sqliteLedger({ path }));
  const limits = { maxReplans: 0 };
  const one = await createTestKernel({ seed: 1, capabilities, limits, ledger, clock: createVirtualClock(start) });
  const id = await one.submit("Trip.Plan");
  await one.rest(id);
  Object.assign(fate, { left, side });
  void answerAll(one, id).catch(() => undefined);
  await one.clock.settle();
  await using two = await createTestKernel({
    seed: 2,
    capabilities,
    limits,
    ledger: sqliteLedger({ path }),
    clock: createVirtualClock(start + 30 * minute),
  });
  await two.clock.advance(minute);
  const { state, compensated } = await answerAll(two, id);
  const replay = await two.kernel.replay(id);
  const verified = await two.kernel.verify();
  if (!fate.isDead) await one.kernel.stop({ drainMs: 0 });
  const effects = [...new Set(world.calls)];
  return { died: fate.isDead, ended: [state, compensated, replay.identical, verified.ok], effects };
}

it.each(["before", "after"])(
  "a process that dies %s any commit leaves nothing that was booked, and no undo undone",
  async (side) => {
    let commits = 1;
    for (let died = true; died; commits += 1) {
      const { died: hasDied, ended, effects } = await undoAndDie(commits, side);
      expect([commits, ended]).toEqual([commits, ["cancelled", "all", true, true]]);
      expect([...world.booked]).toEqual([]);
      expect(effects).toEqual(["book a", "book b", "book c", "free c", "free b", "free a"]);
      died = hasDied;
    }
    expect(commits).toBeGreaterThan(5);
  },
);

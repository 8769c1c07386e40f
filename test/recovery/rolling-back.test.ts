/** A process that dies while a workflow is rolled back: at whichever commit, its child and it undo each call once. */
import { beforeEach, expect, it } from "vitest";
import type { AnyStepDraft } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel, createVirtualClock, testCaller } from "../../src/testing/index.ts";
import { freshPaths } from "../fixtures.ts";
import { booking, empty, trip, world } from "../lifecycle/booked-trip.ts";
import { mortal } from "./mortal-store.ts";
import { minute, start } from "./shared-file.ts";

const nextPath = freshPaths();
beforeEach(empty);

const part = {
  step_id: "p",
  name: "Part",
  kind: "run",
  params: { intent: "Trip.Part" },
  depends_on: ["a"],
} as AnyStepDraft;
const capabilities = [
  trip([booking("a"), part, booking("b", ["p"])]),
  trip([booking("x"), booking("y", ["x"])], "Trip.Part"),
];

async function rollBackAndDie(left: number, side: string) {
  empty();
  const path = nextPath();
  const { fate, ledger } = mortal(sqliteLedger({ path }));
  const one = await createTestKernel({ seed: 1, capabilities, ledger, clock: createVirtualClock(start) });
  const id = await one.submit("Trip.Plan");
  await one.rest(id);
  Object.assign(fate, { left, side });
  void one.kernel.rollback(id, testCaller).catch(() => undefined);
  await one.clock.settle();
  const clock = createVirtualClock(start + 30 * minute);
  await using two = await createTestKernel({ seed: 2, capabilities, ledger: sqliteLedger({ path }), clock });
  await two.kernel.rollback(id, testCaller);
  await clock.advance(minute);
  const { state, compensated } = await two.rest(id);
  const replay = await two.kernel.replay(id);
  const verified = await two.kernel.verify();
  if (!fate.isDead) await one.kernel.stop({ drainMs: 0 });
  return { died: fate.isDead, ended: [state, compensated, replay.identical, verified.ok] };
}

it.each(["before", "after"])(
  "a process that dies %s any commit leaves nothing, and undoes nothing twice",
  async (side) => {
    let commits = 1;
    for (let died = true; died; commits += 1) {
      const { died: hasDied, ended } = await rollBackAndDie(commits, side);
      expect([commits, ended]).toEqual([commits, ["cancelled", "all", true, true]]);
      const booked = ["book a", "book x", "book y", "book b"];
      expect([...new Set(world.calls)]).toEqual([...booked, "free b", "free y", "free x", "free a"]);
      died = hasDied;
    }
    expect(commits).toBeGreaterThan(5);
  },
);

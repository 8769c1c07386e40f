/** A process that dies while a fork begins: at whichever commit, it goes on once, and the workflow before it knows. */
import { beforeEach, expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel, createVirtualClock, testCaller } from "../../src/testing/index.ts";
import { freshPaths } from "../fixtures.ts";
import { booking, empty, trip, world } from "../lifecycle/booked-trip.ts";
import { mortal } from "./mortal-store.ts";
import { minute, start } from "./shared-file.ts";

const nextPath = freshPaths();
beforeEach(empty);

const capabilities = [trip([booking("a"), booking("b", ["a"])])];
const order = { ...testCaller, at: "b", idempotency_key: "once" };

async function forkAndDie(left: number, side: string) {
  empty();
  const path = nextPath();
  const { fate, ledger } = mortal(sqliteLedger({ path }));
  const one = await createTestKernel({ seed: 1, capabilities, ledger, clock: createVirtualClock(start) });
  const id = await one.submit("Trip.Plan");
  await one.rest(id);
  Object.assign(fate, { left, side });
  void one.kernel.fork(id, order).catch(() => undefined);
  await one.clock.settle();
  const clock = createVirtualClock(start + 30 * minute);
  await using two = await createTestKernel({ seed: 2, capabilities, ledger: sqliteLedger({ path }), clock });
  const { workflow_id } = await two.kernel.fork(id, order);
  await clock.advance(minute);
  for (const gate of await two.kernel.gates())
    await two.approve(gate.workflow_id, gate.gate_id, { resolution: "retry" });
  const { state } = await two.rest(workflow_id);
  const { forks } = await two.kernel.workflow(id);
  const replay = await two.kernel.replay(workflow_id);
  const verified = await two.kernel.verify();
  if (!fate.isDead) await one.kernel.stop({ drainMs: 0 });
  return { died: fate.isDead, ended: [state, forks.length, replay.identical, verified.ok] };
}

it.each(["before", "after"])(
  "a process that dies %s any commit begins one fork, which takes its part over",
  async (side) => {
    let commits = 1;
    for (let died = true; died; commits += 1) {
      const { died: hasDied, ended } = await forkAndDie(commits, side);
      expect([commits, ended]).toEqual([commits, ["completed", 1, true, true]]);
      expect(world.calls.filter((call) => call === "book a")).toHaveLength(1);
      died = hasDied;
    }
    expect(commits).toBeGreaterThan(3);
  },
);

/**
 * Crash at every commit of one scenario, on both sides of it. `npm run crash` does the same for many scenarios, and
 * lets the process die twice.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Cut, cutAt, type Ground, inPairs, makeGround, type Point, runUnhurt, type Unhurt } from "./crash-at.ts";

describe("a process that dies at any commit", () => {
  let ground: Ground;
  let unhurt: Unhurt;
  let cuts: readonly Cut[];

  beforeAll(async () => {
    ground = makeGround();
    unhurt = await runUnhurt(ground, 1);
    const points = (["before", "after"] as const).flatMap((side) =>
      Array.from({ length: unhurt.commits }, (_, i): Point => ({ n: i + 1, side })),
    );
    cuts = await inPairs(points, (point) => cutAt(ground, unhurt, { scenario: 1, point }));
  });
  afterAll(() => ground[Symbol.dispose]());

  const pointsWhere = (is: (cut: Cut) => boolean): readonly Point[] => cuts.filter(is).map((cut) => cut.point);

  it("the unhurt run has a retry, a replan and two gates, and completes with each effect once", () => {
    expect(unhurt.commits).toBeGreaterThan(10);
    expect(unhurt.ending).toMatchObject({
      state: "completed",
      intact: true,
      effects: { "Sim.Post s4": 1, "Sim.Post s6": 1, "Sim.Put s2": 1, "Sim.Put s5": 1 },
    });
    expect(unhurt.ending.outcomes).toMatchObject([{ status: "draft" }, { status: "final" }]);
  });

  it("was killed at every point, so that each cut is a real one", () => {
    expect(cuts).toHaveLength(2 * unhurt.commits);
    expect(pointsWhere((cut) => !cut.killed)).toEqual([]);
  });

  it("state, outcomes and effects after any crash equal those of the unhurt run", () => {
    expect(pointsWhere((cut) => !cut.same)).toEqual([]);
  });

  it("[INV-15] no idempotency key takes effect twice, however the process died", () => {
    expect(pointsWhere((cut) => cut.doubled.length > 0)).toEqual([]);
  });

  it("only a call that is not idempotent asks a person, both where it had happened and where it had not", () => {
    const answers = new Set(cuts.flatMap((cut) => cut.settled));
    expect([...answers].sort()).toEqual(["done", "retry"]);
    expect(pointsWhere((cut) => cut.settled.length > 1)).toEqual([]);
  });
});

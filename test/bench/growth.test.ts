/** What the model of growth can never say, and the page that it makes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../properties/property-runs.ts";
import { root } from "../tidy/source-files.ts";
import { type Parameters, simulateCell, simulateCrowd, simulateDeath } from "./growth-model.ts";
import { type GrowthMeasured, renderGrowth } from "./growth-page.ts";

const cost = fc.double({ min: 0.01, max: 1, noNaN: true });
const parametersOf: fc.Arbitrary<Parameters> = fc.record({
  turns: fc.integer({ min: 1, max: 9 }),
  kernelTurn: cost,
  serverTurn: cost,
  serverBatch: cost,
  roundTrip: cost,
  sync: cost,
  serverIdle: fc.constant(0),
  serverCores: fc.integer({ min: 1, max: 4 }),
  sharedCores: fc.option(fc.integer({ min: 1, max: 4 })),
});
const loadOf = fc.record({
  kernels: fc.integer({ min: 1, max: 4 }),
  inFlight: fc.integer({ min: 1, max: 16 }),
  seconds: fc.constant(1),
  seed: fc.integer(),
});

describe("the model of growth", () => {
  it("carries no more than its threads, its cores and the workflows in flight allow", () => {
    fc.assert(
      fc.property(parametersOf, loadOf, (parameters, load) => {
        const { turns, kernelTurn, serverTurn, roundTrip, sync, serverCores, sharedCores } = parameters;
        const { per_s, server_busy } = simulateCell(parameters, load);
        const cores = sharedCores === null ? serverCores / serverTurn : sharedCores / (kernelTurn + serverTurn);
        const most = Math.min(
          load.kernels / kernelTurn,
          cores,
          (load.kernels * load.inFlight) / (kernelTurn / 2 + serverTurn + 2 * roundTrip + sync),
        );
        // A second that is cut out has workflows at both ends, and turns that took less than the mean.
        expect(per_s * turns).toBeLessThanOrEqual(1000 * most * 1.1 + load.kernels * load.inFlight * turns);
        expect(server_busy).toBeLessThanOrEqual(1.01);
      }),
      { numRuns: runs(30) },
    );
  });

  it("says the same for the same seed", () => {
    fc.assert(
      fc.property(parametersOf, loadOf, (parameters, load) => {
        expect(simulateCell(parameters, load)).toEqual(simulateCell(parameters, load));
      }),
      { numRuns: runs(5) },
    );
  });

  it("a death is noticed no sooner than its lock is free, and no later than a look after", () => {
    const { parameters } = measured();
    const death = { survivors: 3, running: 1, pollMs: 200, lockMs: 18, takeUpTurns: 3, page: 256 };
    for (let seed = 0; seed < 50; seed += 1) {
      const { p50_ms, last_ms } = simulateDeath({ ...parameters, sharedCores: null }, { ...death, seed });
      expect(p50_ms).toBe(last_ms);
      expect(last_ms).toBeGreaterThan(18);
      expect(last_ms).toBeLessThan(18 + 200 + 50);
    }
  });

  it("a flood harms its own cell at most, and nobody where tenants have limits", () => {
    const crowd = { tenants: 100, rate: 3, flood: 1_000, carries: 300, seconds: 5, seed: 1 };
    expect(simulateCrowd({ ...crowd, cells: 1, limit: null }).harmed).toBe(1);
    expect(simulateCrowd({ ...crowd, cells: 5, limit: null }).harmed).toBeLessThanOrEqual(1 / 5);
    expect(simulateCrowd({ ...crowd, cells: 5, limit: 9 }).harmed).toBe(0);
  });
});

const measured = (): GrowthMeasured =>
  JSON.parse(readFileSync(join(root, "test/bench/growth-measured.json"), "utf8")) as GrowthMeasured;

it("the page on growth is what the model says of what was measured", () => {
  expect(readFileSync(join(root, "visualizations/growth.md"), "utf8")).toBe(renderGrowth(measured()));
});

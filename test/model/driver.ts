/**
 * A walk along a generated path: each event is brought about by what a user or a host can do, and after each the kernel
 * is read back and held against the chart.
 */
import { expect } from "vitest";
import type { LedgerEvent } from "../../src/index.ts";
import { kinds } from "../../src/observers/inspect/player.ts";
import { foldedStates, pictureOf, playAll, statesIn } from "../inspect/story.ts";
import { type ChartEvent, type ChartPath, eventsOf, follow, type Model, missingOf, nameOf } from "./paths.ts";
import type { Walked } from "./subject.ts";

/** How one chart is seen and driven. */
export interface Driver {
  readonly subject: Walked;
  /** What the ledger says about the subject, in the chart's words. */
  readonly project: (events: readonly LedgerEvent[]) => readonly ChartEvent[];
  /** The subject's state as callers read it. */
  readonly view: () => Promise<string>;
  /** The same as the live actors hold it; null while nothing of it is awake. */
  readonly live: () => string | null;
  /** Brings an event about; `next` is the one after it on the path. */
  readonly bring: (event: ChartEvent, next: ChartEvent | null) => Promise<void>;
}

/** What walks have taken, over all paths of a chart. */
export interface Coverage {
  readonly pairs: Set<string>;
  /** States in which a kernel rested and was read back. */
  readonly states: Set<string>;
}

export const createCoverage = (): Coverage => ({ pairs: new Set(), states: new Set() });

/** Makes the walk; each step of the path is one act, and one comparison. */
export async function walkPath(model: Model, path: ChartPath, driver: Driver, coverage: Coverage): Promise<void> {
  const events = eventsOf(path);
  let at = 0;
  const bring = async (): Promise<void> => {
    at += 1;
    await driver.bring(events[at - 1] as ChartEvent, events[at] ?? null);
  };
  await path.test({
    events: Object.fromEntries(events.map(({ type }) => [type, bring])),
    states: { "*": () => compare(model, driver, coverage) },
  });
  const trace = driver.project(await driver.subject.events());
  expect(missingOf(model, path, trace), `the ledger has ${trace.map((e) => e.type).join(" ")}`).toEqual([]);
  await driver.subject.t.clock.settle();
  await compare(model, driver, coverage);
}

/**
 * The state that callers read is the one that XState's interpreter reaches over the recorded events, and an inspector
 * shows it.
 */
async function compare(model: Model, driver: Driver, coverage: Coverage): Promise<void> {
  const recorded = await driver.subject.events();
  const { state, pairs } = follow(model, driver.project(recorded));
  expect(await driver.view()).toBe(state);
  const live = driver.live();
  if (live !== null) expect(live).toBe(state);
  const inspected = pictureOf(playAll(recorded, { show: kinds }));
  expect(statesIn(inspected, driver.subject.id)).toMatchObject(foldedStates(recorded));
  coverage.states.add(state);
  for (const pair of pairs) coverage.pairs.add(pair);
}

export const titleOf = (path: ChartPath): string => eventsOf(path).map(nameOf).join(" → ") || "the initial state";

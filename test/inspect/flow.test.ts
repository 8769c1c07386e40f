/**
 * The chart of one's own flow: it loads in XState, and a recorded run is followed on it state by state, whatever the
 * plan, the people and the faults.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMachine, getInitialSnapshot, getNextSnapshot } from "xstate";
import { stepPath } from "../../machines/charts.ts";
import { foldWorkflow } from "../../machines/fold.ts";
import type { LedgerEvent } from "../../src/index.ts";
import { chartOfFlow, type FlowChart } from "../../src/observers/inspect/flow-chart.ts";
import { flowOfPlan, flowOfRun } from "../../src/observers/inspect/flow-steps.ts";
import type { FlowState } from "../../src/observers/inspect/lifecycle-states.ts";
import { playFlow } from "../../src/observers/inspect/play-flow.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { anyStory, holdsFor } from "../invariants/stories.ts";
import { begin, booking, empty, fail, open } from "../lifecycle/booked-trip.ts";
import { order, pay } from "../lifecycle/shop-children.ts";
import { goldens } from "./story.ts";

/** The states of the chart's steps, gates and workflow, as a snapshot of the chart has them. */
function statesOf(node: FlowState, value: unknown): readonly (readonly [string, string])[] {
  const { meta, states = {} } = node;
  const id = meta?.["workflow"] === true ? "workflow" : (meta?.["step_id"] ?? meta?.["gate_id"]);
  if (typeof id === "string") return [[id, pathOf(value)]];
  return Object.entries(value as object).flatMap(([name, inner]) => statesOf(states[name] as FlowState, inner));
}

const pathOf = (value: unknown): string =>
  typeof value === "string"
    ? value
    : Object.entries(value as object)
        .map(([name, inner]) => `${name}.${pathOf(inner)}`)
        .join();

/** Requires that the chart stands where the record stands after each event. */
function follow(chart: FlowChart, events: readonly LedgerEvent[]): void {
  const machine = createMachine(JSON.parse(JSON.stringify(chart)) as object);
  let snapshot = getInitialSnapshot(machine);
  let record: ReturnType<typeof foldWorkflow> = null;
  for (const { event, sent } of playFlow(events)) {
    for (const one of sent) snapshot = getNextSnapshot(machine, snapshot, one as never);
    record = foldWorkflow(record, event);
    const stands = Object.fromEntries(statesOf(chart, snapshot.value));
    const steps = [...(record?.steps ?? [])].map(([id, step]) => [id, stepPath(step)]);
    const gates = [...(record?.gates ?? [])].map(([id, { status }]) => [id, status]);
    const own = record === null ? [] : [["workflow", record.state], ...steps, ...gates];
    expect(stands, `after ${event.event_type} ${event.sequence}`).toMatchObject(Object.fromEntries(own));
    const others = Object.entries(stands).filter(([id]) => !own.some(([known]) => known === id));
    expect(others.filter(([, state]) => !["unplanned", "declared", "voided", "accepted"].includes(state))).toEqual([]);
  }
}

const eventsOf = (t: TestKernel, id: string): Promise<LedgerEvent[]> =>
  Array.fromAsync(t.kernel.events(id, { live: false }));

const followRun = (events: readonly LedgerEvent[]): void => follow(chartOfFlow(flowOfRun(events)), events);

describe("the chart of a recorded run", () => {
  it.each(goldens)("follows the golden ledger %s state by state to its end", (_name, events) => followRun(events));

  it("follows random plans with gates, faults, rejections, edits and further attempts", async () => {
    await holdsFor(anyStory(), async (play) => followRun(await play.events()), { numRuns: 12 });
  });

  it("follows a run with undo, and one with a child", async () => {
    empty();
    await using t = await open([booking("a"), booking("b", ["a"]), fail(["b"])]);
    const { id } = await begin(t);
    const events = await eventsOf(t, id);
    followRun(events);
    const chart = chartOfFlow(flowOfRun(events));
    expect(Object.keys(chart.states["Book a"]?.states ?? {})).toEqual(["step", "Undo Book a"]);
    await using shop = await createTestKernel({ capabilities: [order, pay] });
    const { workflow_id } = await shop.run("Shop.Order");
    followRun(await eventsOf(shop, workflow_id));
  });
});

describe("the chart of a plan", () => {
  it("has each step by its name with its gates, its loop and what undoes it, and is played on as well", async () => {
    const steps = [booking("a", [], { gate: { reason: "look" } }), booking("b", ["a"])];
    const plan = { reasoning: "a trip", steps };
    const chart = chartOfFlow(flowOfPlan("Trip.Plan 1.0", plan));
    expect(Object.keys(chart.states)).toEqual(["workflow", "Book a", "Book b"]);
    expect(Object.keys(chart.states["Book a"]?.states ?? {})).toEqual(["step", "gate-a", "Undo Book a"]);
    expect(chart.states["Book a"]?.states?.["gate-a"]?.description).toContain("asks a person first: look");
    expect(chart.states["Book b"]?.states?.["step"]?.states?.["queued"]?.on).toMatchObject({
      "STEP_STARTED.b": { target: "#step/b/running", description: "after Book a" },
    });
    empty();
    await using t = await open(steps);
    const { id } = await begin(t);
    await t.approve(id);
    await t.rest(id);
    follow(chart, await eventsOf(t, id));
  });

  it("loads in XState whatever the steps are called", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom("a.b", "#a", "__proto__", "workflow", "*", "s1")),
          {
            minLength: 1,
            maxLength: 6,
          },
        ),
        (names) => {
          const steps = names.map((name, at) => ({ step_id: `s${at}`, name, operator: "Test.Do" }));
          const chart = chartOfFlow(flowOfPlan("Test.Plan 1.0", { reasoning: "", steps }));
          const machine = createMachine(JSON.parse(JSON.stringify(chart)) as object);
          const stands = Object.fromEntries(statesOf(chart, getInitialSnapshot(machine).value));
          expect(Object.keys(stands).length).toBe(names.length + 1);
        },
      ),
      { numRuns: 50 },
    );
  });
});

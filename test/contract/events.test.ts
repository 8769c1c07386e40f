/** The event catalogue agrees with the charts, and every derived set names known types. */
import { describe, expect, it } from "vitest";
import { actionMachine, gateMachine, stepMachine, workflowMachine } from "../../machines/index.ts";
import type { ChartName } from "../../src/contract/events/event-row.ts";
import {
  type EventFacts,
  eventTypes,
  factsOf,
  movesChart,
  touchesGate,
  typesWhere,
} from "../../src/contract/events.ts";
import { eventsOf } from "../machines/interpreter.ts";

const machines = { workflow: workflowMachine, step: stepMachine, gate: gateMachine, action: actionMachine };
const chartNames = Object.keys(machines) as readonly ChartName[];

/** The event types for which a chart has a transition in some state, whatever the payload says. */
const movedBy = (name: ChartName): readonly string[] => eventsOf(machines[name]);

/** Gates are also moved by the events that leave them with nothing to decide. */
const isNamed = (name: ChartName, facts: EventFacts): boolean =>
  movesChart(name, facts) || (name === "gate" && facts.voids !== undefined);

describe("the event catalogue", () => {
  it.each(chartNames)("names the %s chart in the row of each event type that moves it", (name) => {
    const missing = movedBy(name).filter((type) => !isNamed(name, factsOf(type)));
    expect(missing).toEqual([]);
  });

  it("gives every event type with a chart a first chart that accepts it in some state", () => {
    const moved = new Map<ChartName, ReadonlySet<string>>(chartNames.map((name) => [name, new Set(movedBy(name))]));
    // STEP_QUEUED moves no chart: it may happen while the chart of its step stands in its first state.
    moved.set("step", new Set([...movedBy("step"), "STEP_QUEUED"]));
    const dead = eventTypes.filter((type) => {
      const [first] = factsOf(type).charts ?? [];
      return first !== undefined && moved.get(first)?.has(type) === false;
    });
    expect(dead).toEqual([]);
  });

  it("makes no fact of an unknown type, also of one that objects have by inheritance", () => {
    for (const type of ["NOBODY_KNOWS", "constructor", "__proto__"]) {
      expect(factsOf(type).charts).toBeUndefined();
      expect(touchesGate(factsOf(type))).toBe(false);
    }
  });

  it("derives the ends of a workflow and of a gate from the rows", () => {
    expect([...typesWhere(({ ends }) => ends === "workflow")].sort()).toEqual([
      "WORKFLOW_CANCELLED",
      "WORKFLOW_COMPLETED",
      "WORKFLOW_FAILED",
    ]);
    expect([...typesWhere(({ ends }) => ends === "gate")].sort()).toEqual([
      "GATE_EXPIRED",
      "USER_APPROVED",
      "USER_REJECTED",
    ]);
  });
});

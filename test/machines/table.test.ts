import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AnyStateMachine, createMachine, setup } from "xstate";
import { type Chart, compileChart } from "../../machines/table.ts";
import { runs } from "../properties/property-runs.ts";
import {
  accepts,
  allMachines,
  anyEventOf,
  begin,
  event,
  eventsOf,
  guardFields,
  type ProbeEvent,
  pathOf,
  send,
} from "./interpreter.ts";

interface Answer {
  readonly state: string;
  readonly accepted: boolean;
}

/** What the compiled chart and the interpreter say along one walk. */
function bothAnswers(
  machine: AnyStateMachine,
  chart: Chart,
  events: readonly ProbeEvent[],
): { readonly table: Answer[]; readonly interpreter: Answer[] } {
  let state = chart.initial;
  let snapshot = begin(machine);
  const table: Answer[] = [];
  const interpreter: Answer[] = [];
  for (const probe of events) {
    const next = chart.isFinal(state) ? undefined : chart.next(state, probe);
    const accepted = accepts(machine, snapshot, probe);
    snapshot = send(machine, snapshot, probe);
    state = next ?? state;
    table.push({ state, accepted: next !== undefined });
    interpreter.push({ state: pathOf(snapshot.value), accepted });
  }
  return { table, interpreter };
}

/** Every state that events can lead to, with a way there. */
function waysTo(machine: AnyStateMachine): ReadonlyMap<string, readonly ProbeEvent[]> {
  const probes = eventsOf(machine).flatMap((type) => probesOf(type));
  const ways = new Map<string, readonly ProbeEvent[]>([[pathOf(begin(machine).value), []]]);
  for (const [, way] of ways) {
    const snapshot = way.reduce((at, probe) => send(machine, at, probe), begin(machine));
    for (const probe of probes) {
      const reached = pathOf(send(machine, snapshot, probe).value);
      if (!ways.has(reached)) ways.set(reached, [...way, probe]);
    }
  }
  return ways;
}

/** One event with its guard fields set in every way. */
const probesOf = (type: string): readonly ProbeEvent[] =>
  (["deny", "allow"] as const)
    .flatMap((action) =>
      (["done", "retry", "failed"] as const).flatMap((resolution) =>
        [true, false].flatMap((pending) =>
          [true, false].map((final) => event(type, { action, resolution, pending, final })),
        ),
      ),
    )
    .concat(event(type, { status: "failed", label: "dependency_cancelled" }), event(type, { gates: [] }));

describe.each(allMachines)("the table of %s", (_name, machine) => {
  const chart = compileChart(machine);

  it("says what the interpreter says on every walk", () => {
    const walks = fc.array(anyEventOf(machine), { maxLength: 60 });
    const property = fc.property(walks, (events) => {
      const { table, interpreter } = bothAnswers(machine, chart, events);
      expect(table).toEqual(interpreter);
    });
    fc.assert(property, { numRuns: runs(500) });
  });

  it("says so in every state, for every event, with every guard in both ways", () => {
    const probes = [...eventsOf(machine), "NO_SUCH_EVENT"].flatMap(probesOf);
    for (const [, way] of waysTo(machine)) {
      for (const probe of probes) {
        const { table, interpreter } = bothAnswers(machine, chart, [...way, probe]);
        expect(table.at(-1)).toEqual(interpreter.at(-1));
      }
    }
  });

  it("knows every state, and every state can be reached", () => {
    expect([...waysTo(machine).keys()].sort()).toEqual([...chart.states].sort());
  });

  it("a final state ignores every event", () => {
    const finals = chart.states.filter(chart.isFinal);
    for (const final of finals) {
      for (const probe of eventsOf(machine).flatMap(probesOf)) expect(chart.next(final, probe)).toBeUndefined();
    }
  });
});

describe("compiling", () => {
  const events = {} as ProbeEvent;

  it("falls back to the state around when no guard inside holds, as the interpreter does", () => {
    const machine = setup({ types: { events }, guards: { pending: (args) => args.event.pending } }).createMachine({
      id: "nested",
      initial: "outer",
      states: {
        outer: {
          initial: "inner",
          on: { GO: "left" },
          states: { inner: { on: { GO: { guard: "pending", target: "other" } } }, other: {} },
        },
        left: {},
      },
    });
    const chart = compileChart(machine);
    const walks = fc.array(fc.record({ type: fc.constant("GO"), ...guardFields }), { maxLength: 3 });
    fc.assert(
      fc.property(walks, (events) => {
        const { table, interpreter } = bothAnswers(machine, chart, events);
        expect(table).toEqual(interpreter);
      }),
    );
  });

  it("refuses what a table cannot say", () => {
    expect(() => compileChart(createMachine({ id: "p", type: "parallel", states: { a: {}, b: {} } }))).toThrow(
      /parallel/,
    );
    expect(() =>
      compileChart(
        createMachine({
          id: "g",
          initial: "a",
          states: { a: { on: { GO: { guard: "missing", target: "b" } } }, b: {} },
        }),
      ),
    ).toThrow(/guard/);
  });
});

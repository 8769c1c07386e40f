/**
 * Paths through a chart: one for each transition that it declares, the shortest that takes it; and the walk that holds
 * a kernel's ledger against the chart.
 *
 * P1  Paths come from @xstate/graph and from the shipped machine; nothing here knows a state or an event by name.
 * P2  A kernel's trace realizes a path when its events take the path's steps in order and, between two of them, only
 *     move the chart nowhere (a failure of an attempt that was given up, say).
 */
import { createTestModel, getAdjacencyMap, type TestPath } from "@xstate/graph";
import type { AnyMachineSnapshot, AnyStateMachine, EventObject } from "xstate";
import { accepts, begin, type ProbeEvent, pathOf, event as probe, send } from "../machines/interpreter.ts";
import { type ChartEvent, nameOf, type Words, wordsOf } from "./words.ts";

export { type ChartEvent, nameOf } from "./words.ts";

export type ChartPath = TestPath<AnyMachineSnapshot, EventObject>;

export const pairOf = (state: string, event: ChartEvent): string => `${state} + ${nameOf(event)}`;
const probeOf = (event: ChartEvent): ProbeEvent => probe(event.type, event);
const stateOf = (snapshot: AnyMachineSnapshot): string => pathOf(snapshot.value);

export interface Model extends Words {
  readonly machine: AnyStateMachine;
  /** `state + EVENT` for each transition that the chart declares, by the adjacency map. */
  readonly pairs: readonly string[];
  readonly states: readonly string[];
  /** One path for each pair, those left out that another one begins with. */
  readonly paths: readonly ChartPath[];
}

export interface Routing {
  /** By pair: the events before it, where the shortest way to its state leaves out what the event needs. */
  readonly ways?: Readonly<Record<string, readonly ChartEvent[]>>;
  /** Pairs that no way to another one leads through: a kernel takes them in rare circumstances only. */
  readonly rare?: readonly string[];
}

export function createModel(machine: AnyStateMachine, { ways = {}, rare = [] }: Routing = {}): Model {
  const words = wordsOf(machine);
  const events = words.all;
  const model = createTestModel(machine, { events: events as never, serializeState: stateOf });
  const usual = (snapshot: AnyMachineSnapshot) =>
    events.filter((event) => !rare.includes(pairOf(stateOf(snapshot), event)));
  const shortest = new Map(
    model
      .getShortestPaths({ allowDuplicatePaths: true, events: usual as never })
      .map((path) => [stateOf(path.state), path] as const),
  );
  const declared = declaredIn(machine, events);
  const routes = declared.map(({ state, event }) => [
    ...(ways[pairOf(state, event)] ?? eventsOf(shortest.get(state) as ChartPath)),
    event,
  ]);
  const paths = dropPrefixes(routes).flatMap((route) => model.getPathsFromEvents(route as never));
  return {
    ...words,
    machine,
    pairs: declared.map(({ state, event }) => pairOf(state, event)),
    states: [...shortest.keys()],
    paths,
  };
}

interface Adjacent {
  readonly state: AnyMachineSnapshot;
  readonly transitions: Readonly<Record<string, { readonly event: ChartEvent }>>;
}

/** The adjacency map as a list. The map tries every event in every state; what a state does not declare is left out. */
function declaredIn(machine: AnyStateMachine, events: readonly ChartEvent[]) {
  const options = { events, serializeState: stateOf };
  const adjacency = getAdjacencyMap(machine, options as never) as unknown as Readonly<Record<string, Adjacent>>;
  return Object.values(adjacency).flatMap(({ state, transitions }) =>
    Object.values(transitions)
      .filter(({ event }) => accepts(machine, state, probeOf(event)))
      .map(({ event }) => ({ state: stateOf(state), event })),
  );
}

/** A path's events, without the one that XState begins with. */
export const eventsOf = (path: ChartPath): readonly ChartEvent[] =>
  path.steps.map((s) => s.event as ChartEvent).filter(({ type }) => type !== "xstate.init");

const textOf = (route: readonly ChartEvent[]): string => route.map((e) => `${nameOf(e)};`).join("");

function dropPrefixes(routes: readonly (readonly ChartEvent[])[]): readonly (readonly ChartEvent[])[] {
  return routes.filter((route, i) => !routes.some((other, j) => j !== i && textOf(other).startsWith(textOf(route))));
}

export interface Trace {
  /** Where the chart is after the trace. */
  readonly state: string;
  readonly pairs: readonly string[];
}

/** Runs XState's own interpreter over what the kernel recorded. @throws where the chart does not declare an event. */
export function follow({ machine }: Model, trace: readonly ChartEvent[]): Trace {
  let snapshot = begin(machine);
  const pairs = trace.map((event) => {
    const pair = pairOf(stateOf(snapshot), event);
    if (!accepts(machine, snapshot, probeOf(event)))
      throw new Error(`the kernel recorded ${pair}, which is not declared`);
    snapshot = send(machine, snapshot, probeOf(event));
    return pair;
  });
  return { state: stateOf(snapshot), pairs };
}

/** What of the path the trace did not take; empty when it realizes the path. */
export function missingOf({ machine }: Model, path: ChartPath, trace: readonly ChartEvent[]): readonly string[] {
  const wanted = eventsOf(path).map(nameOf);
  let snapshot = begin(machine);
  for (const event of trace) {
    const next = send(machine, snapshot, probeOf(event));
    if (wanted[0] === nameOf(event)) wanted.shift();
    else if (wanted.length > 0 && stateOf(next) !== stateOf(snapshot)) return [...wanted, `(took ${nameOf(event)})`];
    snapshot = next;
  }
  return wanted;
}

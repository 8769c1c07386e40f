/**
 * The lifecycle host: the live actors of workflows, steps and gates, as children of T4, of their workflow, and of their
 * step's workflow. They receive each event once it is committed.
 *
 * Owns: creating, waking at a folded state, and releasing lifecycle actors. Never: decides, appends.
 * 1.  Actors are made with `createActor(logic, { parent })`: cost does not grow with the number of siblings.
 * 2.  With an inspector the actors run the statecharts themselves; without one the compiled tables of the same charts.
 * 3.  A workflow that parks or ends leaves no actor behind. With an inspector, a parked workflow keeps its actors, so
 *     that the inspector sees the same actors over its whole life.
 */
import { type AnyActorRef, type AnyStateMachine, createActor, type StateValue } from "xstate";
import { type Address, addressesOf, type Begun } from "../../../machines/addresses.ts";
import { chartEvent, lifecycleCharts, stepPath } from "../../../machines/charts.ts";
import { gateMachine } from "../../../machines/gate.ts";
import { stepMachine } from "../../../machines/step.ts";
import { type Chart, type ChartEvent, nestState } from "../../../machines/table.ts";
import { workflowMachine } from "../../../machines/workflow.ts";
import { type LedgerEvent, payloadOf } from "../../contract/event.ts";
import { isGateOf } from "../../contract/gate.ts";
import { isTerminal, type WorkflowRecord } from "../../contract/workflow.ts";
import { stopActor } from "./stop-actor.ts";

interface Live extends Begun {
  readonly workflow: AnyActorRef;
  readonly steps: Map<string, AnyActorRef>;
  readonly gates: Map<string, AnyActorRef>;
  /** The sequence of the last event that its actors have received. */
  sequence: number;
}

const charts = {
  workflow: { machine: workflowMachine as AnyStateMachine, chart: lifecycleCharts.workflow },
  step: { machine: stepMachine as AnyStateMachine, chart: lifecycleCharts.step },
  gate: { machine: gateMachine as AnyStateMachine, chart: lifecycleCharts.gate },
} as const;

export interface LifecycleHostOptions {
  readonly parent: () => AnyActorRef;
  readonly inspected: boolean;
  readonly onError: (error: unknown) => void;
}

export class LifecycleHost {
  readonly #options: LifecycleHostOptions;
  readonly #live = new Map<string, Live>();
  /** The parked workflows of an inspected kernel that have not ended. */
  readonly #resting = new Map<string, Live>();

  constructor(options: LifecycleHostOptions) {
    this.#options = options;
  }

  /**
   * Creates a workflow's actors at the states of its record. Actors that were kept while it was parked receive the
   * events since then.
   */
  wake(record: WorkflowRecord, events: readonly LedgerEvent[] = []): void {
    const { workflow_id: id } = record;
    const kept = this.#resting.get(id);
    if (kept !== undefined) return this.#resume(id, kept, events);
    if (this.#live.has(id)) return;
    const workflow = this.#spawn("workflow", id, { state: record.state, under: this.#options.parent() });
    const home = newHome(workflow, record.sequence);
    this.#live.set(id, home);
    for (const step of record.steps.values())
      this.#spawnChild(home, "step", { id: step.step.step_id, state: stepPath(step) });
    for (const gate of record.gates.values()) this.#spawnChild(home, "gate", { id: gate.gate_id, state: gate.status });
  }

  /** Hands committed events to the actors of a workflow that is awake. */
  deliver(workflowId: string, events: readonly LedgerEvent[]): void {
    const home = this.#live.get(workflowId);
    if (home !== undefined) for (const event of events) this.#deliverOne(home, event);
  }

  sleep(workflowId: string): void {
    const home = this.#live.get(workflowId);
    this.#live.delete(workflowId);
    if (home === undefined) return;
    if (this.#options.inspected && !hasEnded(home)) this.#resting.set(workflowId, home);
    else stopHome(home);
  }

  /** Returns the states that the live actors hold, for checks against the record. */
  states(workflowId: string): LiveStates | null {
    const home = this.#live.get(workflowId);
    if (home === undefined) return null;
    return { workflow: stateOf(home.workflow), steps: statesOf(home.steps), gates: statesOf(home.gates) };
  }

  count(): number {
    return this.#live.size;
  }

  clear(): void {
    for (const home of [...this.#live.values(), ...this.#resting.values()]) stopHome(home);
    this.#live.clear();
    this.#resting.clear();
  }

  #resume(id: string, kept: Live, events: readonly LedgerEvent[]): void {
    this.#resting.delete(id);
    this.#live.set(id, kept);
    this.deliver(
      id,
      events.filter(({ sequence }) => sequence > kept.sequence),
    );
  }

  #spawn(kind: keyof typeof charts, id: string, at: Place): AnyActorRef {
    const { machine, chart } = charts[kind];
    const { inspected, onError } = this.#options;
    if (!inspected && chart.isFinal(at.state)) return endedActor(chart, at.state);
    const actor = inspected ? runMachine(machine, id, at) : runTable(chart, id, at);
    // A table cannot fail here: the fold has run it with the same event before.
    if (inspected) actor.subscribe({ error: onError });
    actor.start();
    return actor;
  }

  #spawnChild(
    home: Live,
    kind: "step" | "gate",
    { id, state }: { readonly id: string; readonly state: string },
  ): AnyActorRef {
    const children = kind === "step" ? home.steps : home.gates;
    const known = children.get(id);
    if (known !== undefined) stopActor(known);
    const actor = this.#spawn(kind, id, { state, under: home.workflow });
    children.set(id, actor);
    return actor;
  }

  #deliverOne(home: Live, event: LedgerEvent): void {
    const { event_type: type, payload } = event;
    if (type === "WORKFLOW_RESTARTED") dropVoided(home, payloadOf(event, type).step_ids);
    const received: ChartEvent = this.#options.inspected ? { ...payload, type } : chartEvent(type, payload);
    for (const { chart, id, begins, hears } of addressesOf(event, home)) {
      if (begins && chart !== "workflow") this.#spawnChild(home, chart, { id, state: lifecycleCharts[chart].initial });
      if (hears) tell(actorAt(home, chart, id), received);
    }
    home.sequence = event.sequence;
  }
}

function newHome(workflow: AnyActorRef, sequence: number): Live {
  const gates = new Map<string, AnyActorRef>();
  const gatesOf = (stepId: string | null): Iterable<string> =>
    stepId === null ? gates.keys() : [...gates.keys()].filter((id) => isGateOf(stepId, id));
  return { workflow, steps: new Map(), gates, gatesOf, sequence };
}

function actorAt(home: Live, chart: Address["chart"], id: string): AnyActorRef | undefined {
  if (chart === "workflow") return home.workflow;
  return (chart === "step" ? home.steps : home.gates).get(id);
}

/** Drops gates as the record does: an undecided gate of a step's last run is opened anew, if at all. */
function dropVoided({ gates }: Live, stepIds: readonly string[]): void {
  for (const [id, gate] of gates) {
    if (stateOf(gate) !== "voided" || !stepIds.some((stepId) => isGateOf(stepId, id))) continue;
    stopActor(gate);
    gates.delete(id);
  }
}

const hasEnded = ({ workflow }: Live): boolean => isTerminal(stateOf(workflow) as WorkflowRecord["state"]);

function stopHome({ workflow, steps, gates }: Live): void {
  for (const actor of [...steps.values(), ...gates.values(), workflow]) stopActor(actor);
}

export interface LiveStates {
  readonly workflow: unknown;
  readonly steps: Readonly<Record<string, unknown>>;
  readonly gates: Readonly<Record<string, unknown>>;
}

/** Sends an event to an actor that has not reached a final state. */
function tell(actor: AnyActorRef | undefined, chartEvent: ChartEvent): void {
  if (actor?.getSnapshot().status === "active") actor.send(chartEvent);
}

const stateOf = (actor: AnyActorRef): string => flatten(actor.getSnapshot().value);
const statesOf = (actors: ReadonlyMap<string, AnyActorRef>): Record<string, unknown> =>
  Object.fromEntries([...actors].map(([id, actor]) => [id, stateOf(actor)]));

/** Flattens a state value: `{ running: "calling" }` becomes `running.calling`. */
function flatten(value: unknown): string {
  if (typeof value === "string") return value;
  const [key, inner] = Object.entries(value as object)[0] as [string, unknown];
  return `${key}.${flatten(inner)}`;
}

interface Place {
  readonly state: string;
  readonly under: AnyActorRef;
}

function runMachine(
  machine: AnyStateMachine,
  id: string,
  { state, under }: Place,
): AnyActorRef & { start: () => void } {
  const snapshot = machine.resolveState({ value: nestState(state) as StateValue } as never);
  return createActor(machine, { parent: under, id, snapshot } as object) as never;
}

interface TableSnapshot {
  readonly status: "active" | "done";
  readonly value: string;
  readonly output: undefined;
  readonly error: undefined;
  readonly context: object;
}

/**
 * Makes plain actor logic of a chart: 20 times cheaper than interpreting the machine, with equal results on every walk.
 */
function tableLogic(chart: Chart) {
  const snapshots = new Map(chart.states.map((state) => [state, snapshotAt(chart, state)]));
  const at = (state: string): TableSnapshot => snapshots.get(state) ?? snapshotAt(chart, state);
  return {
    transition(snapshot: TableSnapshot, event: ChartEvent): TableSnapshot {
      const next = chart.next(snapshot.value, event);
      return next === undefined || next === snapshot.value ? snapshot : at(next);
    },
    getInitialSnapshot: (_scope: unknown, input: { readonly state: string }) => at(input.state),
    getPersistedSnapshot: (snapshot: TableSnapshot) => snapshot,
  };
}

const snapshotAt = (chart: Chart, value: string): TableSnapshot =>
  Object.freeze({
    status: chart.isFinal(value) ? "done" : "active",
    value,
    output: undefined,
    error: undefined,
    context: {},
  });

const tables = new WeakMap<Chart, ReturnType<typeof tableLogic>>();

function tableOf(chart: Chart): ReturnType<typeof tableLogic> {
  const logic = tables.get(chart) ?? tableLogic(chart);
  tables.set(chart, logic);
  return logic;
}

const runTable = (chart: Chart, id: string, { state, under }: Place): AnyActorRef & { start: () => void } =>
  createActor(tableOf(chart) as never, { parent: under, id, input: { state } } as never) as never;

const ended = new Map<string, AnyActorRef>();

/** Returns the actor that represents all records that had ended in this state before their workflow woke. */
function endedActor(chart: Chart, state: string): AnyActorRef {
  const known = ended.get(state);
  if (known !== undefined) return known;
  const actor: AnyActorRef & { start: () => void } = createActor(
    tableOf(chart) as never,
    { input: { state } } as never,
  ) as never;
  actor.start();
  ended.set(state, actor);
  return actor;
}

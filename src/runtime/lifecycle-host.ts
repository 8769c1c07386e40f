/**
 * The lifecycle host: the live actors of workflows, steps and gates, as children of T4, of their workflow, of their step's
 * workflow. They receive each event once it is committed.
 *
 * Owns: creating, waking at a folded state, and letting go of lifecycle actors. Never: decides, appends.
 * H1  Actors are made with `createActor(logic, { parent })`: cost does not grow with the number of siblings.
 * H2  With an inspector the actors run the statecharts themselves; without one the compiled tables of the same charts.
 * H3  A workflow that parks or ends leaves no actor behind.
 */
import { type AnyActorRef, type AnyStateMachine, createActor, type StateValue } from "xstate";
import { lifecycleCharts, stepPath } from "../../machines/charts.ts";
import { gateMachine } from "../../machines/gate.ts";
import { stepMachine } from "../../machines/step.ts";
import type { Chart, ChartEvent } from "../../machines/table.ts";
import { workflowMachine } from "../../machines/workflow.ts";
import type { LedgerEvent } from "../contract/event.ts";
import { gateIdOf } from "../contract/gate.ts";
import type { WorkflowRecord } from "../contract/workflow.ts";
import { stopActor } from "./stop-actor.ts";

interface Live {
  readonly workflow: AnyActorRef;
  readonly steps: Map<string, AnyActorRef>;
  readonly gates: Map<string, AnyActorRef>;
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

  constructor(options: LifecycleHostOptions) {
    this.#options = options;
  }

  /** Brings a workflow's actors to life at the states of its record. */
  wake(record: WorkflowRecord): void {
    // What has ended for good needs no actors: nothing can move them any more.
    if (this.#live.has(record.workflow_id) || lifecycleCharts.workflow.isFinal(record.state)) return;
    const workflow = this.#spawn("workflow", record.workflow_id, {
      state: record.state,
      under: this.#options.parent(),
    });
    const home: Live = { workflow, steps: new Map(), gates: new Map() };
    this.#live.set(record.workflow_id, home);
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
    for (const actor of [...home.steps.values(), ...home.gates.values(), home.workflow]) stopActor(actor);
  }

  /** States as the live actors hold them, for checks against the record. */
  states(workflowId: string): LiveStates | null {
    const home = this.#live.get(workflowId);
    if (home === undefined) return null;
    return { workflow: stateOf(home.workflow), steps: statesOf(home.steps), gates: statesOf(home.gates) };
  }

  count(): number {
    return this.#live.size;
  }

  clear(): void {
    for (const id of [...this.#live.keys()]) this.sleep(id);
  }

  #spawn(kind: keyof typeof charts, id: string, at: Place): AnyActorRef {
    const actor = this.#options.inspected
      ? runMachine(charts[kind].machine, id, at)
      : runTable(charts[kind].chart, id, at);
    actor.subscribe({ error: this.#options.onError });
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
    const { type, gateId } = addressOf(event);
    const chartEvent: ChartEvent = { ...event.payload, type };
    this.#deliverToSteps(home, event, chartEvent);
    // A restarted step asks again under the gate's old id: the actor of the voided one has ended.
    if (type === "GATE_OPENED" && gateId !== null)
      this.#spawnChild(home, "gate", { id: gateId, state: lifecycleCharts.gate.initial });
    if (gateId !== null) this.#gateOf(home, gateId).send(chartEvent);
    if (type === "WORKFLOW_CANCELLED" || type === "WORKFLOW_FAILED")
      for (const gate of home.gates.values()) tell(gate, chartEvent);
    if (type === "STEP_FAILED") tell(home.gates.get(gateIdOf(event.step_id ?? "")), chartEvent);
    // Last: children tell their parent that they have ended, and a workflow that has ended itself hears nothing.
    if (movesWorkflow(type)) home.workflow.send(chartEvent);
  }

  #deliverToSteps(home: Live, event: LedgerEvent, chartEvent: ChartEvent): void {
    const begin = (id: string): void =>
      void this.#spawnChild(home, "step", { id, state: lifecycleCharts.step.initial });
    if (event.event_type === "WORKFLOW_RESTARTED") (event.payload["step_ids"] as string[]).forEach(begin);
    if (event.step_id === null) return;
    if (event.event_type === "STEP_QUEUED") begin(event.step_id);
    // Facts reach no actor.
    else if (movesStep(chartEvent.type)) tell(home.steps.get(event.step_id), chartEvent);
  }

  #gateOf(home: Live, id: string): AnyActorRef {
    return home.gates.get(id) ?? this.#spawnChild(home, "gate", { id, state: lifecycleCharts.gate.initial });
  }
}

export interface LiveStates {
  readonly workflow: unknown;
  readonly steps: Readonly<Record<string, unknown>>;
  readonly gates: Readonly<Record<string, unknown>>;
}

function addressOf(event: LedgerEvent): { readonly type: string; readonly gateId: string | null } {
  const type = event.event_type;
  if (!type.startsWith("GATE_") && !type.startsWith("USER_")) return { type, gateId: null };
  const gate = event.payload["gate"] as { readonly gate_id: string } | undefined;
  return { type, gateId: gate?.gate_id ?? (event.payload["gate_id"] as string) };
}

const movesWorkflow = (type: string): boolean =>
  /^(WORKFLOW|PLAN|USER|GATE_EXPIRED)/.test(type) && type !== "PLAN_TRUNCATED";

/** What has reached a final state hears nothing more. */
function tell(actor: AnyActorRef | undefined, chartEvent: ChartEvent): void {
  if (actor?.getSnapshot().status === "active") actor.send(chartEvent);
}

const movesStep = (type: string): boolean => /^(STEP|ACTION|GATE|USER)_/.test(type) && type !== "STEP_STREAMED";

const stateOf = (actor: AnyActorRef): unknown => flatten(actor.getSnapshot().value);
const statesOf = (actors: ReadonlyMap<string, AnyActorRef>): Record<string, unknown> =>
  Object.fromEntries([...actors].map(([id, actor]) => [id, stateOf(actor)]));

/** `{ running: "calling" }` → `running.calling` */
function flatten(value: unknown): string {
  if (typeof value === "string") return value;
  const [key, inner] = Object.entries(value as object)[0] as [string, unknown];
  return `${key}.${flatten(inner)}`;
}

const nest = (path: string): unknown =>
  path.split(".").reduceRight<unknown>((inner, key) => (inner === undefined ? key : { [key]: inner }), undefined);

interface Place {
  readonly state: string;
  readonly under: AnyActorRef;
}

function runMachine(
  machine: AnyStateMachine,
  id: string,
  { state, under }: Place,
): AnyActorRef & { start: () => void } {
  const snapshot = machine.resolveState({ value: nest(state) as StateValue } as never);
  return createActor(machine, { parent: under, id, snapshot } as object) as never;
}

interface TableSnapshot {
  readonly status: "active" | "done";
  readonly value: string;
  readonly output: undefined;
  readonly error: undefined;
  readonly context: object;
}

/** The same chart as plain actor logic: 20 times cheaper than interpreting the machine, equal on every walk. */
function tableLogic(chart: Chart) {
  const at = (value: string): TableSnapshot => ({
    status: chart.isFinal(value) ? "done" : "active",
    value,
    output: undefined,
    error: undefined,
    context: {},
  });
  return {
    transition(snapshot: TableSnapshot, event: ChartEvent): TableSnapshot {
      const next = chart.next(snapshot.value, event);
      return next === undefined || next === snapshot.value ? snapshot : at(next);
    },
    getInitialSnapshot: (_scope: unknown, input: { readonly state: string }) => at(input.state),
    getPersistedSnapshot: (snapshot: TableSnapshot) => snapshot,
  };
}

const tables = new WeakMap<Chart, ReturnType<typeof tableLogic>>();

function runTable(chart: Chart, id: string, { state, under }: Place): AnyActorRef & { start: () => void } {
  const logic = tables.get(chart) ?? tableLogic(chart);
  tables.set(chart, logic);
  return createActor(logic as never, { parent: under, id, input: { state } } as never) as never;
}

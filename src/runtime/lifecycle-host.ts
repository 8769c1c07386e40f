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
import type { WorkflowRecord } from "../contract/workflow.ts";
import { stopActor } from "./stop-actor.ts";

export interface LifecycleHost {
  /** Brings a workflow's actors to life at the states of its record. */
  readonly wake: (record: WorkflowRecord) => void;
  /** Hands committed events to the actors of a workflow that is awake. */
  readonly deliver: (workflowId: string, events: readonly LedgerEvent[]) => void;
  readonly sleep: (workflowId: string) => void;
  readonly actor: (workflowId: string) => AnyActorRef | null;
  /** States as the live actors hold them, for checks against the record. */
  readonly states: (workflowId: string) => {
    readonly workflow: unknown;
    readonly steps: Readonly<Record<string, unknown>>;
    readonly gates: Readonly<Record<string, unknown>>;
  } | null;
  readonly count: () => number;
  readonly clear: () => void;
}

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

export function createLifecycleHost({ parent, inspected, onError }: LifecycleHostOptions): LifecycleHost {
  const live = new Map<string, Live>();
  const spawn = (
    kind: keyof typeof charts,
    id: string,
    at: { readonly state: string; readonly under: AnyActorRef },
  ): AnyActorRef => {
    const actor = inspected ? runMachine(charts[kind].machine, id, at) : runTable(charts[kind].chart, id, at);
    actor.subscribe({ error: onError });
    actor.start();
    return actor as AnyActorRef;
  };

  const spawnChild = (home: Live, kind: "step" | "gate", id: string, state: string): AnyActorRef => {
    const known = (kind === "step" ? home.steps : home.gates).get(id);
    if (known !== undefined) stopActor(known);
    const actor = spawn(kind, id, { state, under: home.workflow });
    (kind === "step" ? home.steps : home.gates).set(id, actor);
    return actor;
  };

  const deliverOne = (home: Live, event: LedgerEvent): void => {
    const { type, gateId } = addressOf(event);
    const chartEvent: ChartEvent = { ...event.payload, type };
    if (type === "STEP_QUEUED" && event.step_id !== null)
      spawnChild(home, "step", event.step_id, lifecycleCharts.step.initial);
    else if (event.step_id !== null) home.steps.get(event.step_id)?.send(chartEvent);
    if (gateId !== null)
      (home.gates.get(gateId) ?? spawnChild(home, "gate", gateId, lifecycleCharts.gate.initial)).send(chartEvent);
    if (type === "WORKFLOW_CANCELLED" || type === "WORKFLOW_FAILED")
      for (const gate of home.gates.values()) if (isActive(gate)) gate.send(chartEvent);
    if (type === "WORKFLOW_RESTARTED")
      for (const id of event.payload["step_ids"] as string[])
        spawnChild(home, "step", id, lifecycleCharts.step.initial);
    // Last: children tell their parent that they have ended, and a workflow that has ended itself hears nothing.
    if (movesWorkflow(type)) home.workflow.send(chartEvent);
  };

  const sleep = (workflowId: string): void => {
    const home = live.get(workflowId);
    live.delete(workflowId);
    if (home === undefined) return;
    for (const actor of [...home.steps.values(), ...home.gates.values(), home.workflow]) stopActor(actor);
  };

  return {
    wake(record) {
      if (live.has(record.workflow_id)) return;
      const home: Live = {
        workflow: spawn("workflow", record.workflow_id, { state: record.state, under: parent() }),
        steps: new Map(),
        gates: new Map(),
      };
      live.set(record.workflow_id, home);
      if (!isActive(home.workflow)) return;
      for (const step of record.steps.values()) spawnChild(home, "step", step.step.step_id, stepPath(step));
      for (const gate of record.gates.values()) spawnChild(home, "gate", gate.gate_id, gate.status);
    },
    deliver(workflowId, events) {
      const home = live.get(workflowId);
      if (home !== undefined) for (const event of events) deliverOne(home, event);
    },
    sleep,
    actor: (workflowId) => live.get(workflowId)?.workflow ?? null,
    states(workflowId) {
      const home = live.get(workflowId);
      if (home === undefined) return null;
      return { workflow: stateOf(home.workflow), steps: statesOf(home.steps), gates: statesOf(home.gates) };
    },
    count: () => live.size,
    clear: () => {
      for (const id of [...live.keys()]) sleep(id);
    },
  };
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
const isActive = (actor: AnyActorRef): boolean => actor.getSnapshot().status === "active";

const stateOf = (actor: AnyActorRef): unknown => flatten(actor.getSnapshot().value);
const statesOf = (actors: ReadonlyMap<string, AnyActorRef>): Record<string, unknown> =>
  Object.fromEntries([...actors].map(([id, actor]) => [id, stateOf(actor)]));

/** `{ running: "executing" }` → `running.executing` */
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

/**
 * The compiled lifecycles, and whether they, and a gate's votes, let an event happen to a workflow as it stands.
 *
 * Owns: which chart an event is for. Never: changes a record.
 */
import type { EventDraft } from "../src/contract/event.ts";
import { factsOf } from "../src/contract/events.ts";
import type { Gate } from "../src/contract/gate.ts";
import type { StepRecord, WorkflowRecord } from "../src/contract/workflow.ts";
import { actionMachine } from "./action.ts";
import { movesOf } from "./addresses.ts";
import { gateMachine } from "./gate.ts";
import { fitsGate } from "./quorum.ts";
import { stepMachine } from "./step.ts";
import { type ChartEvent, compileChart } from "./table.ts";
import { workflowMachine } from "./workflow.ts";

/** The compiled lifecycles, shared with the live actors. */
export const lifecycleCharts = {
  workflow: compileChart(workflowMachine),
  step: compileChart(stepMachine),
  gate: compileChart(gateMachine),
  action: compileChart(actionMachine),
} as const;

/** Returns whether the charts let this event happen now. Facts always may. */
export function acceptsEvent(record: WorkflowRecord, draft: EventDraft): boolean {
  const { subject } = movesOf(draft.type);
  if (subject === null) return true;
  const event = chartEvent(draft.type, draft.payload);
  if (subject === "workflow") return lifecycleCharts.workflow.next(record.state, event) !== undefined;
  return subject === "step" ? acceptsStepEvent(record, draft, event) : acceptsGateEvent(record, draft, event);
}

function acceptsStepEvent(record: WorkflowRecord, draft: EventDraft, event: ChartEvent): boolean {
  const step = record.steps.get(draft.step_id ?? "");
  if (step === undefined) return draft.type === "STEP_SKIPPED";
  if (draft.type === "STEP_QUEUED") return step.state === "queued";
  return lifecycleCharts.step.next(stepPath(step), event) !== undefined;
}

function acceptsGateEvent(record: WorkflowRecord, draft: EventDraft, event: ChartEvent): boolean {
  const gateId = gateIdIn(draft.payload);
  const gate = record.gates.get(gateId);
  if (lifecycleCharts.gate.next(gate?.status ?? "declared", event) === undefined) return false;
  if (gate?.status === "approved" && !mayReopen(record, draft, event)) return false;
  return gate === undefined || fitsGate(gate, draft);
}

/** Returns whether the step of an approved gate has made no call since: one that is under way is not taken back. */
function mayReopen({ steps, actions }: WorkflowRecord, { step_id }: EventDraft, event: ChartEvent): boolean {
  const step = steps.get(step_id ?? "");
  if (step === undefined || lifecycleCharts.step.next(stepPath(step), event) === undefined) return false;
  return actions.get(step.action_id ?? "")?.seen !== "running";
}

function gateIdIn(payload: object): string {
  if ("gate_id" in payload) return payload.gate_id as string;
  return "gate" in payload ? (payload.gate as Gate).gate_id : "";
}

/** Returns the event as the charts see it: its type and the payload members that their guards read. */
export function chartEvent(type: string, payload: object): ChartEvent {
  const { guards } = factsOf(type);
  if (guards === undefined) return plainEvent(type);
  const event: ChartEvent & Record<string, unknown> = { type };
  for (const name of guards) event[name] = (payload as Readonly<Record<string, unknown>>)[name];
  return event;
}

const plainEvents = new Map<string, ChartEvent>();

/** Returns the one event of a type whose payload no guard reads. */
function plainEvent(type: string): ChartEvent {
  const known = plainEvents.get(type);
  if (known !== undefined) return known;
  const event = Object.freeze({ type });
  plainEvents.set(type, event);
  return event;
}

/** The state and phase of a step's record, by the chart's path. */
const places: ReadonlyMap<string, Pick<StepRecord, "state" | "phase">> = new Map(
  lifecycleCharts.step.states.map((path) => {
    const [state, phase = null] = path.split(".") as [StepRecord["state"], StepRecord["phase"]?];
    return [path, { state, phase }];
  }),
);
const pathsOfPhases = new Map([...places].map(([path, { phase }]) => [phase, path]));

/** Returns the chart's path of a step: it has a phase only while it runs. */
export const stepPath = ({ state, phase }: Pick<StepRecord, "state" | "phase">): string =>
  phase === null ? state : (pathsOfPhases.get(phase) ?? `${state}.${phase}`);

/** Returns the state of the step after this event; null if the chart does not move for it. */
export function stepAfter(step: StepRecord, event: ChartEvent): Pick<StepRecord, "state" | "phase"> | null {
  const path = lifecycleCharts.step.next(stepPath(step), event);
  return path === undefined ? null : (places.get(path) ?? null);
}

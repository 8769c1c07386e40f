/**
 * One's own flow as a statechart of XState, as plain data: each step is a parallel state by its name, with the states
 * of the steps' lifecycle; inside it stand its gates, the items and rounds that it adds, and what undoes it.
 *
 * Owns: the shape of the chart. Which events move it is lifecycle-states.ts's, and which events a ledger sends to it
 * play-flow.ts's.
 * 1.  A step is `unplanned` until a plan names it, or another step adds it.
 * 2.  Names are made unique by the id of the step; the names of states hold no dot, which XState reads as a path.
 */
import { callsOperator } from "../../contract/step-kinds.ts";
import { showLine } from "../../protocol/visible-text.ts";
import type { Flow, FlowStep } from "./flow-steps.ts";
import { type FlowState, lifecycleStates, stateId, type Whose } from "./lifecycle-states.ts";

/** A statechart as plain data, for `createMachine` of XState. */
export interface FlowChart extends FlowState {
  readonly id: string;
  readonly type: "parallel";
  readonly states: Readonly<Record<string, FlowState>>;
}

/** Returns the chart of a flow. */
export function chartOfFlow({ title, about, steps }: Flow): FlowChart {
  const workflow: Whose = { lifecycle: "workflow", id: "workflow", address: "" };
  return {
    id: keyOf(title),
    type: "parallel",
    ...(about !== "" && { description: about }),
    states: {
      workflow: { id: "workflow", meta: { workflow: true }, ...lifecycleStates(workflow) },
      ...regionsOf(steps, new Set(["workflow"])),
    },
  };
}

/** Returns the states of steps by their names, which are unique among `taken`. */
function regionsOf(steps: readonly FlowStep[], taken: ReadonlySet<string>): Readonly<Record<string, FlowState>> {
  const names = new Set(taken);
  const nameById = new Map(steps.map(({ id, name }) => [id, showLine(name)]));
  const entries = steps.map((step) => {
    const own = keyOf(step.name);
    const key = names.has(own) ? keyOf(`${step.name} (${step.id})`) : own;
    names.add(key);
    return [
      key,
      regionOf(
        step,
        step.after.map((id) => nameById.get(id) ?? id),
      ),
    ] as const;
  });
  return Object.fromEntries(entries);
}

/** Names that JavaScript gives a meaning of its own as a key. */
const reserved = /^(__proto__|constructor|prototype|toString|valueOf|hasOwnProperty|\*|)$/;

function keyOf(name: string): string {
  const shown = showLine(name).replaceAll(".", "·").trim();
  return reserved.test(shown) || shown.startsWith("#") ? `step ${shown}` : shown;
}

function regionOf(step: FlowStep, after: readonly string[]): FlowState {
  const { id, gates, inner, more } = step;
  const own = stepLifecycle(step, after);
  if (gates.length + inner.length + more === 0) return own;
  const gateStates = gates.map((gate) => [gate.id, gateLifecycle(id, gate)] as const);
  const cut = more === 0 ? {} : { description: `${more} further steps that it has added are left out.` };
  return {
    type: "parallel",
    ...cut,
    states: {
      step: own,
      ...Object.fromEntries(gateStates),
      ...regionsOf(inner, new Set(["step", ...gates.map((gate) => gate.id)])),
    },
  };
}

/** The phases of a call, which no step without an operator has; and the one that only such a step has. */
const ofCalls: ReadonlySet<string> = new Set(["calling", "settling", "backing_off", "in_doubt"]);
const ofOthers: ReadonlySet<string> = new Set(["parked"]);

function stepLifecycle({ id, kind, operator, notes }: FlowStep, after: readonly string[]): FlowState {
  const without = callsOperator({ kind }) ? ofOthers : ofCalls;
  const whose: Whose = { lifecycle: "step", id: `step/${id}`, address: `.${id}`, without };
  const { states = {} } = lifecycleStates(whose);
  const begins = { target: `#${stateId(whose, "queued")}` };
  const starts = Object.entries(states["queued"]?.on ?? {}).map(([event, taken]) => [
    event,
    event === `STEP_STARTED.${id}` && after.length > 0 ? { ...taken, description: `after ${after.join(", ")}` } : taken,
  ]);
  const unplanned: FlowState = { id: stateId(whose, "unplanned"), description: "No plan has named it yet." };
  return {
    id: whose.id,
    meta: { step_id: id, kind, operator },
    description: [operator, ...notes.map(showLine)].join("\n"),
    initial: "unplanned",
    on: Object.fromEntries(
      ["PLAN_CREATED", "STEPS_ADDED", "WORKFLOW_RESTARTED"].map((one) => [`${one}.${id}`, begins]),
    ),
    states: { unplanned, ...states, queued: { ...states["queued"], on: Object.fromEntries(starts) } },
  };
}

function gateLifecycle(stepId: string, { id, notes }: FlowStep["gates"][number]): FlowState {
  const whose: Whose = { lifecycle: "gate", id: `step/${stepId}/${id}`, address: `.${stepId}.${id}` };
  return {
    id: whose.id,
    meta: { gate_id: id },
    ...(notes.length > 0 && { description: notes.join("\n") }),
    on: { [`GATE_OPENED${whose.address}`]: { target: `#${stateId(whose, "open")}` } },
    ...lifecycleStates(whose),
  };
}

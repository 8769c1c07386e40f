/**
 * The steps of one's own flow, as its chart shows them: those of a plan that has not run, or those of a run, with the
 * steps that it has added and the gates that it has opened.
 */
import { foldEvents } from "../../../machines/fold.ts";
import type { LedgerEvent } from "../../contract/event.ts";
import { gateIdOf } from "../../contract/gate.ts";
import { type AnyStepDraft, type ExecutionPlan, isCallDraft, operatorOf } from "../../contract/plan.ts";
import { idOfDependency, type StepKind } from "../../contract/step-kinds.ts";
import type { StepRecord, WorkflowRecord } from "../../contract/workflow.ts";
import { type AnyStep, aboutStep, declaredGate } from "../drawing/step-lines.ts";

/** A step of a flow. */
export interface FlowStep {
  readonly id: string;
  readonly name: string;
  readonly kind: StepKind;
  readonly operator: string;
  /** The ids of the steps before it. */
  readonly after: readonly string[];
  /** The lines that the plan says of it beside. */
  readonly notes: readonly string[];
  /** Its gates, each with the lines of the plan about it. */
  readonly gates: readonly { readonly id: string; readonly notes: readonly string[] }[];
  /** Steps that it adds while the flow runs: items, rounds, and what undoes it. */
  readonly inner: readonly FlowStep[];
  /** The number of steps that it has added and that are left out here. */
  readonly more: number;
}

/** One's own flow. */
export interface Flow {
  readonly title: string;
  readonly about: string;
  readonly steps: readonly FlowStep[];
}

/** The greatest number of steps that one step has added and that a chart shows. */
const mostInner = 50;

/** Reads a plan that has not run. `effectOf` returns the effect of an operator, if it is known. */
export function flowOfPlan(
  title: string,
  plan: ExecutionPlan,
  effectOf: (operator: string) => string | null = () => null,
): Flow {
  return { title, about: plan.reasoning, steps: plan.steps.map((step) => plannedStep(step, effectOf)) };
}

function plannedStep(step: AnyStepDraft, effectOf: (operator: string) => string | null): FlowStep {
  const { step_id: id, name, depends_on = [] } = step;
  const operator = operatorOf(step);
  const declared = declaredGate(step);
  return {
    ...{ id, name, kind: step.kind ?? "call", operator, more: 0 },
    after: depends_on.map(idOfDependency),
    notes: aboutStep(step, isCallDraft(step) ? effectOf(operator) : null),
    gates: declared.length === 0 ? [] : [{ id: gateIdOf(id), notes: declared }],
    inner: templatesOf(step),
  };
}

/** Returns the steps that a step would add: one for all of its items or rounds, and the one that undoes it. */
function templatesOf(step: AnyStepDraft): readonly FlowStep[] {
  const { step_id, name } = step;
  const loop = step.kind === "each" || step.kind === "repeat" ? step.do : null;
  const inside = (id: string, title: string, call: object): FlowStep => {
    const named = { step_id: id, name: title, ...call } as AnyStepDraft;
    return { ...plannedStep(named, () => null), inner: [] };
  };
  const undo = "undo" in step ? step.undo : undefined;
  return [
    ...(loop === null
      ? []
      : [inside(`${step_id}:*`, `${step.kind === "each" ? "Each item" : "Each round"} of ${name}`, loop)]),
    ...(undo === undefined ? [] : [inside(`undo:${step_id}`, undo.name ?? `Undo ${name}`, undo)]),
  ];
}

/** Reads a run from its events. @throws nothing for a run of which only a refusal is on record: it has no steps. */
export function flowOfRun(events: Iterable<LedgerEvent>): Flow {
  const record = foldEvents(events);
  if (record === null) return { title: "workflow", about: "", steps: [] };
  const added = Map.groupBy(record.steps.values(), (step) => step.added?.of ?? null);
  return {
    title: record.intent.type,
    about: record.plan?.reasoning ?? "",
    steps: (added.get(null) ?? []).map((step) => runStep(step, record, added)),
  };
}

type Added = ReadonlyMap<string | null, readonly StepRecord[]>;

function runStep({ step, child }: StepRecord, record: WorkflowRecord, added: Added): FlowStep {
  const { step_id: id, name, kind, operator, depends_on } = step;
  const opened = [...record.gates.values()].filter((gate) => gate.step_id === id).map((gate) => gate.gate_id);
  const declared = declaredGate(step);
  const ids = new Set([...(declared.length === 0 ? [] : [gateIdOf(id)]), ...opened]);
  const inner = added.get(id) ?? [];
  const own = aboutStep(step as AnyStep, step.effect ?? null);
  return {
    ...{ id, name, kind, operator, after: depends_on, more: Math.max(0, inner.length - mostInner) },
    notes: child === null ? own : [...own, `child ${child.workflow_id}`],
    gates: [...ids].map((gateId) => ({ id: gateId, notes: gateId === gateIdOf(id) ? declared : [] })),
    inner: inner.slice(0, mostInner).map((one) => runStep(one, record, added)),
  };
}

/**
 * The editable part of a gate: the value that determines the payload of the call.
 *
 * 1.  At a gate whose step applies an outcome it is the outcome, if the step's params take it from there and take
 *     nothing that was derived from it on the way, which an edit would leave unchanged. In that case, and for a call in
 *     doubt, nothing is editable.
 */
import type { Gate, GateEditable } from "../src/contract/gate.ts";
import type { PlanStep } from "../src/contract/plan.ts";
import type { StepRecord, WorkflowRecord } from "../src/contract/workflow.ts";

/**
 * Returns the editable part as the fold keeps it: a payload's value is that of the gate, and the reader looks up the
 * schema.
 */
export function editableOf(record: WorkflowRecord, gate: Gate): GateEditable | null {
  const step = record.steps.get(gate.step_id)?.step;
  if (gate.kind !== "approval" || step === undefined) return null;
  if (step.applies === null || gate.target === null) {
    const defined_by = { name: step.operator, version: step.operator_version };
    return { target: "payload", defined_by, value: null, schema: null };
  }
  if (!takesOutcome(record, step, step.applies)) return null;
  const { type: name, version } = record.intent;
  return { target: "outcome", defined_by: { name, version }, value: contentOf(record, gate.target), schema: null };
}

/** Returns the value that may be edited, as it is shown; null where nothing may be. */
export const editableValue = ({ editable, payload }: Gate): Gate["payload"] =>
  editable?.target === "payload" ? payload : (editable?.value ?? null);

const contentOf = (record: WorkflowRecord, { outcome_id, version }: NonNullable<Gate["target"]>): Gate["payload"] =>
  record.outcomes.get(outcome_id)?.find((outcome) => outcome.version === version)?.content ?? null;

function takesOutcome({ steps }: WorkflowRecord, { params }: PlanStep, drafted: string): boolean {
  const text = JSON.stringify(params);
  const refersTo = (id: string): boolean => new RegExp(`(?<![A-Za-z0-9_-])${id}\\.output`).test(text);
  return refersTo(drafted) && ![...madeFrom(steps, drafted)].some(refersTo);
}

/** Returns the steps that depend on a step, directly or through others; the set grows during the walk. */
function madeFrom(steps: ReadonlyMap<string, StepRecord>, stepId: string): ReadonlySet<string> {
  const found = new Set([stepId]);
  for (const from of found) for (const [id, { step }] of steps) if (step.depends_on.includes(from)) found.add(id);
  found.delete(stepId);
  return found;
}

/**
 * Compiles the call of a step: its operator, its gate and its tags; and the template of the steps that it may add.
 *
 * 1.  A template is compiled like a step: policy and people see all that the plan may call before any of it runs.
 */
import { seatsOf } from "../../../machines/quorum.ts";
import type { Condition } from "../../contract/condition.ts";
import { whyUnsatisfiable } from "../../contract/gate-spec.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Operator } from "../../contract/operator.ts";
import type { PlanStep, StepTemplate, UndoTemplate } from "../../contract/plan.ts";
import type { Literals } from "../../contract/reference.ts";
import { kindNames, type OnReject } from "../../contract/step-kinds.ts";
import type { CompileRequest } from "./compile-plan.ts";
import {
  type Called,
  type ChildDraft,
  type Draft,
  type GrowingDraft,
  isChild,
  pinCapability,
  refuse,
  type UndoCall,
  undoOf,
} from "./draft-step.ts";

/** @throws KernelErrorException T3_PLAN_UNKNOWN_OPERATOR, T3_PLAN_OPERATOR_NOT_ALLOWED. */
export function findOperator({ registry, capability }: CompileRequest, step: Called): Operator {
  const operator = registry.findOperator(step.operator, step.operator_version);
  if (operator === null)
    return refuse("T3_PLAN_UNKNOWN_OPERATOR", `step ${step.step_id} calls ${step.operator}, which is not registered`, {
      step_id: step.step_id,
      operator: step.operator,
    });
  if (!registry.mayUse(capability, step.operator))
    return refuse("T3_PLAN_OPERATOR_NOT_ALLOWED", `${capability.intentType} may not use ${step.operator}`, {
      step_id: step.step_id,
      operator: step.operator,
    });
  return operator;
}

/** Refuses a gate that nobody could ever satisfy. The schema has refused what shows without the requester. */
export function requireSatisfiable(
  { step_id, gate }: Pick<Called, "step_id" | "gate">,
  { requesters, same, takesSignatures }: CompileRequest,
): void {
  if (gate === undefined) return;
  const why = whyUnsatisfiable(gate, seatsOf(gate, requesters, same)?.length ?? null);
  if (why !== null)
    refuse("T3_PLAN_INVALID", `the gate of step ${step_id} can never be satisfied: ${why}`, { step_id });
  if (gate.signed === true && !takesSignatures)
    refuse("T3_PLAN_INVALID", `the gate of step ${step_id} asks for signatures and no approver's keys are known here`, {
      step_id,
    });
}

/** Joins tags without repetition; an operator's own list, of its frozen metadata, is not copied. */
export function joinTags(
  ofOperator: readonly string[],
  own: readonly string[] = [],
  ofPackage: readonly string[] = [],
): string[] {
  const all = own.length + ofPackage.length === 0 ? ofOperator : [...own, ...ofPackage, ...ofOperator];
  return all.length < 2 ? (all as string[]) : [...new Set(all)];
}

/** Returns the consequence of a rejection, if it is not the default. */
export const rejectionOf = (
  step: { readonly on_reject?: OnReject | undefined } | object,
): Pick<PlanStep, "on_reject"> =>
  "on_reject" in step && step.on_reject !== undefined && step.on_reject !== "end" ? { on_reject: step.on_reject } : {};

/** Compiles what a step does for each item or in each round. */
export function compileInside(step: GrowingDraft, request: CompileRequest): Pick<PlanStep, "each" | "repeat"> {
  const template = compileTemplate(step, request);
  if (step.kind === "each") {
    const { key, concurrency = request.concurrency, tolerate = 0 } = step;
    return { each: { do: template, ...(key !== undefined && { key }), concurrency, tolerate } };
  }
  const { until, max, every_ms = 0, inner } = step;
  const until_literals = inner?.until;
  return { repeat: { do: template, until, ...(until_literals !== undefined && { until_literals }), max, every_ms } };
}

/** Compiles the call that undoes a step, or each step that it adds. */
export function compileUndo(step: Draft, request: CompileRequest): { readonly undo?: UndoTemplate } {
  const undo = undoOf(step);
  if (undo === undefined) return {};
  const { step_id, inner } = step;
  const named = { ...undo, name: undo.name ?? `Undo ${step.name}`.slice(0, 256) };
  return { undo: compileInner({ step_id, name: step.name, do: named, inner: { params: inner?.undo } }, request) };
}

function compileTemplate(step: GrowingDraft, request: CompileRequest): StepTemplate {
  const { do: inner } = step;
  if (isChild(inner)) return compileChild(step, inner, request);
  return { ...compileInner({ ...step, do: inner }, request), ...compileUndo(step, request) };
}

/** Compiles the child that a step runs for each item or in each round. */
function compileChild(
  { step_id, name, inner }: GrowingDraft,
  child: ChildDraft,
  request: CompileRequest,
): StepTemplate {
  const params = pinCapability({ step_id, params: child.params, literals: inner?.params }, request);
  return {
    kind: "run",
    name: child.name ?? name,
    operator: kindNames.run,
    operator_version: "1.0",
    params: params as JsonObject,
    ...marksOf(child, inner),
    outputs: [],
    policy_tags: joinTags([], [], tagsOf(step_id, request)),
    risk_level: "low",
    effect: "none",
    gate: null,
    estimated_cost: 0,
  };
}

/** Returns the optional members of a template: its condition, and the texts that are no references. */
const marksOf = (
  { when }: { readonly when?: Condition | undefined },
  inner: Draft["inner"],
): Partial<StepTemplate> => ({
  ...(inner?.params !== undefined && { literals: inner.params }),
  ...(when !== undefined && { when }),
  ...(inner?.when !== undefined && { when_literals: inner.when }),
});

/** Returns the tags that the package gives a step. */
const tagsOf = (stepId: string, { capability }: CompileRequest): readonly string[] | undefined =>
  capability.policyTags[stepId.replace(/_r\d+$/, "")];

type Inner = Pick<GrowingDraft, "step_id" | "name" | "inner"> & {
  readonly do: UndoCall & { readonly when?: Condition | undefined };
};

function compileInner({ step_id, name, do: call, inner }: Inner, request: CompileRequest): UndoTemplate {
  const called = { ...call, step_id };
  const { metadata } = findOperator(request, called);
  requireSatisfiable(called, request);
  return {
    kind: "call",
    name: call.name ?? name,
    operator: call.operator,
    operator_version: metadata.version,
    params: call.params,
    ...marksOf(call, inner),
    outputs: call.outputs ?? (metadata.outputs as string[]),
    policy_tags: joinTags(metadata.policy_tags, call.policy_tags, tagsOf(step_id, request)),
    risk_level: call.risk_level ?? metadata.risk_level,
    effect: metadata.effect,
    gate: call.gate ?? null,
    ...rejectionOf(call),
    estimated_cost: call.estimated_cost ?? metadata.estimated_cost,
  };
}

type Rename = (written: unknown, literals: Literals | undefined) => JsonObject;

/** Renames the references to steps in the call that undoes a step. */
export const renameUndo = (
  { undo }: { readonly undo?: UndoCall | undefined },
  inner: Draft["inner"],
  rename: Rename,
): { readonly undo?: UndoCall } =>
  undo === undefined ? {} : { undo: { ...undo, params: rename(undo.params, inner?.undo) } };

/** Renames the references to steps inside a step that adds steps. */
export function renameInside({ do: call, inner, ...step }: GrowingDraft, rename: Rename): Partial<GrowingDraft> {
  const when = call.when === undefined ? {} : { when: rename(call.when, inner?.when) as Condition };
  const undo = isChild(call) ? {} : renameUndo(call, inner, rename);
  const renamed = { do: { ...call, params: rename(call.params, inner?.params), ...when, ...undo } as typeof call };
  return step.kind === "each" ? renamed : { ...renamed, until: rename(step.until, inner?.until) as Condition };
}

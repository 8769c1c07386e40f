/** Steps of a plan as they were written, and what the compiler asks of their references. */
import type { z } from "zod";
import { capabilityRef } from "../../contract/capability.ts";
import { digest } from "../../contract/digest.ts";
import { raise } from "../../contract/error.ts";
import { type ErrorCode, kernelError } from "../../contract/error-codes.ts";
import type { Json, JsonObject } from "../../contract/json.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { AnyStepDraft, PlanStep, PlanStepDraft, UndoDraft } from "../../contract/plan.ts";
import { type Literals, referencesIn, type WrittenReference } from "../../contract/reference.ts";
import { readWith } from "../../contract/schema-reading.ts";
import type { Registry } from "../../engine/actors/registry.ts";

/** A step as it was written, with its dependencies by their ids. */
export type Draft<S = z.output<typeof AnyStepDraft>> = S extends object
  ? Omit<S, "depends_on"> &
      Pick<PlanStep, "depends_on" | "settled" | "literals" | "when_literals"> & { readonly inner?: InnerLiterals }
  : never;

/** The places, in the template of a step that adds steps, whose text is no reference. */
export interface InnerLiterals {
  readonly params?: Literals | undefined;
  readonly when?: Literals | undefined;
  readonly until?: Literals | undefined;
  /** The places in the call that undoes the step, or one that it adds. */
  readonly undo?: Literals | undefined;
}
/** The members of a call that name its operator and its gate. */
export type Called = Pick<CallDraft, "step_id" | "operator" | "operator_version" | "gate">;
export type CallDraft = Draft<z.output<typeof PlanStepDraft>>;
export type QuietDraft = Exclude<Draft, CallDraft>;
export type GrowingDraft = Extract<Draft, { readonly kind: "each" | "repeat" }>;

export const isCall = (step: Draft): step is CallDraft => step.kind === undefined || step.kind === "call";
export const appliedBy = (step: Draft): string | undefined => (isCall(step) ? step.applies : undefined);

/** The template of a step that adds steps, as it was written. */
export type InnerDraft = GrowingDraft["do"];
export type ChildDraft = Extract<InnerDraft, { readonly kind: "run" }>;

/** Returns whether a step runs a child workflow for each item or in each round. */
export const isChild = (inner: InnerDraft): inner is ChildDraft => inner.kind === "run";

export const isGrowing = (step: Draft): step is GrowingDraft => step.kind === "each" || step.kind === "repeat";

const compileRef = moduleRef(3, "dag_compile", "compile");
export const refuse = (code: ErrorCode, message: string, detail: JsonObject = {}): never =>
  raise(kernelError(code, message, compileRef, { detail }));

/** Returns the call that undoes a step, or each step that it adds; undefined if nothing does. */
export function undoOf(step: Draft): UndoCall | undefined {
  if (isCall(step)) return step.undo;
  return isGrowing(step) && !isChild(step.do) ? step.do.undo : undefined;
}
export type UndoCall = z.output<typeof UndoDraft>;

/** Refuses a condition about a step that does not come before its own. @throws KernelErrorException T3_PLAN_INVALID. */
export function requireEarlier(steps: readonly Draft[], completed: readonly string[]): void {
  const named = new Map(steps.map((step) => [step.step_id, step]));
  for (const step of steps) {
    if (step.when === undefined && !isGrowing(step) && undoOf(step) === undefined) continue;
    const before = new Set(step.depends_on);
    for (const id of before) for (const further of named.get(id)?.depends_on ?? []) before.add(further);
    const own = isGrowing(step) ? new Set([...before, step.kind === "each" ? "item" : step.step_id]) : before;
    const undone = new Set([...own, step.step_id]);
    for (const { stepId, written, what } of earlierIn(step)) {
      if ((what === "its condition" ? before : what === "its undo" ? undone : own).has(stepId)) continue;
      const why =
        completed.includes(stepId) || named.has(stepId) ? "which it does not depend on" : "which there is not";
      const message = `step ${step.step_id}: ${what} is about ${written}, a step ${why}; name it in depends_on`;
      refuse("T3_PLAN_INVALID", message, { step_id: step.step_id, reference: written });
    }
  }
}

/** Returns the references of a step that must be to steps before it, with the part of the step that they stand in. */
const earlierIn = (step: Draft): readonly (WrittenReference & { readonly what: string })[] => [
  ...referencesIn(step.when, step.when_literals).map((one) => ({ ...one, what: "its condition" })),
  ...(isGrowing(step) ? innerOf(step) : []),
  ...referencesIn(undoOf(step)?.params, step.inner?.undo).map((one) => ({ ...one, what: "its undo" })),
];

const innerOf = (step: GrowingDraft): readonly (WrittenReference & { readonly what: string })[] => [
  ...referencesIn(step.do.params, step.inner?.params).map((one) => ({ ...one, what: "what it does" })),
  ...referencesIn(step.do.when, step.inner?.when).map((one) => ({ ...one, what: "the condition of what it does" })),
  ...(step.kind === "repeat"
    ? referencesIn(step.until, step.inner?.until).map((one) => ({ ...one, what: "the condition that ends it" }))
    : []),
];

/**
 * Refuses a step whose id stands for the item of a list, and one that adds steps and would give them the ids of undos.
 * @throws KernelErrorException T3_PLAN_INVALID.
 */
export function requireNoItem(steps: readonly Draft[], completed: readonly string[]): void {
  if (steps.some((step) => isGrowing(step) && step.step_id === "undo"))
    refuse("T3_PLAN_INVALID", "a step that adds steps is called undo, as the steps that undo others are", {
      step_id: "undo",
    });
  if (!steps.some(({ kind }) => kind === "each")) return;
  if (!completed.includes("item") && !steps.some(({ step_id }) => step_id === "item")) return;
  refuse("T3_PLAN_INVALID", "a step is called item, which stands for the item of a list in a plan with each", {
    step_id: "item",
  });
}

/** Returns the references in the params of a step, and in those of the steps that it adds. */
const givenTo = (step: Draft): readonly WrittenReference[] => [
  ...referencesIn(step.params, step.literals),
  ...(isGrowing(step) ? referencesIn(step.do.params, step.inner?.params) : []),
  ...[...referencesIn(undoOf(step)?.params, step.inner?.undo)].filter(({ stepId }) => stepId !== step.step_id),
];

/**
 * Refuses a reference without a default to a step that may give nothing (it has a condition, or is waited for however
 * it ends), unless it stands in a step with the same condition. @throws KernelErrorException T3_PLAN_INVALID.
 */
export function requireGiven(steps: readonly Draft[]): void {
  // Every other plan gives whatever it refers to; its params are not walked.
  if (steps.every((step) => step.when === undefined && step.settled === undefined && givesAlways(step))) return;
  const named = new Map(steps.map((step) => [step.step_id, step]));
  for (const step of steps)
    for (const { stepId, or, written } of givenTo(step)) {
      const source = named.get(stepId);
      if (source === undefined || or !== undefined) continue;
      if (source === step) {
        const message = `step ${step.step_id}: ${written} gives nothing in the first round`;
        refuse("T3_PLAN_INVALID", `${message}; give it a default (ref(…, { or }))`, { step_id: step.step_id });
      }
      const why = whyNothing(source, step);
      if (why === null) continue;
      const message = `step ${step.step_id}: ${written} may give nothing, because step ${stepId} ${why}`;
      refuse("T3_PLAN_INVALID", `${message}; give it a default (ref(…, { or }))`, {
        step_id: step.step_id,
        reference: written,
      });
    }
}

/** Returns why a step may give nothing to another that refers to it; null if it gives its output. */
function whyNothing(source: Draft, step: Draft): string | null {
  if (step.settled?.includes(source.step_id) === true) return "is waited for however it ends";
  if (isSkippable(source)) return "is left out if its event does not arrive in time";
  if (isDeclinable(source)) return "is left out if it is rejected at its gate";
  return source.when === undefined || conditionOf(source) === conditionOf(step) ? null : "has a condition";
}

const conditionOf = ({ when }: Draft): string | null => (when === undefined ? null : digest(when as Json));

/** Returns whether whatever refers to a step without a condition gets something. */
const givesAlways = (step: Draft): boolean => step.kind !== "repeat" && !isSkippable(step) && !isDeclinable(step);

/** Returns whether a step is left out at the end of its wait. */
const isSkippable = (step: Draft): boolean => step.kind === "wait" && step.params.otherwise === "skip";

/** Returns whether a step is left out if a person rejects it. */
const isDeclinable = (step: Draft): boolean => "on_reject" in step && step.on_reject === "continue";

/** A step that runs a child, or the template of one. */
interface Running {
  readonly step_id: string;
  readonly params: ChildDraft["params"];
  readonly literals?: Literals | undefined;
}

/**
 * Returns the params of a step that runs a child, or of its template, with the version of the capability fixed. Checks
 * the inputs if none of them is a reference. @throws KernelErrorException T3_PLAN_INVALID.
 */
export function pinCapability(
  step: Running,
  { registry }: { readonly registry: Pick<Registry, "capabilities" | "getCapability"> },
): Running["params"] {
  const { intent, inputs } = step.params;
  const [type, version] = intent.split("@") as [string, string?];
  const isKnown = registry
    .capabilities()
    .some((one) => one.intentType === type && (version === undefined || one.version === version));
  const at = { step_id: step.step_id, intent };
  if (!isKnown) return refuse("T3_PLAN_INVALID", `step ${step.step_id} runs ${intent}, which is not registered`, at);
  const capability = registry.getCapability(type, version);
  const isWhole = referencesIn(step.params, step.literals).length === 0;
  const reading = isWhole ? readWith(capability.input, inputs) : null;
  if (reading?.ok === false)
    return refuse("T3_PLAN_INVALID", `step ${step.step_id}: inputs of ${intent}: ${reading.problem}`, at);
  return { ...step.params, intent: capabilityRef(type, capability.version) };
}

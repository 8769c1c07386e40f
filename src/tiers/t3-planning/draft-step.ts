/** Steps of a plan as they were written, and what the compiler asks of their references. */
import type { z } from "zod";
import { capabilityRef } from "../../contract/capability.ts";
import { digest } from "../../contract/digest.ts";
import { raise } from "../../contract/error.ts";
import { type ErrorCode, kernelError } from "../../contract/error-codes.ts";
import type { Json, JsonObject } from "../../contract/json.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { AnyStepDraft, PlanStep, PlanStepDraft } from "../../contract/plan.ts";
import { referencesIn } from "../../contract/reference.ts";
import { readWith } from "../../contract/schema-reading.ts";
import type { Registry } from "../../engine/actors/registry.ts";

/** A step as it was written, with its dependencies by their ids. */
export type Draft<S = z.output<typeof AnyStepDraft>> = S extends object
  ? Omit<S, "depends_on"> & Pick<PlanStep, "depends_on" | "settled" | "literals" | "when_literals">
  : never;
export type CallDraft = Draft<z.output<typeof PlanStepDraft>>;
export type QuietDraft = Exclude<Draft, CallDraft>;

export const isCall = (step: Draft): step is CallDraft => step.kind === undefined || step.kind === "call";
export const appliedBy = (step: Draft): string | undefined => (isCall(step) ? step.applies : undefined);

const compileRef = moduleRef(3, "dag_compile", "compile");
export const refuse = (code: ErrorCode, message: string, detail: JsonObject = {}): never =>
  raise(kernelError(code, message, compileRef, { detail }));

/** Refuses a condition about a step that does not come before its own. @throws KernelErrorException T3_PLAN_INVALID. */
export function requireEarlier(steps: readonly Draft[], completed: readonly string[]): void {
  const named = new Map(steps.map((step) => [step.step_id, step]));
  for (const step of steps) {
    if (step.when === undefined) continue;
    const before = new Set(step.depends_on);
    for (const id of before) for (const further of named.get(id)?.depends_on ?? []) before.add(further);
    for (const { stepId, written } of referencesIn(step.when, step.when_literals)) {
      if (before.has(stepId)) continue;
      const why =
        completed.includes(stepId) || named.has(stepId) ? "which it does not depend on" : "which there is not";
      const message = `step ${step.step_id}: its condition is about ${written}, a step ${why}; name it in depends_on`;
      refuse("T3_PLAN_INVALID", message, { step_id: step.step_id, reference: written });
    }
  }
}

/**
 * Refuses a reference without a default to a step that may give nothing (it has a condition, or is waited for however
 * it ends), unless it stands in a step with the same condition. @throws KernelErrorException T3_PLAN_INVALID.
 */
export function requireGiven(steps: readonly Draft[]): void {
  // Every other plan gives whatever it refers to; its params are not walked.
  if (steps.every((step) => step.when === undefined && step.settled === undefined && !isSkippable(step))) return;
  const named = new Map(steps.map((step) => [step.step_id, step]));
  for (const step of steps)
    for (const { stepId, or, written } of referencesIn(step.params, step.literals)) {
      const source = named.get(stepId);
      if (source === undefined || or !== undefined) continue;
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
  return source.when === undefined || conditionOf(source) === conditionOf(step) ? null : "has a condition";
}

const conditionOf = ({ when }: Draft): string | null => (when === undefined ? null : digest(when as Json));

/** Returns whether a step is left out at the end of its wait. */
const isSkippable = (step: Draft): boolean => step.kind === "wait" && step.params.otherwise === "skip";
/**
 * Fixes the version of the capability that a step runs, and checks its inputs if none of them is a reference.
 * @throws KernelErrorException T3_PLAN_INVALID.
 */
export function pinCapability(
  step: QuietDraft,
  { registry }: { readonly registry: Pick<Registry, "capabilities" | "getCapability"> },
): QuietDraft {
  if (step.kind !== "run") return step;
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
  return { ...step, params: { ...step.params, intent: capabilityRef(type, capability.version) } };
}

/**
 * The lines of a step that a plan and a run hold beside its call: its condition, its loop, its child, its gate, what
 * undoes it, and how it ended.
 */
import type { Condition } from "../../contract/condition.ts";
import type { AnyStepDraft, PlanStep } from "../../contract/plan.ts";
import type { StepView } from "../../contract/workflow-state.ts";
import { tellCondition } from "../../protocol/condition-words.ts";
import { skipWords } from "../../protocol/skip-words.ts";
import { tellSpan } from "../../protocol/tell-span.ts";
import { linesOfSpec } from "./gate-lines.ts";

/** A step as a planner writes it, or as it is compiled. */
export type AnyStep = AnyStepDraft | PlanStep;

/** The members that only some kinds of steps have, read from a step of any kind. */
interface Members {
  readonly when?: Condition;
  readonly params?: { readonly intent?: unknown };
  readonly outcome?: string | null;
  readonly applies?: string | null;
  readonly undo?: Called;
  readonly pivot?: boolean;
}

/** A call that stands inside of a step: the one for each item, in each round, or the one that undoes it. */
interface Called {
  readonly operator?: string;
  readonly kind?: string;
  readonly params?: { readonly intent?: unknown };
  readonly gate?: object | null;
  readonly undo?: Called;
}

/** A loop of a step: its call, and what ends it. */
interface Loop {
  readonly do: Called;
  readonly concurrency?: number | undefined;
  readonly until?: Condition | undefined;
  readonly max?: number | undefined;
  readonly every_ms?: number | undefined;
}

/** Describes what a step does beside its call. */
export function aboutStep(step: AnyStep, effect: string | null): readonly string[] {
  const { when, params, outcome, applies, undo, pivot } = step as Members;
  return [
    ...(when === undefined ? [] : [`only if ${tellCondition(when)}`]),
    ...(step.kind === "run" ? [`runs ${String(params?.intent)}`] : []),
    ...aboutLoop(step),
    ...(effect === null || effect === "none" ? [] : [`effect ${effect}`]),
    ...(outcome == null ? [] : [`drafts ${outcome}`]),
    ...(applies == null ? [] : [`applies what ${applies} drafted`]),
    ...(undo === undefined ? [] : [`undone by ${nameCall(undo)}`]),
    ...(pivot === true ? ["once it has succeeded, nothing up to here is undone"] : []),
  ];
}

/** Returns the loop of a step that adds steps, as it is written or compiled; null for any other step. */
function loopOf(step: AnyStep): Loop | null {
  if (step.kind !== "each" && step.kind !== "repeat") return null;
  if ("do" in step) return step as Loop;
  return (step.each ?? step.repeat ?? null) as Loop | null;
}

function aboutLoop(step: AnyStep): readonly string[] {
  const loop = loopOf(step);
  if (loop === null) return [];
  const { concurrency, until, max, every_ms = 0 } = loop;
  const undo = loop.do.undo === undefined ? [] : [`each is undone by ${nameCall(loop.do.undo)}`];
  if (until === undefined)
    return [
      `for each item: ${nameCall(loop.do)}`,
      ...(concurrency === undefined ? [] : [`${concurrency} at once`]),
      ...undo,
    ];
  return [
    `again and again: ${nameCall(loop.do)}`,
    `until ${tellCondition(until)}`,
    `at most ${max} times${every_ms > 0 ? `, every ${tellSpan(every_ms)}` : ""}`,
    ...undo,
  ];
}

function nameCall({ operator, kind, params, gate }: Called): string {
  const name = kind === "run" ? `runs ${String(params?.intent ?? "")}` : String(operator);
  return `${name}${gate == null ? "" : ", which asks a person first"}`;
}

/** Returns the lines of the gate that a plan declares for a step; none if it declares none. */
export function declaredGate(step: AnyStep): readonly string[] {
  const { gate, on_reject } = step as Pick<Partial<PlanStep>, "gate" | "on_reject">;
  if (step.kind === "ask") return linesOfSpec(gate ?? {}, { kind: "ask", on_reject });
  return gate == null ? [] : linesOfSpec(gate, { kind: "approval", on_reject });
}

/** Returns what a run adds to a step of the plan: its items, its child, its attempts, and how it ended. */
export function linesOfView({ items, child, attempts, skip_reason, error }: StepView): readonly string[] {
  return [
    ...(items === undefined ? [] : [`${items.done} of ${items.total} done, ${items.failed} failed`]),
    ...(child === null ? [] : [`child ${child}`]),
    ...(attempts > 1 ? [`${attempts} attempts`] : []),
    ...(skip_reason === null ? [] : [`left out: ${skipWords[skip_reason]}`]),
    ...(error === null ? [] : [`failed: ${error.message}`]),
  ];
}

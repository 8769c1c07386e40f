/**
 * The host's middleware around an attempt, as questions: each hook is asked once an attempt, with its own time limit.
 */

import { digest } from "../../../../contract/digest.ts";
import type { KernelError } from "../../../../contract/error.ts";
import type { PlanStep } from "../../../../contract/plan.ts";
import type { SkillExecutionContext } from "../../../../ports/middleware.ts";
import type { Prepared } from "../payload/prepare-step.ts";
import { toHost } from "../run/intention.ts";
import { nameAsked, type Run, stepOf } from "../run/run.ts";
import { createExecutionContext } from "./execution-context.ts";
import { type FixedName, isFixed, isSkippedOnRetry, orderOf } from "./middleware.ts";

/**
 * Returns the context that middleware receives; all hooks of an attempt share one object. `isJudged`: the payload is
 * that of the call.
 */
export function contextOf(run: Run, prepared: Prepared, attempt: number, isJudged: boolean): SkillExecutionContext {
  const { step, operator, payload, hash } = prepared;
  const known = run.contexts.get(step.step_id);
  const isOfThis = known !== undefined && (!isJudged || known.params === payload || digest(known.params) === hash);
  if (isOfThis && known.attempt === attempt) return known;
  const context = createExecutionContext({
    request_id: run.log.record.workflow_id,
    step_id: step.step_id,
    skill_name: step.operator,
    params: payload,
    metadata: operator.metadata,
    attempt,
    start_time: run.now,
    trace: { correlation_id: run.log.record.correlation_id, step_id: step.step_id },
  });
  run.contexts.set(step.step_id, context);
  return context;
}

/**
 * Runs the chain before the call, and returns the error with which a custom hook stops it. An error of a fixed
 * middleware is thrown; it is not a failed attempt.
 */
export function runBefore(
  run: Run,
  { step_id, attempt, is_retry }: SkillExecutionContext,
  passFixed: (name: FixedName) => void,
): KernelError | null {
  for (const name of orderOf(run.settings.middleware)) {
    if (isFixed(name) ? is_retry && isSkippedOnRetry(name) : !hasHook(run, name, "before")) continue;
    run.mark?.("middleware.before", { name, step_id, attempt });
    if (isFixed(name)) passFixed(name);
    const error = askHook(run, step_id, name, "before");
    if (error !== null) return error;
  }
  return null;
}

type Phase = "before" | "after" | "onError";

const hasHook = ({ settings: { middleware } }: Run, name: string, phase: Phase): boolean =>
  middleware.length > 0 && middleware.some((one) => one.name === name && one[phase] !== undefined);

/** Asks a custom hook, and returns its error; null if it passes or does not exist. */
function askHook(run: Run, step_id: string, name: string, phase: Phase): KernelError | null {
  if (!hasHook(run, name, phase)) return null;
  const { attempt, params } = run.contexts.get(step_id) as SkillExecutionContext;
  const key = `${phase}:${name}:${attempt}`;
  // A `before` hook judges the payload, so it is asked again for another payload.
  const asked = phase === "before" ? nameAsked(run, key, digest(params)) : key;
  return run.scopes.ask(asked, toHost("hook", { step_id, name, phase })).answer.error;
}

/** Runs the whole chain after an attempt, from the inside out. An error of a hook is logged and changes nothing. */
export function backOut(run: Run, step_id: string, phase: "after" | "onError"): void {
  const context = run.contexts.get(step_id);
  if (context === undefined) return;
  let failed: KernelError | null = null;
  const order = orderOf(run.settings.middleware);
  for (let i = order.length - 1; i >= 0; i -= 1) {
    const name = order[i] as string;
    run.mark?.(`middleware.${markedAs[phase]}`, { name, step_id, attempt: context.attempt });
    const error = askHook(run, step_id, name, phase);
    failed ??= error;
    if (phase === "after") markAfter(run, stepOf(run, step_id).step, name);
  }
  if (failed !== null) run.warn({ step_id, error: failed }, "middleware failed after its attempt");
}

const markedAs = { after: "after", onError: "on_error" } as const;

function markAfter(run: Run, { step_id, operator, estimated_cost }: PlanStep, name: string): void {
  if (name === "Policy") run.mark?.("policy.record_step_cost", { step_id, skill: operator, estimated_cost });
  if (name === "Trace") run.mark?.("trace.append", { step_id });
}

/**
 * The hosts' middleware around an attempt, as questions: each hook is asked once an attempt, with a time limit of its own.
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

/** What middleware sees of the attempt; one object for all of its hooks. `isJudged`: the payload is that of the call. */
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

/** Runs the chain before the call; gives what a custom hook stops it with. What a fixed one throws is no failed attempt. */
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

/** What a custom hook failed with, if there is one. */
function askHook(run: Run, step_id: string, name: string, phase: Phase): KernelError | null {
  if (!hasHook(run, name, phase)) return null;
  const { attempt, params } = run.contexts.get(step_id) as SkillExecutionContext;
  const key = `${phase}:${name}:${attempt}`;
  // What lets one payload through says nothing of the next.
  const asked = phase === "before" ? nameAsked(run, key, digest(params)) : key;
  return run.scopes.hear(asked, toHost("hook", { step_id, name, phase })).answer.error;
}

/** The way back after an attempt, from the inside out, all of it; what a hook fails with is logged and changes nothing. */
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

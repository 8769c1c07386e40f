/**
 * The end of a workflow: completed after T6's judgement, failed after the escalation to T7, or cancelled by a person.
 *
 * 1.  An unhandled error is escalated one tier at a time, T4 → T5 → T6 → T7, one event a hop; then the workflow has
 *     failed, once.
 * 2.  The knowledge that a run on a thread has gained is written to memory in the same turn (LIF-08).
 * 3.  A step never ends without an event: a step that has not run is skipped, by name.
 */

import type { Compensated } from "../../../../contract/compensation.ts";
import { isKernelError, type KernelError, toExecutorError, wrapError } from "../../../../contract/error.ts";
import { draft, type EventDraft } from "../../../../contract/event.ts";
import type { Principal } from "../../../../contract/intent.ts";
import { isHarmless, type Operator } from "../../../../contract/operator.ts";
import { callsOperator } from "../../../../contract/step-kinds.ts";
import { isStepDone, stepsOf, type WorkflowRecord } from "../../../../contract/workflow.ts";
import type { SkipReason } from "../../../../contract/workflow-state.ts";
import { isBlocking } from "../run/end-step.ts";
import { toEscalation, toText } from "../run/intention.ts";
import { oodaRef, type Run } from "../run/run.ts";
import { beginCompensating, compensatedIn } from "./compensate.ts";

const durationOf = ({ log, now }: Run): number => now - Date.parse(log.record.accepted_at);

/**
 * Asks T6 to judge the final text: T6 calibrates it, checks its grounding, and passes or degrades it. Then completes
 * the workflow.
 */
export function completeWorkflow(run: Run): void {
  const { record } = run.log;
  const text = finalText(record);
  const tags = { evidence: String(record.actions.size) };
  run.mark?.("reflect", { workflow_id: record.workflow_id });
  const { answer: judged } = run.scopes.ask("noise", toText(6, { fn: "act", text, tags }));
  const shown = judged.data;
  const warnings = judged.error === null ? [] : [judged.error];
  run.mark?.("trace.finalize", { status: "completed" });
  run.log.note(
    ...rememberRun(run, text),
    draft("WORKFLOW_COMPLETED", {
      text: String(shown?.text ?? text),
      confidence: judged.tags["confidence"] ?? "1",
      grounding: judged.tags["grounding"] ?? "1",
      warnings,
      duration_ms: durationOf(run),
    }),
  );
}

/** Returns the text of the calls that no other call which succeeded depends on, in plan order. */
function finalText(record: WorkflowRecord): string {
  const calls = stepsOf(record).filter((s) => s.state === "succeeded" && callsOperator(s.step));
  const needed = new Set(calls.flatMap((s) => s.step.depends_on));
  for (const id of needed) {
    const step = record.steps.get(id)?.step;
    if (step !== undefined && !callsOperator(step)) for (const further of step.depends_on) needed.add(further);
  }
  return calls
    .filter((s) => !needed.has(s.step.step_id))
    .map((s) => s.output_text)
    .join("\n");
}

function rememberRun(run: Run, text: string): EventDraft[] {
  const { tenant_id, thread_id, workflow_id, intent, outcomes } = run.log.record;
  if (thread_id === null) return [];
  run.mark?.("memory.persist");
  const made = [...outcomes.values()].map(([first]) => ({
    outcome_id: first?.outcome_id ?? "",
    type: first?.outcome_type ?? "",
  }));
  const value = { intent_type: intent.type, text: text.slice(0, 2000), outcomes: made };
  const about = { tenant_id, thread_id, workflow_id, key: `run:${workflow_id}`, type: "run_summary" };
  return [draft("MEMORY_WRITTEN", { record: { ...about, value, source: "kernel", confidence: 1 } })];
}

/**
 * Undoes what the workflow has done, if anything is to be undone. Else escalates the error, then fails the workflow.
 * The ledger keeps each hop, and the caller gets the original error.
 */
export function failWorkflow(run: Run, error: KernelError): void {
  const skipped = skipOpenSteps(run.log.record, skipReasons[error.code] ?? "dependency_failed");
  run.log.note(...skipped);
  if (beginCompensating(run, { how: "fail", error })) return;
  const ref = oodaRef("escalate");
  // An error that another tier answered is wrapped once here and leaves as T4's; each higher tier adds one wrap.
  const own = error.source.tier === 4 ? error : wrapError("T4_ESCALATION_UNHANDLED", error, ref);
  const { answer } = run.scopes.ask("escalate", toEscalation(5, { fn: "escalate", error: own }));
  const last = answer.data?.data;
  const hops = isKernelError(last) ? chainAbove(last, 4) : [];
  run.mark?.("trace.finalize", { status: statusOf(error) });
  run.log.note(
    ...hops.map((hop) => draft("ERROR_ESCALATED", { tier: hop.source.tier, error: hop })),
    draft("WORKFLOW_FAILED", {
      error,
      status: statusOf(error),
      category: toExecutorError(error).category,
      duration_ms: durationOf(run),
      ...endOfUndoing(run),
    }),
  );
}

/** The reasons for skipping the steps that have not ended, by the error that the workflow fails with. */
const skipReasons: Readonly<Record<string, SkipReason>> = {
  T5_BUDGET_EXHAUSTED: "budget",
  T4_PLAN_FAILED: "plan_failed",
};

/** Returns the hops of an escalated error, lowest tier first. */
function chainAbove(error: KernelError, tier: number): KernelError[] {
  const hops: KernelError[] = [];
  for (let at: KernelError | null = error; at !== null && at.source.tier > tier; at = at.cause) hops.unshift(at);
  return hops;
}

/** Returns the response status that an error stands for. */
export function statusOf(error: KernelError): "empty_plan" | "blocked" | "failed" {
  if (error.code === "T3_PLAN_EMPTY") return "empty_plan";
  return isBlocking(error) ? "blocked" : "failed";
}

/** The cause of a cancellation: a person's order, or a rejection (`error`). */
export interface CancelCause {
  readonly reason: string;
  readonly error: KernelError | null;
  readonly principal: Principal | null;
  /** Whether the order asks to undo what was done. After a rejection that is done in any case. */
  readonly undo?: boolean;
}

/** Undoes what the workflow has done, if the cause asks for that and anything is to be undone. Else cancels it. */
export function cancelWorkflow(run: Run, { reason, error, principal, undo = error !== null }: CancelCause): void {
  const why = { reason, error, principal };
  run.log.note(
    ...doubtActions(run, () => true),
    ...skipOpenSteps(run.log.record, error === null ? "cancelled" : "rejected"),
  );
  if (undo && beginCompensating(run, { how: "cancel", ...why })) return;
  run.mark?.("trace.finalize", { status: "cancelled" });
  run.log.note(draft("WORKFLOW_CANCELLED", { ...why, duration_ms: durationOf(run), ...endOfUndoing(run) }));
}

/** Returns how much is undone, for the event that ends a workflow which was compensating. */
function endOfUndoing({ log: { record } }: Run): { readonly compensated?: Compensated } {
  const compensated = compensatedIn(record);
  return compensated === undefined ? {} : { compensated };
}

/**
 * Returns ACTION_IN_DOUBT for those of these calls that were running when the workflow was cancelled and may have taken
 * effect.
 */
export function doubtActions(run: Run, isOfThese: (actionId: string) => boolean): EventDraft[] {
  const { registry } = run.settings;
  const reason = "the workflow was cancelled while the call was under way";
  return [...run.log.record.actions.values()]
    .filter(({ record }) => isOfThese(record.action_id))
    .filter(({ seen, record }) => seen === "running" && mayChange(registry.findOperator(record.operator_name)))
    .map(({ record: { action_id, step_id } }) => draft("ACTION_IN_DOUBT", { action_id, reason }, step_id))
    .filter((doubted) => run.log.accepts(doubted));
}

const mayChange = (operator: Operator | null): boolean => operator !== null && !isHarmless(operator.metadata.effect);

function skipOpenSteps(record: WorkflowRecord, reason: SkipReason): EventDraft[] {
  return [...record.steps.values()]
    .filter((s) => !isStepDone(s.state))
    .map((s) => draft("STEP_SKIPPED", { reason, because: null }, s.step.step_id));
}

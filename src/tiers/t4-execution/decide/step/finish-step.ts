/**
 * The success of a step's call: its outcome is judged and recorded, then the step's success.
 *
 * 1.  Outcome content is valid by its capability's schema and has passed policy before it is recorded (OUT-03, OUT-05).
 * 2.  A step that applies an outcome adds a final version of the one that its call was made with; drafts stay readable.
 */

import { digest } from "../../../../contract/digest.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft } from "../../../../contract/event.ts";
import { instantText } from "../../../../contract/instant.ts";
import type { Json } from "../../../../contract/json.ts";
import type { Outcome } from "../../../../contract/outcome.ts";
import type { PlanStep } from "../../../../contract/plan.ts";
import { type StepResult, textOf } from "../../../../contract/step.ts";
import { deriveApplyKey } from "../call/derive-key.ts";
import { checkOutcome, judgeOutcome, nextDraft } from "../payload/draft-outcome.ts";
import { failStep } from "../run/end-step.ts";
import { toHost } from "../run/intention.ts";
import { sanitizedMarker } from "../run/redact.ts";
import { ask, oodaRef, type Run, versionsOf } from "../run/run.ts";

const outcomeRef = oodaRef("outcome");

interface Finished {
  readonly step: PlanStep;
  readonly actionId: string | null;
  readonly result: StepResult;
}

export function finishStep(run: Run, { step, actionId, result }: Finished): void {
  if (result.status !== "COMPLETED") return failStep(run, step.step_id, notCompleted(step, result));
  const data =
    step.outcome === null
      ? result.data
      : draftOutcome(run, step, { type: step.outcome, content: result.data, actionId });
  if (step.applies !== null) finalizeOutcome(run, step, actionId);
  const succeeded = {
    action_id: actionId,
    output: data,
    output_text: isAsGiven(data, result) ? result.output_text : textOf(data),
    status: "COMPLETED",
    cost: step.estimated_cost,
  } as const;
  run.log.note(draft("STEP_SUCCEEDED", succeeded, step.step_id));
}

/**
 * Returns whether policy left the data unchanged. If it did not, the text beside the data is dropped, since it would
 * reveal the original.
 */
const isAsGiven = (data: Json, given: StepResult): boolean =>
  data === given.data || digest(data) === digest(given.data);

const notCompleted = ({ operator }: PlanStep, { status, output_text }: StepResult) =>
  kernelError(status === "BLOCKED" ? "T4_STEP_BLOCKED" : "T4_DEPENDENCY_FAILED", output_text, outcomeRef, {
    detail: { operator },
  });

interface Drafted {
  readonly type: string;
  readonly content: Json;
  readonly actionId: string | null;
}

/** Records a draft and returns the content that policy allows. */
function draftOutcome(run: Run, step: PlanStep, { type, content, actionId }: Drafted): Json {
  const known = draftOnRecord(run, step);
  const valid = known?.content ?? (content === sanitizedMarker ? content : checkOutcome(run, type, content));
  const allowed = judgeOutcome(run, step, { type, content: valid });
  const isAsLeft = known !== null && digest(allowed) === digest(known.content);
  const outcome = isAsLeft ? known : nextDraft(run, step, { type, content: allowed, draftVersion: step.draft_version });
  run.log.note(draft("OUTCOME_DRAFTED", { outcome, action_id: actionId }, step.step_id));
  return allowed;
}

/**
 * Returns the other run's draft if the record of that run answered the step's call: it was applied there, under the
 * same key. It was checked before policy masked it, and is not checked again.
 */
function draftOnRecord(run: Run, { step_id }: PlanStep): Outcome | null {
  const answeredBy = run.log.record.steps.get(step_id)?.answered_by ?? null;
  if (answeredBy === null) return null;
  return ask(run, "draft", toHost("draft", { workflow_id: answeredBy, step_id }));
}

function finalizeOutcome(run: Run, step: PlanStep, actionId: string | null): void {
  const { record } = run.log;
  const versions = versionsOf(record, step.applies ?? step.step_id);
  const newest = versions.at(-1);
  if (newest === undefined || newest.status === "final") return;
  const key = record.actions.get(actionId ?? "")?.record.idempotency_key;
  // A person may have edited the draft at another gate while the call was running.
  const applied = versions.find((version) => deriveApplyKey(record, version) === key) ?? newest;
  const outcome: Outcome = {
    ...applied,
    status: "final",
    version: newest.version + 1,
    created_at: instantText(run.now),
  };
  run.log.note(draft("OUTCOME_FINALIZED", { outcome, action_id: actionId }, step.step_id));
}

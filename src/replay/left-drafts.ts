/**
 * The draft that another run of the same work had left, where that run's call answered a step of this one.
 *
 * Owns: what of it stands in this record. Never: reads the other run's ledger.
 * D1  A draft that was taken as it was left names the workflow that made it. One of this workflow was made anew: there was
 *     none, or policy changed it here.
 * D2  A draft that policy changed or denied here, and that was not what the call had given, is in this ledger nowhere as it
 *     was: what policy said of it stands as recorded.
 */
import { digest } from "../contract/digest.ts";
import type { Json } from "../contract/json.ts";
import type { Outcome } from "../contract/outcome.ts";
import type { PolicyQuestion } from "../contract/policy.ts";
import { toStepResult } from "../contract/step.ts";
import { type Answered, answered } from "../tiers/t4-execution/decide/run/input.ts";
import type { EventOf, RecordedLog } from "./recorded-log.ts";
import { decisionIn } from "./unknown-words.ts";

/** The draft, or what policy's mask left of it; null where there was none, or where its content plays no part any more. */
export function draftLeft(log: RecordedLog, stepId: string): Outcome | null {
  const { outcome = null } = log.find("OUTCOME_DRAFTED", stepId)?.payload ?? {};
  if (outcome === null) return null;
  return outcome.workflow_id !== log.identity.workflow_id || isOnlyMasked(log, stepId) ? outcome : null;
}

function isOnlyMasked(log: RecordedLog, stepId: string): boolean {
  const judgement = judgementOf(log, stepId);
  const action = log.record.actions.get(log.record.steps.get(stepId)?.action_id ?? "");
  if (judgement === null || action === undefined) return false;
  const { payload_hash, transform, redactions } = judgement.payload;
  const given = toStepResult(action.record.result_payload).data;
  return transform === null && redactions.length > 0 && digest(given) !== payload_hash;
}

/** What policy said of a draft that is nowhere as it was; undefined where policy is asked again. */
export function judgedLeft(log: RecordedLog, { stage, subject }: PolicyQuestion, stepId: string): Answered | undefined {
  if (stage !== "outcome" || (log.record.steps.get(stepId)?.answered_by ?? null) === null) return undefined;
  const event = judgementOf(log, stepId);
  if (event === null || !isChanged(event, subject.payload)) return undefined;
  log.takeAsRecorded(event);
  return answered(decisionIn(event));
}

function isChanged({ payload: judged }: EventOf<"POLICY_DECIDED">, payload: Json): boolean {
  const { decision, transform, redactions, payload_hash } = judged;
  return (decision === "DENY" || transform !== null || redactions.length > 0) && digest(payload) !== payload_hash;
}

const judgementOf = (log: RecordedLog, stepId: string): EventOf<"POLICY_DECIDED"> | null =>
  log.find("POLICY_DECIDED", stepId, ({ stage }) => stage === "outcome");

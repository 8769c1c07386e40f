/**
 * Drafts of outcomes: their schema, the judgement of policy, and the next version.
 *
 * Never: records a draft (finish-step.ts and edit-gate.ts do).
 */
import { raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { instantText } from "../../../../contract/instant.ts";
import type { Json } from "../../../../contract/json.ts";
import type { Outcome } from "../../../../contract/outcome.ts";
import type { PlanStep } from "../../../../contract/plan.ts";
import { outcomeSubject } from "../../../../contract/policy-subject.ts";
import { redact } from "../../../../contract/redact.ts";
import { toHost } from "../run/intention.ts";
import { judgeSubject, requireAllowed } from "../run/note-decision.ts";
import { ask, baseIdOf, oodaRef, outcomeOfStep, type Run } from "../run/run.ts";

const outcomeRef = oodaRef("outcome");

/**
 * Returns the content if it is valid by its capability's schema. `key` names the question in its pass.
 * @throws KernelErrorException T4_OUTCOME_INVALID.
 */
export function checkOutcome(run: Run, type: string, content: Json, key = "check_outcome"): Json {
  const { type: intent, version } = run.log.record.intent;
  const problem = ask(run, key, toHost("check_outcome", { intent, version, type, content }));
  if (problem === null) return content;
  return raise(
    kernelError("T4_OUTCOME_INVALID", `outcome ${type}: ${problem}`, outcomeRef, { detail: { outcome_type: type } }),
  );
}

interface Judging {
  readonly type: string;
  readonly content: Json;
  /** The digest of the content, if a person edited it. */
  readonly edited?: string;
}

/**
 * Asks policy at stage `outcome` and returns the content that it lets through.
 * @throws KernelErrorException T5_POLICY_DENIED.
 */
export function judgeOutcome(run: Run, step: PlanStep, { type, content, edited }: Judging): Json {
  const isEdit = edited !== undefined;
  const keep = isEdit && "edit";
  const hash = isEdit ? { hash: edited } : {};
  const asked = { key: "outcome", stage: "outcome", subject: type, step_id: step.step_id, keep, ...hash } as const;
  const decision = judgeSubject(run, outcomeSubject(step, type, content), asked);
  const otherwise = "the outcome was denied by policy";
  requireAllowed(decision, { otherwise, source: outcomeRef, of: { outcome_type: type } });
  const passed = (): Json => redact(decision.transform ?? content, decision.redactions);
  return isEdit ? run.scopes.derive(`edit:outcome:${edited}`, passed) : passed();
}

interface Version {
  readonly type: string;
  readonly content: Json;
  readonly draftVersion?: number;
}

/** Returns the next draft of a step's outcome. The first draft gets a new id. */
export function nextDraft(run: Run, step: PlanStep, { type, content, draftVersion = 1 }: Version): Outcome {
  const { tenant_id, workflow_id, intent } = run.log.record;
  const previous = outcomeOfStep(run.log.record, step.applies ?? step.step_id);
  return {
    outcome_id: previous?.outcome_id ?? run.drawId("outcome"),
    tenant_id,
    workflow_id,
    intent_id: intent.intent_id,
    outcome_type: type,
    schema_version: intent.version,
    status: "draft",
    content,
    confidence: confidenceOf(content),
    created_at: instantText(run.now),
    version: (previous?.version ?? 0) + 1,
    draft_version: Math.max(draftVersion, previous?.draft_version ?? 1),
    step_id: previous?.step_id ?? baseIdOf(step.step_id),
  };
}

/** Returns the confidence that an operator states in the content, from 0 to 1; 1 if it states none. */
function confidenceOf(content: Json): number {
  const stated = typeof content === "object" && content !== null && "confidence" in content ? content.confidence : 1;
  return typeof stated === "number" && stated >= 0 && stated <= 1 ? stated : 1;
}

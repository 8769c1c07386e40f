/**
 * Drafts of outcomes: their schema, the judgement of policy, and the next version.
 *
 * Never: records a draft (finish-step.ts and edit-gate.ts do).
 */
import { z } from "zod";
import { raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { instantText } from "../../../../contract/instant.ts";
import type { Json } from "../../../../contract/json.ts";
import type { Outcome } from "../../../../contract/outcome.ts";
import type { PlanStep } from "../../../../contract/plan.ts";
import { outcomeSubject } from "../../../../contract/policy-subject.ts";
import { redact } from "../../../../contract/redact.ts";
import { judgeSubject, requireAllowed } from "../run/note-decision.ts";
import { baseIdOf, capabilityOf, oodaRef, outcomeOfStep, type Run } from "../run/run.ts";

const outcomeRef = oodaRef("outcome");

/** Returns the content if it is valid by its capability's schema. @throws KernelErrorException T4_OUTCOME_INVALID. */
export function checkOutcome(run: Run, type: string, content: Json): Json {
  const schema = capabilityOf(run).outcomes[type];
  if (schema === undefined) return content;
  const parsed = schema.safeParse(content);
  if (parsed.success) return content;
  return raise(
    kernelError("T4_OUTCOME_INVALID", `outcome ${type}: ${z.prettifyError(parsed.error)}`, outcomeRef, {
      detail: { outcome_type: type },
    }),
  );
}

/**
 * Asks policy at stage `outcome` and returns the content that it lets through; `keep` records a person's edit.
 * @throws KernelErrorException T5_POLICY_DENIED.
 */
export function judgeOutcome(
  run: Run,
  step: PlanStep,
  { type, content, keep = false }: { readonly type: string; readonly content: Json; readonly keep?: boolean },
): Json {
  const asked = { key: "outcome", stage: "outcome", subject: type, step_id: step.step_id, keep } as const;
  const decision = judgeSubject(run, outcomeSubject(step, type, content), asked);
  const otherwise = "the outcome was denied by policy";
  requireAllowed(decision, { otherwise, source: outcomeRef, of: { outcome_type: type } });
  return redact(decision.transform ?? content, decision.redactions);
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
    outcome_id: previous?.outcome_id ?? run.log.drawId("outcome", step.step_id),
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

/** An operator may state its confidence in the content; without it a draft counts as certain of itself. */
function confidenceOf(content: Json): number {
  const stated = typeof content === "object" && content !== null && "confidence" in content ? content.confidence : 1;
  return typeof stated === "number" && stated >= 0 && stated <= 1 ? stated : 1;
}

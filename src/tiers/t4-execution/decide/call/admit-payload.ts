/**
 * Putting a payload to policy: one question to T5, one decision in the ledger, and the payload as it is let through.
 */
import { deepFreeze, type Json } from "../../../../contract/json.ts";
import { type StepQuestion, t5 } from "../../../../contract/messages/t5.ts";
import { moduleRef } from "../../../../contract/module-ref.ts";
import type { PolicyDecision } from "../../../../contract/policy.ts";
import { redact } from "../../../../contract/redact.ts";
import { type Prepared, parseParams } from "../payload/prepare-step.ts";
import { askPolicy, requireAllowed } from "../run/note-decision.ts";
import { type Run, stepOf } from "../run/run.ts";
import { callWorkOf, keepAdmission } from "./admit-call.ts";

const policyRef = moduleRef(5, "policy", "evaluate");

interface Admitting {
  /** Writes a payload down that stands nowhere else; `edit`: a person wrote it. */
  readonly keep?: boolean | "edit";
  /** Asks although policy has seen this payload: it is another policy now. */
  readonly anew?: boolean;
}

/** A payload that the policy of now has not seen before any call is put to it, and comes back as it is let through. @throws T5_POLICY_DENIED. */
export function admitPayload(run: Run, prepared: Prepared, { keep = false, anew = false }: Admitting = {}): Prepared {
  const { step, hash } = prepared;
  const { decision: standing, attempt } = stepOf(run, step.step_id);
  // The ledger keeps what policy masks of an edit with the judgement of this very edit.
  const isHidden = keep !== false && (standing?.redactions.length ?? 0) > 0;
  const mayStand = !anew && !isHidden && (attempt > 0 || standing?.policy_version === run.settings.policyVersion);
  const decision =
    mayStand && standing?.payload_hash === hash ? standing : admit(run, prepared, { keep, key: `policy:${hash}` });
  requireAllowed(decision, { otherwise: "denied by policy", source: policyRef, of: { step_id: step.step_id } });
  return keep === "edit" ? applyToEdit(run, prepared, decision) : applyDecision(run, prepared, decision);
}

/** The payload as policy lets it through. What a person approved is that already. */
function applyDecision(run: Run, prepared: Prepared, decision: PolicyDecision): Prepared {
  if (prepared.gate !== null || !isChanging(decision)) return prepared;
  const changed = deepFreeze(redact(decision.transform ?? prepared.payload, decision.redactions));
  return { ...prepared, ...parseParams(run, prepared.operator, changed, { check: "check:transformed" }) };
}

/** As `applyDecision`; what policy lets through of an edit is recorded from here on. */
function applyToEdit(run: Run, prepared: Prepared, decision: PolicyDecision): Prepared {
  const { operator, hash } = prepared;
  const passed = (): Json => redact(decision.transform ?? prepared.payload, decision.redactions);
  const payload = deepFreeze(run.scopes.derive(`edit:passed:${hash}`, passed));
  if (!isChanging(decision)) return { ...prepared, payload };
  return { ...prepared, ...parseParams(run, operator, payload, { check: "check:transformed" }) };
}

const isChanging = ({ transform, redactions }: PolicyDecision): boolean => transform !== null || redactions.length > 0;

/** What T5 is asked of a step's payload, at an ISO instant. */
export function stepQuestion(run: Run, of: Pick<Prepared, "step" | "operator" | "payload">, now: string): StepQuestion {
  const { auth, intent, bundle, spent } = run.log.record;
  const { step, payload } = of;
  const { metadata } = of.operator;
  const work = callWorkOf(run, step.step_id, metadata);
  const redacted = stepOf(run, step.step_id).decision?.redactions ?? [];
  return { step, metadata, payload, redacted, auth, intent, bundle, spent, now, work };
}

function admit(
  run: Run,
  { step, operator, payload, hash, isChanged }: Prepared,
  { keep: keeps, key }: { readonly keep: boolean | "edit"; readonly key: string },
): PolicyDecision {
  const keep = keeps || (isChanged && "filled");
  const asked = { key, stage: "action", subject: step.name, step_id: step.step_id, payload, hash, keep } as const;
  const { answer, isNew } = askPolicy(run, asked, {
    message: t5.admitStep,
    fn: "admit",
    data: (now) => stepQuestion(run, { step, operator, payload }, now),
    read: ({ decision }) => decision,
  });
  if (isNew && answer.fits) keepAdmission(run, step.step_id, answer);
  return answer.decision;
}

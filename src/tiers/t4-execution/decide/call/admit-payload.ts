/**
 * The judgement of a payload by policy: one question to T5, one decision in the ledger, and the payload that policy
 * allows.
 */

import { digest } from "../../../../contract/digest.ts";
import { gateIdOf } from "../../../../contract/gate.ts";
import { instantText } from "../../../../contract/instant.ts";
import { deepFreeze, type Json } from "../../../../contract/json.ts";
import { type ShownCall, type StepQuestion, t5 } from "../../../../contract/messages/t5.ts";
import { moduleRef } from "../../../../contract/module-ref.ts";
import type { PolicyDecision, PolicyMoment } from "../../../../contract/policy.ts";
import { actionSubject, approvalsOn, withParent } from "../../../../contract/policy-subject.ts";
import { redact } from "../../../../contract/redact.ts";
import { type Prepared, parseParams } from "../payload/prepare-step.ts";
import { askPolicy, requireAllowed } from "../run/note-decision.ts";
import { type Run, spentFor, stepOf } from "../run/run.ts";
import { callWorkOf, keepAdmission } from "./admit-call.ts";

const policyRef = moduleRef(5, "policy", "evaluate");

interface Admitting {
  /** Records a payload that no other event holds; `edit`: a person wrote it. */
  readonly keep?: boolean | "edit";
  /** Asks policy even if a call with this payload has begun. */
  readonly anew?: boolean;
}

/**
 * Asks policy about the payload of a first call in each pass, and returns the payload that policy allows. A call that
 * has begun keeps its judgement: a later attempt is the same call.
 * @throws KernelErrorException T5_POLICY_DENIED.
 */
export function admitPayload(run: Run, prepared: Prepared, { keep = false, anew = false }: Admitting = {}): Prepared {
  const { step, hash } = prepared;
  const { decision: standing, attempt } = stepOf(run, step.step_id);
  // If policy masks a part of an edit, the ledger keeps it masked, with the judgement of exactly this edit.
  const isHidden = keep !== false && (standing?.redactions.length ?? 0) > 0;
  const mayStand = !anew && !isHidden && attempt > 0;
  const decision =
    mayStand && standing?.payload_hash === hash ? standing : admit(run, prepared, { keep, key: `policy:${hash}` });
  requireAdmitted(decision, step.step_id);
  return keep === "edit" ? applyToEdit(run, prepared, decision) : applyDecision(run, prepared, decision);
}

/**
 * Returns the question to policy about the payload that a gate shows, at this ISO instant, since rules may read the
 * time.
 */
export function shownCall(run: Run, shown: Prepared, now: string): ShownCall {
  const { step, operator, payload } = shown;
  const { auth, intent, bundle, parent } = run.log.record;
  const redacted = stepOf(run, step.step_id).decision?.redactions ?? [];
  return {
    subject: withParent(actionSubject(step, operator.metadata.effect, payload, approvalsOf(run, shown)), parent),
    auth,
    intent,
    context: bundle,
    now,
    spent: spentFor(run.log.record, step.step_id),
    redacted,
  };
}

/** Returns the approvals that stand at the step's gate on this payload. */
const approvalsOf = (run: Run, { step, hash }: Pick<Prepared, "step" | "hash">) =>
  approvalsOn(run.log.record.gates.get(gateIdOf(step.step_id)), hash);

/** Returns how the ledger records a decision of policy when it is asked about that payload again. */
export const askedOfShown = ({ step, payload, hash }: Prepared, moment: PolicyMoment) =>
  ({ stage: "action", subject: step.name, step_id: step.step_id, payload, hash, moment }) as const;

/**
 * Returns the judgement of policy on this payload if it was asked for at the instant of this pass, and nothing else
 * that rules read has changed since; else null. `since` is the number of approvals for which it was made and which are
 * not changes: none at a vote, one at the call that a vote begins.
 */
export function judgementOfNow(run: Run, { step, hash }: Prepared, since: 0 | 1): PolicyDecision | null {
  const { decision, decided_on } = run.scopes.keep("now:standing", () => {
    const { decision, decided_on } = stepOf(run, step.step_id);
    return { decision, decided_on };
  });
  const isOfNow = run.scopes.keep("now:stands", () => decision?.asked_at === instantText(run.now));
  if (!isOfNow || decision?.payload_hash !== hash || decided_on?.spent !== run.log.record.spent) return null;
  const [before, now] = [approvalsOn(decided_on.gate, hash), approvalsOf(run, { step, hash })];
  const isSame = now.length <= before.length + since && digest(now.slice(0, before.length)) === digest(before);
  return isSame ? decision : null;
}

/**
 * Returns the decision of policy on the payload that a gate shows, at the instant of this pass, in which its call is to
 * begin.
 */
export const judgeNow = (run: Run, shown: Prepared): PolicyDecision =>
  judgementOfNow(run, shown, 1) ??
  askPolicy(
    run,
    { ...askedOfShown(shown, "call"), key: `policy:${shown.hash}` },
    {
      message: t5.judgeCall,
      fn: "judge_call",
      data: (now) => shownCall(run, shown, now),
      read: (decision) => decision,
    },
  ).answer;

/** Returns the payload of a gate that this judgement allows. @throws as `prepareStep`. */
export const passShown = (run: Run, shown: Prepared, decision: PolicyDecision): Prepared =>
  applyDecision(run, { ...shown, gate: null }, decision);

/** Requires that policy does not deny the payload. @throws KernelErrorException T5_POLICY_DENIED. */
export const requireAdmitted = (decision: PolicyDecision, step_id: string): void =>
  requireAllowed(decision, { otherwise: "denied by policy", source: policyRef, of: { step_id } });

/** Returns the payload that policy allows. A payload that a person approved has been through policy already. */
function applyDecision(run: Run, prepared: Prepared, decision: PolicyDecision): Prepared {
  if (prepared.gate !== null || !isChanging(decision)) return prepared;
  const changed = deepFreeze(redact(decision.transform ?? prepared.payload, decision.redactions));
  return { ...prepared, ...parseParams(run, prepared.operator, changed, { check: "check:transformed" }) };
}

/** Applies a decision to an edit, as `applyDecision`. From here on, the allowed part of the edit is recorded. */
function applyToEdit(run: Run, prepared: Prepared, decision: PolicyDecision): Prepared {
  const { operator, hash } = prepared;
  const passed = (): Json => redact(decision.transform ?? prepared.payload, decision.redactions);
  const payload = deepFreeze(run.scopes.derive(`edit:passed:${hash}`, passed));
  if (!isChanging(decision)) return { ...prepared, payload };
  return { ...prepared, ...parseParams(run, operator, payload, { check: "check:transformed" }) };
}

const isChanging = ({ transform, redactions }: PolicyDecision): boolean => transform !== null || redactions.length > 0;

/** Returns the question to T5 about a step's payload, at an ISO instant. */
export function stepQuestion(
  run: Run,
  of: Pick<Prepared, "step" | "operator" | "payload" | "hash">,
  now: string,
): StepQuestion {
  const { auth, intent, bundle, parent } = run.log.record;
  const { step, payload } = of;
  const { metadata } = of.operator;
  const work = callWorkOf(run, step.step_id, metadata);
  const redacted = stepOf(run, step.step_id).decision?.redactions ?? [];
  const spent = spentFor(run.log.record, step.step_id);
  const approvals = approvalsOf(run, of);
  return { step, metadata, payload, redacted, auth, intent, bundle, parent, approvals, spent, now, work };
}

function admit(
  run: Run,
  { step, operator, payload, hash, isChanged }: Prepared,
  { keep: keeps, key }: { readonly keep: boolean | "edit"; readonly key: string },
): PolicyDecision {
  const keep = keeps || (isChanged && "filled");
  const again = keeps === "edit" ? ({ moment: "decision" } as const) : {};
  const asked = {
    key,
    stage: "action",
    subject: step.name,
    step_id: step.step_id,
    payload,
    hash,
    keep,
    ...again,
  } as const;
  const { answer, isNew } = askPolicy(run, asked, {
    message: t5.admitStep,
    fn: "admit",
    data: (now) => stepQuestion(run, { step, operator, payload, hash }, now),
    read: ({ decision }) => decision,
  });
  if (isNew && answer.fits) keepAdmission(run, step.step_id, answer);
  return answer.decision;
}

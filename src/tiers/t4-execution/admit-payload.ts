/**
 * Putting a payload to policy: one question to T5, one decision in the ledger, and the payload as it is let through.
 */
import { digest } from "../../contract/digest.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { deepFreeze } from "../../contract/json.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { PolicyDecision } from "../../contract/policy.ts";
import { type AdmissionAnswer, keepAdmission, workOf } from "./admit-call.ts";
import { instantOf, noteDecision } from "./note-decision.ts";
import { checkPayload, type Prepared } from "./prepare-step.ts";
import { askFor, type Run, stepOf } from "./run.ts";
import { redact } from "./screen-output.ts";

const policyRef = moduleRef(5, "policy", "evaluate");

/** What T5 answers once per step: policy, authority and budget, in one answer. */
interface StepAnswer extends AdmissionAnswer {
  readonly decision: PolicyDecision;
  /** Whether the call would be admitted as things stand; one that is not, is asked for and refused when it is to begin. */
  readonly fits: boolean;
}

interface Admitting {
  /** Writes a payload down that stands nowhere else. */
  readonly keep?: boolean;
  /** Asks although policy has seen this payload: it is another policy now. */
  readonly anew?: boolean;
}

/** A payload that policy has not seen is put to it, and comes back as it is let through. @throws T5_POLICY_DENIED. */
export async function admitPayload(
  run: Run,
  prepared: Prepared,
  { keep = false, anew = false }: Admitting = {},
): Promise<Prepared> {
  const { step, payload } = prepared;
  const hash = digest(payload);
  const standing = anew ? null : stepOf(run, step.step_id).decision;
  const decision = standing !== null && standing.payload_hash === hash ? standing : await admit(run, prepared, keep);
  if (decision.decision === "DENY")
    raise(
      kernelError("T5_POLICY_DENIED", decision.reason || "denied by policy", policyRef, {
        detail: { policies: decision.policies, step_id: step.step_id },
      }),
    );
  return applyDecision(run, prepared, decision);
}

/** The payload as policy lets it through. What a person approved is that already. */
export async function applyDecision(run: Run, prepared: Prepared, decision: PolicyDecision): Promise<Prepared> {
  if (prepared.gate !== null || (decision.transform === null && decision.redactions.length === 0)) return prepared;
  const payload = deepFreeze(redact(decision.transform ?? prepared.payload, decision.redactions));
  return { ...prepared, payload, input: await checkPayload(run, prepared.operator, payload) };
}

async function admit(run: Run, { step, operator, payload }: Prepared, keep: boolean): Promise<PolicyDecision> {
  const { auth, intent, bundle, spent, admitted } = run.log.record;
  const now = instantOf(run, "action", step.step_id);
  const work = workOf(run, step.step_id, operator.metadata);
  const { decision, ...admission } = await askFor<StepAnswer>(run, 5, {
    schema: "StepQuestion",
    fn: "admit",
    data: { step, metadata: operator.metadata, payload, auth, intent, bundle, spent, now, work },
  });
  // A call that reserves is asked for at the last moment: a person may take days over its gate.
  if (admission.fits && !run.desk.reserves) keepAdmission(run, step.step_id, admission, admitted);
  noteDecision(run, decision, { stage: "action", subject: step.name, step_id: step.step_id, payload, now, keep });
  return decision;
}

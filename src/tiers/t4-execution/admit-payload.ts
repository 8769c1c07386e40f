/**
 * Putting a payload to policy: one question to T5, one decision in the ledger, and the payload as it is let through.
 */
import { digest } from "../../contract/digest.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { draft } from "../../contract/event.ts";
import { deepFreeze } from "../../contract/json.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { PolicyDecision } from "../../contract/policy.ts";
import { checkPayload, type Prepared } from "./prepare-step.ts";
import { askFor, type Run, stepOf } from "./run.ts";
import { redact } from "./screen-output.ts";

const policyRef = moduleRef(5, "policy", "evaluate");

/** What T5 is asked once per step: policy, authority and budget, in one question. */
interface AdmissionAnswer {
  readonly decision: PolicyDecision;
}

/** A payload that policy has not seen (`standing` is what it said last) is put to it, and comes back as it is let through. @throws T5_POLICY_DENIED. */
export async function admitPayload(
  run: Run,
  prepared: Prepared,
  standing = stepOf(run, prepared.step.step_id).decision,
): Promise<Prepared> {
  const { step, payload } = prepared;
  const hash = digest(payload);
  const decision = standing !== null && standing.payload_hash === hash ? standing : await admit(run, prepared, hash);
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

async function admit(run: Run, { step, operator, payload }: Prepared, hash: string): Promise<PolicyDecision> {
  const { auth, intent, bundle, spent } = run.log.record;
  const { decision } = await askFor<AdmissionAnswer>(run, 5, {
    schema: "StepQuestion",
    fn: "admit",
    data: { step, metadata: operator.metadata, payload, auth, intent, bundle, spent, now: run.kit.clock.now() },
  });
  run.log.note(
    draft("POLICY_DECIDED", { ...decision, stage: "action", subject: step.name, payload_hash: hash }, step.step_id),
  );
  return decision;
}

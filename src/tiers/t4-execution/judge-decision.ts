/**
 * T5's judgement of a person's word on a gate: seat, signature, and policy at stage gate, on the gate as it stands open. A
 * decision that was kept is judged when its gate opens: only then is there a payload to judge it by.
 */
import type { AuthContext } from "../../contract/auth-context.ts";
import { draft } from "../../contract/event.ts";
import type { Gate, ParsedDelegationRequest } from "../../contract/gate.ts";
import type { GateSignature, PrincipalRef } from "../../contract/gate-vote.ts";
import type { Principal } from "../../contract/intent.ts";
import type { PolicyDecision } from "../../contract/policy.ts";
import { askFor, type Run } from "./run.ts";

export interface Deciding {
  readonly decision: "approve" | "reject";
  readonly principal: Principal;
  readonly auth: AuthContext;
  readonly resolution?: "done" | "retry" | "failed" | null;
  readonly signature?: string | null;
  /** The decision comes with a new version; what is signed is the next one. */
  readonly edits?: boolean;
}

/** How a person's word counts: T5's answer. */
export interface Judged {
  readonly policy: PolicyDecision;
  readonly seat: { readonly advisory: boolean; readonly on_behalf_of: PrincipalRef | null };
  readonly signature: GateSignature | null;
}

/** Notes what policy said. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, T5_SIGNATURE_REQUIRED, T5_SIGNATURE_INVALID. */
export async function judgeDecision(run: Run, gate: Gate, by: Deciding): Promise<Judged> {
  const asked = { resolution: null, signature: null, edits: false, ...by };
  const judged = await askAtGate<Judged>(run, gate, { schema: "GateJudgement", data: asked });
  noteJudgement(run, gate, judged.policy);
  return judged;
}

/** Notes what policy said. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, T5_DELEGATION_REFUSED. */
export async function judgeDelegation(
  run: Run,
  gate: Gate,
  by: Pick<Deciding, "principal" | "auth"> & Pick<ParsedDelegationRequest, "to" | "expires_at">,
): Promise<PolicyDecision> {
  const { policy } = await askAtGate<Pick<Judged, "policy">>(run, gate, { schema: "DelegationJudgement", data: by });
  noteJudgement(run, gate, policy);
  return policy;
}

function askAtGate<T>(
  run: Run,
  gate: Gate,
  { schema, data }: { readonly schema: string; readonly data: object },
): Promise<T> {
  const { intent, bundle } = run.log.record;
  const about = { gate, intent, context: bundle, now: run.kit.clock.now() };
  return askFor<T>(run, 5, { schema, fn: "decide_gate", data: { ...data, ...about } });
}

function noteJudgement(run: Run, gate: Gate, policy: PolicyDecision): void {
  run.log.note(
    draft(
      "POLICY_DECIDED",
      { ...policy, stage: "gate", subject: gate.gate_id, payload_hash: gate.payload_digest },
      gate.step_id,
    ),
  );
}

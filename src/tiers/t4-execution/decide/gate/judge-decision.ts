/**
 * T5's judgement of a person's word on a gate: seat, signature, and policy at stage gate, on the gate as it stands open. A
 * decision that was kept is judged when its gate opens: only then is there a payload to judge it by.
 */
import type { Signing } from "../../../../contract/approval-claims.ts";
import type { AuthContext } from "../../../../contract/auth-context.ts";
import type { EventPayloads } from "../../../../contract/event.ts";
import type { Gate, ParsedDelegationRequest } from "../../../../contract/gate.ts";
import type { GateSignature, PrincipalRef } from "../../../../contract/gate-vote.ts";
import type { Principal } from "../../../../contract/intent.ts";
import type { PolicyDecision } from "../../../../contract/policy.ts";
import { askPolicy } from "../run/note-decision.ts";
import type { Run } from "../run/run.ts";

export interface Deciding extends Signing {
  readonly principal: Principal;
  readonly auth: AuthContext;
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
export function judgeDecision(run: Run, gate: Gate, deciding: Deciding, key = "judge"): Judged {
  const { decision, principal, auth } = deciding;
  const data = { resolution: null, signature: null, edits: false, ...deciding };
  return judgeAt<Judged>(run, gate, { key, schema: "GateJudgement", data, by: { decision, principal, auth } });
}

interface Delegating extends Pick<Deciding, "principal" | "auth">, Pick<ParsedDelegationRequest, "to" | "expires_at"> {}

/** Notes what policy said. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, T5_DELEGATION_REFUSED. */
export function judgeDelegation(run: Run, gate: Gate, data: Delegating): PolicyDecision {
  const { principal, auth, to } = data;
  const by = { decision: "delegate", principal, auth, to } as const;
  return judgeAt<Pick<Judged, "policy">>(run, gate, { key: "judge", schema: "DelegationJudgement", data, by }).policy;
}

interface Question {
  /** Names the question among those of its pass. */
  readonly key: string;
  readonly schema: string;
  readonly data: object;
  readonly by: EventPayloads["POLICY_DECIDED"]["by"];
}

function judgeAt<T extends Pick<Judged, "policy">>(run: Run, gate: Gate, asked: Question): T {
  const { intent, bundle } = run.log.record;
  const { key, schema, data, by } = asked;
  const { gate_id, step_id, payload } = gate;
  const judged = askPolicy<T>(
    run,
    { key, stage: "gate", subject: gate_id, step_id, payload, by },
    {
      schema,
      fn: "decide_gate",
      data: (now) => ({ ...data, gate, intent, context: bundle, now }),
      read: ({ policy }) => policy,
    },
  );
  return judged.answer;
}

/**
 * What an approver signs: the decision and all that it binds to, as canonical JSON (RFC 8785).
 *
 * INV-1  The claims of a decision can be computed again from its ledger event alone, so that a signature can be checked
 *        without a kernel.
 */
import { canonicalJson } from "./digest.ts";
import type { GateDecided, GateVoted, LedgerEvent } from "./event.ts";
import type { Gate } from "./gate.ts";
import type { PrincipalRef } from "./gate-vote.ts";

export interface ApprovalClaims extends Pick<Gate, "gate_id" | "tenant_id" | "workflow_id" | "payload_digest"> {
  readonly principal: PrincipalRef;
  readonly decision: "approve" | "reject";
  readonly outcome_id: string | null;
  readonly outcome_version: number | null;
  readonly policy_version: string;
  /** What the preview rested on; only of a gate that names it. */
  readonly basis_digest?: string;
  /** Of a call in doubt only: what became of it. */
  readonly resolution?: "done" | "retry" | "failed";
}

/** Who decides what. `resolution` as in the request: of a call in doubt only. */
export interface Signing {
  readonly principal: PrincipalRef;
  readonly decision: "approve" | "reject";
  readonly resolution?: "done" | "retry" | "failed" | null | undefined;
}

/** The text that an approver signs for this decision on the gate as it now stands. Source: `gate` of `kernel.workflow()`. */
export function signingInput(
  gate: Pick<
    Gate,
    "gate_id" | "tenant_id" | "workflow_id" | "payload_digest" | "policy_version" | "target" | "basis_digest"
  >,
  signing: Signing,
): string {
  const { gate_id, tenant_id, workflow_id, payload_digest, policy_version, target } = gate;
  const bound = { gate_id, tenant_id, workflow_id, payload_digest, policy_version, ...basisOf(gate) };
  const outcome = { outcome_id: target?.outcome_id ?? null, outcome_version: target?.version ?? null };
  return textOf({ ...bound, ...outcome }, signing);
}

/** The same text from the event that recorded the decision. */
export function signedInput(event: LedgerEvent): string {
  const payload = event.payload as unknown as GateDecided & Partial<GateVoted>;
  const { gate_id, payload_digest, policy_version, outcome_id, outcome_version, principal, resolution } = payload;
  const { tenant_id, workflow_id } = event;
  const bound = {
    gate_id,
    tenant_id,
    workflow_id: workflow_id ?? "",
    payload_digest,
    policy_version,
    ...basisOf(payload),
  };
  const decision = payload.decision ?? (event.event_type === "USER_APPROVED" ? "approve" : "reject");
  return textOf(
    { ...bound, outcome_id, outcome_version },
    { principal: principal as PrincipalRef, decision, resolution },
  );
}

const basisOf = ({ basis_digest }: { readonly basis_digest?: string | undefined }) =>
  basis_digest === undefined ? {} : { basis_digest };

function textOf(
  bound: Omit<ApprovalClaims, "principal" | "decision" | "resolution">,
  { principal: { type, id }, decision, resolution = null }: Signing,
): string {
  const claims: ApprovalClaims = { ...bound, principal: { type, id }, decision };
  return canonicalJson(resolution === null ? claims : { ...claims, resolution });
}

/**
 * The text that an approver signs: the decision and all that it binds to, as canonical JSON (RFC 8785).
 *
 * 1.  The claims of a decision can be computed again from its ledger event alone, so that a signature can be checked
 *     without a kernel.
 * 2.  Every part of a decision that changes what happens is in the claims; its comment is not. A key is present only if
 *     the decision has the value, so that the claims of a plain decision never change.
 */
import { canonicalJson, digest } from "./digest.ts";
import type { GateDecided, GateVoted, LedgerEvent } from "./event.ts";
import type { Gate, ParsedGateRequest } from "./gate.ts";
import type { GateSeat, GateVote, PrincipalRef } from "./gate-vote.ts";
import type { JsonObject } from "./json.ts";

export interface ApprovalClaims extends Pick<Gate, "gate_id" | "tenant_id" | "workflow_id" | "payload_digest"> {
  readonly principal: PrincipalRef;
  readonly decision: "approve" | "reject";
  readonly outcome_id: string | null;
  readonly outcome_version: number | null;
  readonly policy_version: string;
  /** The digest of the basis of the preview; only of a gate that names it. */
  readonly basis_digest?: string;
  /** The end of the call, as the person states it; only at the gate of a call in doubt. */
  readonly resolution?: "done" | "retry" | "failed";
  /** SHA-256 of the result of a call that is settled as done; of `null` if no result was given. */
  readonly result_digest?: string;
  /** SHA-256 of the answer; only of an approval at the gate of a question. */
  readonly answer_digest?: string;
  /** SHA-256 of the list of targets, if any are named. */
  readonly apply_targets_digest?: string;
  /** The role for whose part of the quorum the vote counts; only of a counted vote at a gate with parts. */
  readonly part?: string;
  /** The number of the stage in which it counts; only of a counted vote at a gate with stages. */
  readonly stage?: number;
}

/**
 * The value of `claims` in a signature's protected header whose maker knew every key above: a value that the claims do
 * not name was not given. Earlier signatures lack the header and never named result or targets.
 */
export const claimsVersion = 2;

/** A decision and its principal, as in the request. */
export interface Signing {
  readonly principal: PrincipalRef;
  readonly decision: "approve" | "reject";
  /** The end of the call, as the person states it; only at the gate of a call in doubt. */
  readonly resolution?: "done" | "retry" | "failed" | null | undefined;
  /** The result of the call as JSON; only with `done`. */
  readonly result?: unknown;
  /** The answer to a question, as the form of its gate reads it. */
  readonly answer?: JsonObject | undefined;
  /** The places where the outcome is to be applied, if the decision names them. */
  readonly apply_targets?: readonly string[] | undefined;
  /** The approver's seat, for the part and the stage in which their vote counts; without it the seat of the gate. */
  readonly seat?: Pick<GateSeat, "part" | "stage"> | null | undefined;
}

/**
 * Returns the text that an approver signs for this decision on the gate as it now stands. Source: `kernel.gate()`, read
 * as the approver: it holds their seat.
 */
export function signingInput(
  gate: Pick<
    Gate,
    "gate_id" | "tenant_id" | "workflow_id" | "payload_digest" | "policy_version" | "target" | "basis_digest" | "seat"
  >,
  { result = null, seat = gate.seat, ...signing }: Signing,
): string {
  const { gate_id, tenant_id, workflow_id, payload_digest, policy_version, target, basis_digest } = gate;
  const bound = { gate_id, tenant_id, workflow_id, payload_digest, policy_version, basis_digest };
  const outcome = { outcome_id: target?.outcome_id ?? null, outcome_version: target?.version ?? null };
  return textOf({ ...bound, ...outcome }, { ...signing, seat, ...resultOf(signing.resolution, result) });
}

/** Returns the result that a decision on a call in doubt states. */
export const resultOf = (resolution: Signing["resolution"], result: unknown): { readonly result_digest?: string } =>
  resolution === "done" ? { result_digest: digest(result) } : {};

/** Returns the same text, made from the event that recorded the decision. `earlier`: in the form before `claims: 2`. */
export function signedInput(event: LedgerEvent, earlier = false): string {
  const payload = event.payload as unknown as GateDecided & Partial<GateVoted>;
  const { gate_id, payload_digest, policy_version, outcome_id, outcome_version, basis_digest } = payload;
  const { tenant_id, workflow_id } = event;
  const bound = { gate_id, tenant_id, workflow_id: workflow_id ?? "", payload_digest, policy_version, basis_digest };
  const { principal, resolution, result, result_digest, answer, apply_targets, part, stage } = payload;
  const word = {
    principal: principal as PrincipalRef,
    decision: payload.decision ?? (event.event_type === "USER_APPROVED" ? "approve" : "reject"),
    resolution,
  };
  const reported = result === undefined ? { result_digest } : resultOf(resolution, result);
  return textOf(
    { ...bound, outcome_id, outcome_version },
    earlier ? word : { ...word, ...reported, answer, apply_targets, seat: { part, stage } },
  );
}

interface Bound
  extends Omit<ApprovalClaims, "principal" | "decision" | "resolution" | "basis_digest" | "part" | "stage"> {
  readonly basis_digest: string | undefined;
}

interface DecisionClaims extends Omit<Signing, "result"> {
  readonly result_digest?: string | undefined;
}

/** Returns the claims as text; undefined members are left out. */
function textOf(
  bound: Bound,
  { principal: { type, id }, decision, apply_targets = [], seat, ...reported }: DecisionClaims,
): string {
  const { resolution, result_digest, answer } = reported;
  const settled = { resolution: resolution ?? undefined, result_digest };
  const apply_targets_digest = apply_targets.length === 0 ? undefined : digest(apply_targets);
  const answer_digest = answer === undefined ? undefined : digest(answer);
  return canonicalJson({
    ...bound,
    ...settled,
    answer_digest,
    apply_targets_digest,
    part: seat?.part,
    stage: seat?.stage,
    principal: { type, id },
    decision,
  });
}

type RecordedDecision = Pick<GateVote, "result" | "answer" | "apply_targets"> &
  Pick<Partial<GateDecided>, "resolution" | "result_digest">;

/** Returns whether a repeated decision agrees with the recorded one: members that it leaves out count as equal. */
export function saysSame(word: RecordedDecision, { payload }: Pick<ParsedGateRequest, "payload">): boolean {
  const { resolution, result, answer, apply_targets } = payload;
  const given = word.result_digest ?? (word.result === undefined ? undefined : digest(word.result));
  return (
    (resolution === undefined || resolution === word.resolution) &&
    (result === undefined || given === undefined || digest(result) === given) &&
    (answer === undefined || digest(answer) === digest(word.answer ?? null)) &&
    (apply_targets.length === 0 || digest(apply_targets) === digest(word.apply_targets ?? []))
  );
}

/**
 * T5's judgement of a decision on an open gate: seat, signature, and policy at stage gate. A decision that was kept is
 * judged when its gate opens, because only then is there a payload.
 */
import type { Signing } from "../../../../contract/approval-claims.ts";
import type { AuthContext } from "../../../../contract/auth-context.ts";
import { digest } from "../../../../contract/digest.ts";
import type { EventPayloads } from "../../../../contract/event.ts";
import type { Gate, ParsedDelegationRequest } from "../../../../contract/gate.ts";
import type { Principal } from "../../../../contract/intent.ts";
import type { Message } from "../../../../contract/messages/message.ts";
import { type DecisionQuestion, type JudgedDecision, type ShownCall, t5 } from "../../../../contract/messages/t5.ts";
import type { PolicyDecision } from "../../../../contract/policy.ts";
import { approvalsOn } from "../../../../contract/policy-subject.ts";
import { askedOfShown, shownCall } from "../call/admit-payload.ts";
import type { Prepared } from "../payload/prepare-step.ts";
import { askPolicy, noteDecision } from "../run/note-decision.ts";
import { nameAsked, type Run, stepOf } from "../run/run.ts";

export interface Deciding extends Signing {
  readonly principal: Principal;
  readonly auth: AuthContext;
  readonly signature?: string | null;
  /** True if the decision comes with a new version; its signature covers that version. */
  readonly edits?: boolean;
}

export interface Question {
  /** The name of the question in its pass. */
  readonly key?: string;
  /** The call that an approval would start, if policy is to judge it at this instant. */
  readonly call?: Prepared | null;
}

/**
 * Judges a decision, and appends the decisions of policy on it and on the call. Both are one question, so that a
 * signature is recorded in the row of its vote.
 * @throws KernelErrorException T5_AUTHZ_FORBIDDEN, T5_SIGNATURE_REQUIRED, T5_SIGNATURE_INVALID.
 */
export function judgeDecision(
  run: Run,
  gate: Gate,
  deciding: Deciding,
  { key = "judge", call = null }: Question = {},
): JudgedDecision {
  const { decision, principal, auth } = deciding;
  const data = {
    ...deciding,
    resolution: deciding.resolution ?? null,
    signature: deciding.signature ?? null,
    edits: deciding.edits ?? false,
  };
  const callAt = (now: string) => (call === null ? null : shownCall(run, call, now));
  const by = { decision, principal, auth };
  const { answer, isNew, now } = judgeAt(run, gate, { key, message: t5.judgeDecision, data, callAt, by });
  if (isNew && call !== null && answer.call !== null) noteJudgement(run, call, { decision: answer.call, now });
  return answer;
}

/** Appends the decision of policy on a call at a vote. An identical denial is not repeated with each vote. */
function noteJudgement(
  run: Run,
  call: Prepared,
  { decision, now }: { readonly decision: PolicyDecision; readonly now: string },
): void {
  const { decision: standing } = stepOf(run, call.step.step_id);
  const isSame = standing?.payload_hash === call.hash && standing.reason === decision.reason;
  if (isSame && standing.decision === "DENY" && decision.decision === "DENY") return;
  noteDecision(run, decision, { ...askedOfShown(call, "decision"), now });
}

interface Delegating extends Pick<Deciding, "principal" | "auth">, Pick<ParsedDelegationRequest, "to" | "expires_at"> {}

/**
 * Judges a delegation and appends the decision of policy. @throws KernelErrorException T5_AUTHZ_FORBIDDEN,
 * T5_DELEGATION_REFUSED.
 */
export function judgeDelegation(run: Run, gate: Gate, data: Delegating): PolicyDecision {
  const { principal, auth, to } = data;
  const by = { decision: "delegate", principal, auth, to } as const;
  return judgeAt(run, gate, { key: "judge", message: t5.judgeDelegation, data, by }).answer.policy;
}

/**
 * Returns the approvals that stand at a gate, as a text for comparison. Rules read them: if another vote is counted
 * while policy is asked about a decision, policy is asked about it again.
 */
export function approvalsAt(gate: Gate): string {
  const approvals = approvalsOn(gate, gate.payload_digest);
  return approvals.length === 0 ? "" : digest(approvals);
}

type OfGate = "gate" | "intent" | "context" | "now" | "spent";

interface Judging<Q, Answer> {
  readonly key: string;
  readonly message: Message<Q, Answer>;
  /** The part of the question that does not follow from gate and record. */
  readonly data: Omit<Q, OfGate | "call">;
  readonly callAt?: (now: string) => ShownCall | null;
  readonly by: EventPayloads["POLICY_DECIDED"]["by"];
}

function judgeAt<Q extends Pick<DecisionQuestion, OfGate>, Answer extends Pick<JudgedDecision, "policy">>(
  run: Run,
  gate: Gate,
  { key, message, data, callAt, by }: Judging<Q, Answer>,
): { readonly answer: Answer; readonly isNew: boolean; readonly now: string } {
  const { intent, bundle, spent } = run.log.record;
  const { gate_id, step_id, payload } = gate;
  const name = nameAsked(run, key, approvalsAt(gate));
  return askPolicy(
    run,
    { key: name, stage: "gate", subject: gate_id, step_id, payload, by },
    {
      message,
      fn: "decide_gate",
      data: (now) =>
        ({ ...data, gate, intent, context: bundle, now, spent, ...(callAt && { call: callAt(now) }) }) as unknown as Q,
      read: ({ policy }) => policy,
    },
  );
}

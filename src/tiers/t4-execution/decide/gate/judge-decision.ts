/**
 * T5's judgement of a person's word on a gate: seat, signature, and policy at stage gate, on the gate as it stands open. A
 * decision that was kept is judged when its gate opens: only then is there a payload to judge it by.
 */
import type { Signing } from "../../../../contract/approval-claims.ts";
import type { AuthContext } from "../../../../contract/auth-context.ts";
import type { EventPayloads } from "../../../../contract/event.ts";
import type { Gate, ParsedDelegationRequest } from "../../../../contract/gate.ts";
import type { Principal } from "../../../../contract/intent.ts";
import type { Message } from "../../../../contract/messages/message.ts";
import { type DecisionQuestion, type JudgedDecision, t5 } from "../../../../contract/messages/t5.ts";
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

/** Notes what policy said. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, T5_SIGNATURE_REQUIRED, T5_SIGNATURE_INVALID. */
export function judgeDecision(run: Run, gate: Gate, deciding: Deciding, key = "judge"): JudgedDecision {
  const { decision, principal, auth } = deciding;
  const data = {
    ...deciding,
    resolution: deciding.resolution ?? null,
    signature: deciding.signature ?? null,
    edits: deciding.edits ?? false,
  };
  return judgeAt(run, gate, { key, message: t5.judgeDecision, data, by: { decision, principal, auth } });
}

interface Delegating extends Pick<Deciding, "principal" | "auth">, Pick<ParsedDelegationRequest, "to" | "expires_at"> {}

/** Notes what policy said. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, T5_DELEGATION_REFUSED. */
export function judgeDelegation(run: Run, gate: Gate, data: Delegating): PolicyDecision {
  const { principal, auth, to } = data;
  const by = { decision: "delegate", principal, auth, to } as const;
  return judgeAt(run, gate, { key: "judge", message: t5.judgeDelegation, data, by }).policy;
}

type OfGate = "gate" | "intent" | "context" | "now";

interface Judging<Q, Answer> {
  /** Names the question among those of its pass. */
  readonly key: string;
  readonly message: Message<Q, Answer>;
  /** The part of the question that does not follow from gate and record. */
  readonly data: Omit<Q, OfGate>;
  readonly by: EventPayloads["POLICY_DECIDED"]["by"];
}

function judgeAt<Q extends Pick<DecisionQuestion, OfGate>, Answer extends Pick<JudgedDecision, "policy">>(
  run: Run,
  gate: Gate,
  { key, message, data, by }: Judging<Q, Answer>,
): Answer {
  const { intent, bundle } = run.log.record;
  const { gate_id, step_id, payload } = gate;
  const judged = askPolicy(
    run,
    { key, stage: "gate", subject: gate_id, step_id, payload, by },
    {
      message,
      fn: "decide_gate",
      data: (now) => ({ ...data, gate, intent, context: bundle, now }) as unknown as Q,
      read: ({ policy }) => policy,
    },
  );
  return judged.answer;
}

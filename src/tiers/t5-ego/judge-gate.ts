/**
 * Judges requests to a gate: the seat of the person, their signature, and policy at stage gate. Where the voter stands
 * in for the owner of the seat, policy judges that as a delegation as well.
 * Never: counts votes or closes a gate.
 */

import { isSeatTaken, type Same } from "../../../machines/quorum.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { follow } from "../../contract/maybe-promise.ts";
import type {
  DecisionQuestion,
  DelegationQuestion,
  JudgedDecision,
  Seat,
  ShownCall,
} from "../../contract/messages/t5.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { PolicyDecision, PolicyQuestion } from "../../contract/policy.ts";
import { type GateCommand, gateSubject } from "../../contract/policy-subject.ts";
import type { StandIn } from "../../contract/stand-in.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import { checkSignature, type Signatures } from "./check-signature.ts";
import { findStandIns, type StandIns } from "./find-stand-ins.ts";
import { evaluatePolicies } from "./policy/evaluate-policies.ts";
import type { PolicyEngine } from "./policy/evaluate-round.ts";
import { forbid, isRequester, requireReach, seatVoter, whyNoSeat, whyNotOfType } from "./seat-voter.ts";

export interface GateJudge {
  readonly engine: PolicyEngine;
  readonly signatures: Signatures;
  readonly same: Same;
  readonly standIns: StandIns;
}

const judgeRef = moduleRef(5, "ego", "judge_gate");

/** Returns whether this person may decide this gate, and how their decision counts. */
export const judgeDecision = (
  asked: DecisionQuestion,
  runtime: Runtime,
  judge: GateJudge,
): JudgedDecision | Promise<JudgedDecision> =>
  follow(findStandIns(asked.gate.tenant_id, asked, judge.standIns), (standIns) =>
    judgeVoter({ ...asked, standIns }, runtime, judge),
  );

type Voting = DecisionQuestion & { readonly standIns: readonly StandIn[] };

function judgeVoter(
  asked: Voting,
  runtime: Runtime,
  { engine, signatures, same }: GateJudge,
): JudgedDecision | Promise<JudgedDecision> {
  const { gate, decision, edits } = asked;
  const seat = seatVoter(gate, { ...asked, capability: asked.intent.type }, same);
  if (seat.advisory && edits) forbid(gate, `${asked.auth.role} advises and does not change what is decided on`);
  const optional = seat.advisory || edits;
  const question = questionOf(asked, { decision, principal: asked.principal });
  const call = seat.advisory ? null : asked.call;
  return follow(judgeHandover(asked, seat, engine), (handover) => {
    if (handover?.decision === "DENY") return { policy: handover, call: null, seat, signature: null };
    return follow(checkSignature(runtime, { gate, signatures }, { ...asked, seat, optional }), (signature) =>
      follow(evaluatePolicies(engine, question), (policy) =>
        follow(call === null || policy.decision === "DENY" ? null : judgeCall(call, engine), (judged) => ({
          ...{ policy, seat, signature },
          call: judged,
        })),
      ),
    );
  });
}

/** Asks policy whether the author of an order may lend their seat to the voter; null for a seat without an order. */
function judgeHandover(
  asked: Voting,
  { stand_in }: Seat,
  engine: PolicyEngine,
): PolicyDecision | null | Promise<PolicyDecision | null> {
  const order = asked.standIns.find(({ stand_in_id }) => stand_in_id === stand_in);
  if (order === undefined) return null;
  const { by, auth } = order;
  return evaluatePolicies(
    engine,
    questionOf({ ...asked, auth }, { decision: "delegate", principal: by, to: asked.principal }),
  );
}

/** Asks the rules of stage action about a call that a gate shows. */
export function judgeCall(
  { redacted, ...question }: ShownCall,
  engine: PolicyEngine,
): PolicyDecision | Promise<PolicyDecision> {
  return evaluatePolicies(engine, { stage: "action", ...question }, redacted);
}

/**
 * Returns whether this person may delegate their seat to that one. @throws KernelErrorException T5_AUTHZ_FORBIDDEN,
 * T5_DELEGATION_REFUSED.
 */
export function judgeDelegation(
  asked: DelegationQuestion,
  { engine, same }: GateJudge,
): Pick<JudgedDecision, "policy"> | Promise<Pick<JudgedDecision, "policy">> {
  const { gate, to } = asked;
  requireReach(gate, { ...asked, capability: asked.intent.type }, same);
  const seatless = whyNoSeat(gate, asked, same);
  if (seatless !== null) forbid(gate, seatless);
  const why = whyNotTo(asked, same);
  if (why !== null)
    raise(
      kernelError("T5_DELEGATION_REFUSED", `${gate.gate_id}: ${why}`, judgeRef, { detail: { gate_id: gate.gate_id } }),
    );
  const question = questionOf(asked, { decision: "delegate", principal: asked.principal, to });
  return follow(evaluatePolicies(engine, question), (policy) => ({ policy }));
}

function whyNotTo(asked: DelegationQuestion, same: Same): string | null {
  const { gate, principal, to, expires_at, now } = asked;
  if (!gate.delegation) return "nobody may lend their seat at it";
  if (!(Date.parse(expires_at) > Date.parse(now))) return `a delegation until ${expires_at} has run out already`;
  if (same(to, principal)) return "a seat cannot be lent to its owner";
  const otherwise = whyNotOfType(gate, to);
  if (otherwise !== null) return otherwise;
  if (isRequester(gate, to, same)) return "who asked for the work may not decide on it, for others neither";
  if (gate.approvers?.some((one) => same(one, to)) === true) return `${to.type} ${to.id} has a seat already`;
  if (isSeatTaken(gate, principal, same)) return "the seat has voted; withdraw the vote first";
  return null;
}

function questionOf(
  { gate, auth, intent, context, now, spent }: DecisionQuestion | DelegationQuestion,
  wish: GateCommand,
): PolicyQuestion {
  return { stage: "gate", subject: gateSubject(gate, wish), auth, intent, context, now, spent };
}

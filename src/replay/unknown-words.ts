/**
 * What a person sent that the ledger does not hold: an edit that policy denied or masked, or that was refused without being
 * put to policy; the signature of a word that was refused. Older ledgers hold nothing of a masked edit, newer ones what policy
 * left of it.
 *
 * U1  A judgement on what has not the digest on record is not made again: it stands as recorded.
 * U2  An edit that policy was not asked about was refused; nothing says why, only that.
 * U3  Policy is asked about a signed word once its signature is found good: what it said stands as recorded.
 */
import type { Signing } from "../contract/approval-claims.ts";
import { digest } from "../contract/digest.ts";
import { kernelError } from "../contract/error-codes.ts";
import { type EventDraft, type EventPayloads, type LedgerEvent, payloadOf } from "../contract/event.ts";
import type { Gate } from "../contract/gate.ts";
import type { Json } from "../contract/json.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { PolicyDecision, PolicyStage } from "../contract/policy.ts";
import { type Answered, answered, failed } from "../tiers/t4-execution/decide/run/input.ts";
import type { EventOf, RecordedLog } from "./recorded-log.ts";

/** Stands for an edit of which nothing is on record. */
export const unknownEdit: Json = { "an edit that is not on record": true };

/** Stands for what a mask took out of an edit. */
export const unknownText = "a text that is not on record";

/** Stands for the signature of a word that was refused behind its judgement. */
export const unknownSignature = "a signature that is not on record";

/** Whether an event is policy's word on a payload that is nowhere as it was. */
export function isOnUnknown(event: LedgerEvent): boolean {
  if (event.event_type !== "POLICY_DECIDED") return false;
  const { stage, decision, redactions } = payloadOf(event, "POLICY_DECIDED");
  return (decision === "DENY" || redactions.length > 0) && (stage === "outcome" || stage === "action");
}

/** The step whose call is edited. */
interface Editing {
  readonly log: RecordedLog;
  readonly stepId: string | null;
}

/** What an edit was judged as; undefined where it is on record, and policy is asked again. */
export function judgedEdit({ log, stepId }: Editing, stage: PolicyStage, payload: Json): Answered | undefined {
  const event = log.findLeft("POLICY_DECIDED", stepId, (asked) => asked.stage === stage);
  if (event === null) return refused;
  if (!isOnUnknown(event)) return undefined;
  log.takeAsRecorded(event);
  if (digest(payload) === event.payload.payload_hash) return undefined;
  const decision = decisionIn(event);
  const data = stage === "action" ? { decision, fits: false, unlimited: false, reservation: null } : decision;
  return answered(data);
}

export interface SignedQuestion extends Signing {
  readonly gate: Gate;
  readonly signature: string | null;
}

/** What a word was judged as whose signature nobody has kept. */
export function judgedUnsigned(log: RecordedLog, { gate, signature }: SignedQuestion): Answered | undefined {
  if (signature !== unknownSignature) return undefined;
  const event = log.findLeft("POLICY_DECIDED", gate.step_id, ({ stage }) => stage === "gate");
  if (event === null) return undefined;
  const seat = { advisory: false, on_behalf_of: null };
  return answered({ policy: decisionIn(event), seat, signature: null });
}

/** T5's answer that a noted decision was made of. */
export function decisionIn({ payload: noted }: EventOf<"POLICY_DECIDED">): PolicyDecision {
  const { stage: _1, subject: _2, payload_hash: _3, by: _4, payload: _5, asked_at: _6, ...decision } = noted;
  return decision;
}

const refused = failed(
  kernelError("T5_GATE_CONFLICT", "what was said was refused here", moduleRef(0, "kernel", "replay")),
);

/** What is noted, with what is recorded of a payload that is nowhere: its digest, and whether any of it was kept. */
export function withRecorded({ payload: recorded }: LedgerEvent, made: EventDraft["payload"]): EventDraft["payload"] {
  const noted = { ...(made as EventPayloads["POLICY_DECIDED"]), payload_hash: recorded["payload_hash"] };
  const { payload: _kept, ...rest } = noted;
  return (recorded["payload"] === undefined ? rest : noted) as EventDraft["payload"];
}

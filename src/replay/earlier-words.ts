/**
 * Words on gates as earlier releases took them, which replay as they were taken.
 *
 * E1  A decision did not say with which result a call was done, advice did not say what became of it, and votes did not say
 *     where they would have the outcome applied: who completed a quorum said it for all.
 * E2  What a gate says of its answers, and what a gate on a call in doubt says of itself, stands in the words of its release.
 * E3  A signature that covers none of this stands as it was found good then.
 * E4  An escalation asked its role in place of those who were asked before, and moved the expiry.
 * E5  An edit that decides was put to policy at stage gate as the gate stood before, and not as it makes the payload.
 * E6  The default rules worded their reasons otherwise.
 */
import { signedInput, signingInput } from "../contract/approval-claims.ts";
import { type EventDraft, type EventPayloads, type LedgerEvent, payloadOf } from "../contract/event.ts";
import { type Answered, answered } from "../tiers/t4-execution/decide/run/input.ts";
import type { RecordedLog } from "./recorded-log.ts";
import { decisionIn, type SignedQuestion } from "./unknown-words.ts";

/** Returns the payload of an event as the release that wrote the record would have written it. */
export function asThen(recorded: LedgerEvent, made: EventDraft): EventDraft["payload"] {
  return made.type === recorded.event_type ? reasonsThen(recorded, wordsThen(recorded, made)) : made.payload;
}

/** Reasons of default rules as they are worded now, each with its wording in 0.1.0. */
const rewordedReasons: readonly (readonly [RegExp, string])[] = [
  [/a final write waits for a person's approval/g, "a write to final records needs an approved apply"],
  [
    /the role [^"]+ may not have anything sent to the outside: [^"]+ with a rule of your own/g,
    "sending to the outside is not allowed for this principal",
  ],
];

/** Replaces reasons of default rules by their earlier wording where the record has that. */
function reasonsThen({ payload: recorded }: LedgerEvent, payload: EventDraft["payload"]): EventDraft["payload"] {
  const then = JSON.stringify(recorded);
  const reworded = rewordedReasons.filter(([, earlier]) => then.includes(earlier));
  if (reworded.length === 0) return payload;
  return JSON.parse(reworded.reduce((text, [now, earlier]) => text.replace(now, earlier), JSON.stringify(payload)));
}

function wordsThen(recorded: LedgerEvent, { type, payload }: EventDraft): EventDraft["payload"] {
  if (type === "GATE_VOTED") return adviceThen(payloadOf(recorded, type), payload as EventPayloads["GATE_VOTED"]);
  if (type === "GATE_OPENED" || type === "GATE_REVISED")
    return gateThen(payloadOf(recorded, type), payload as EventPayloads[typeof type]);
  if (type === "GATE_ESCALATED")
    return escalationThen(payloadOf(recorded, type), payload as EventPayloads[typeof type]);
  return type === "USER_APPROVED"
    ? approvalThen(payloadOf(recorded, type), payload as EventPayloads[typeof type])
    : payload;
}

/** Whether it is what policy lets an edit decide, where the record goes on with the edit at once. */
export function isUnasked(made: EventDraft, next: LedgerEvent | undefined, shown: string | undefined): boolean {
  const { decision } = made.payload as Partial<EventPayloads["POLICY_DECIDED"]>;
  if (!isOfEdit(made, shown) || decision === "DENY" || next?.step_id !== made.step_id) return false;
  return next.event_type === "OUTCOME_DRAFTED" || next.payload["cause"] === "edit";
}

/** Whether it is what policy says of a decision on what an edit makes of what the gate shows. */
export function isOfEdit({ type, payload }: EventDraft, shown: string | undefined): boolean {
  if (type !== "POLICY_DECIDED") return false;
  const { stage, payload_hash, by } = payload as EventPayloads["POLICY_DECIDED"];
  return stage === "gate" && by?.decision !== "delegate" && payload_hash !== shown;
}

type Vote = EventPayloads["GATE_VOTED"];

function adviceThen(then: Vote, made: Vote): Vote {
  if (then.resolution !== undefined) return made;
  const { resolution: _1, result: _2, ...vote } = made;
  return vote;
}

type Shown = Pick<EventPayloads["GATE_OPENED"], "gate">;

function gateThen<S extends Shown>({ gate: { reasons, consequences } }: Shown, made: S): S {
  const { gate } = made;
  return { ...made, gate: { ...gate, ...(gate.kind === "in_doubt" && { reasons }), consequences } };
}

type Escalation = EventPayloads["GATE_ESCALATED"];

function escalationThen(then: Escalation, made: Escalation): Escalation {
  if (then.replaces !== undefined) return made;
  const { replaces: _1, ladder: _2, ...escalation } = made;
  return escalation;
}

type Approval = EventPayloads["USER_APPROVED"];

function approvalThen(then: Approval, made: Approval): Approval {
  const { result_digest: _, ...decided } = made;
  const approval = then.result_digest === undefined ? decided : made;
  const isOfOne = then.carried_by !== undefined && made.apply_targets.length === 0;
  return isOfOne ? { ...approval, apply_targets: then.apply_targets } : approval;
}

/** What a word was judged as that was signed without what it covers today. */
export function judgedEarlier(log: RecordedLog, { gate, signature, ...signing }: SignedQuestion): Answered | undefined {
  if (signature === null) return undefined;
  const isSigned = ({ signature: made }: { readonly signature?: Vote["signature"] }): boolean =>
    made?.jws === signature;
  const voted = log.findLeft("GATE_VOTED", gate.step_id, isSigned);
  const event =
    voted ??
    log.findLeft("USER_APPROVED", gate.step_id, isSigned) ??
    log.findLeft("USER_REJECTED", gate.step_id, isSigned);
  const judged = log.findLeft("POLICY_DECIDED", gate.step_id, ({ stage }) => stage === "gate");
  if (event === null || judged === null) return undefined;
  const text = Buffer.from(signature.split(".")[1] ?? "", "base64url").toString();
  if (text === signingInput(gate, signing) || text !== signedInput(event, true)) return undefined;
  const { advisory = false, on_behalf_of = null } = voted?.payload ?? {};
  const { signature: kept } = event.payload;
  return answered({ policy: decisionIn(judged), seat: { advisory, on_behalf_of }, signature: kept });
}

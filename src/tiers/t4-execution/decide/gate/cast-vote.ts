/**
 * A vote, from its judgement to the ledger. At a gate that one person decides, the vote is the decision; with a quorum
 * it is a separate event, and the vote that completes the quorum is followed by the decision in the same row.
 *
 * 1.  The decision names the voters who carried it; an adviser's vote never leads to one.
 * 2.  The row of the vote that fills a stage names the stage as filled, and the gate then asks the next one.
 * 3.  The decision is in the row of the last vote that it needs: no open gate has votes that decide it.
 */

import { apartFrom, countedVotes, isStageFilled, verdictOf } from "../../../../../machines/quorum.ts";
import { resultOf } from "../../../../contract/approval-claims.ts";
import { digest } from "../../../../contract/digest.ts";
import { draft, type GateDecided } from "../../../../contract/event.ts";
import type { Gate } from "../../../../contract/gate.ts";
import { refOf } from "../../../../contract/gate-vote.ts";
import type { Principal } from "../../../../contract/intent.ts";
import type { Json, JsonObject } from "../../../../contract/json.ts";
import type { JudgedDecision } from "../../../../contract/messages/t5.ts";
import { failStep, gateDenied } from "../run/end-step.ts";
import { gateNow, type Run } from "../run/run.ts";
import type {} from "./judge-decision.ts";

/** A person's vote after its judgement. */
export interface Ballot extends Pick<JudgedDecision, "seat" | "signature"> {
  readonly decision: "approve" | "reject";
  readonly principal: Principal;
  readonly comment: string | null;
  readonly apply_targets?: readonly string[];
  readonly edited?: boolean;
  readonly resolution?: GateDecided["resolution"];
  /** The result of the call, with resolution `done`. */
  readonly result?: Json;
  /** The answer to a question. */
  readonly answer?: JsonObject | undefined;
  readonly idempotency_key?: string | undefined;
  /** The grant by which the approval was given ahead. */
  readonly grant?: GateDecided["grant"];
}

/** Appends the vote, and the decision if the vote completes one. Both bind to the given gate. */
export function castVote(run: Run, gate: Gate, ballot: Ballot): void {
  if (!ballot.seat.advisory && gate.quorum === null) return noteVerdict(run, gate, ballot);
  const { decision, principal, signature, comment, apply_targets = [], resolution = null, result = null } = ballot;
  const { answer } = ballot;
  const { gate_id } = gate;
  const apart = run.settings.tellsPeople ? { apart_from: apartFrom(gateNow(run, gate_id)) } : {};
  const named = {
    ...(apply_targets.length === 0 ? {} : { apply_targets }),
    ...(resolution === null ? {} : { resolution }),
    ...(resolution === "done" ? { result } : {}),
    ...(answer === undefined ? {} : { answer }),
    ...keyOf(ballot),
  };
  const given = { ...bindingOf(gate), signature, comment, ...named };
  const vote = { gate_id, decision, principal, ...ballot.seat, ...given, ...apart };
  run.log.noteBy(refOf(principal), draft("GATE_VOTED", vote, gate.step_id));
  const voted = gateNow(run, gate_id);
  if (isStageFilled(voted))
    run.log.note(draft("GATE_STAGE_FILLED", { gate_id, stage: voted.stage ?? 1 }, gate.step_id));
  if (verdictOf(voted) === decision) noteVerdict(run, voted, ballot);
}

const keyOf = ({ idempotency_key: key }: Pick<Ballot, "idempotency_key">) =>
  key === undefined ? {} : { idempotency_key: key };

const bindingOf = (gate: Gate) => ({
  payload_digest: digest(gate.payload),
  policy_version: gate.policy_version,
  outcome_id: gate.target?.outcome_id ?? null,
  outcome_version: gate.target?.version ?? null,
  ...(gate.basis_digest === undefined ? {} : { basis_digest: gate.basis_digest }),
});

function noteVerdict(run: Run, gate: Gate, by: Ballot): void {
  const { decision, principal, signature, comment, apply_targets = [], edited = false } = by;
  const { resolution = null, result = null, answer, grant } = by;
  const carried = countedVotes(gate, decision).map((vote) => ({
    principal: vote.principal,
    on_behalf_of: vote.on_behalf_of,
    ...(vote.part === undefined ? {} : { part: vote.part }),
    ...(vote.stage === undefined ? {} : { stage: vote.stage }),
  }));
  const decided: GateDecided = {
    gate_id: gate.gate_id,
    principal,
    ...bindingOf(gate),
    edited: edited || gate.edited,
    resolution,
    ...resultOf(resolution, result),
    ...(answer === undefined ? {} : { answer }),
    apply_targets,
    comment,
    ...(gate.quorum === null ? {} : { carried_by: carried }),
    ...(gate.quorum !== null || signature === null ? {} : { signature }),
    ...(grant === undefined ? {} : { grant }),
    ...(gate.quorum === null ? standInOf(by.seat) : {}),
    ...keyOf(by),
  };
  run.log.noteBy(
    refOf(principal),
    draft(decision === "approve" ? "USER_APPROVED" : "USER_REJECTED", decided, gate.step_id),
  );
}

/** Returns whose seat a sole decision takes by which order; a vote names them itself. */
const standInOf = ({ stand_in, on_behalf_of }: Ballot["seat"]) =>
  stand_in === undefined || on_behalf_of === null ? {} : { on_behalf_of, stand_in };

/** Ends the step of a rejected gate as denied, without a call. */
export function endIfRejected(run: Run, gate: Gate): void {
  const closed = gateNow(run, gate.gate_id);
  if (closed.status === "rejected") failStep(run, gate.step_id, gateDenied(closed));
}

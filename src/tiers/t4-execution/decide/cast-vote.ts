/**
 * A vote, from its judgement to the ledger: at a gate that one person decides it is the decision; with a quorum it is an
 * event of its own, and the one that completes the quorum is followed by the decision in the same commit.
 *
 * V1  The decision names who carried it; an adviser's vote never leads to one.
 * V2  What the votes decide is decided, also where two processes brought one half of them each.
 */

import { apartFrom, countedVotes, verdictOf } from "../../../../machines/quorum.ts";
import { digest } from "../../../contract/digest.ts";
import { draft, type GateDecided } from "../../../contract/event.ts";
import { type Gate, isOpenGate } from "../../../contract/gate.ts";
import { refOf } from "../../../contract/gate-vote.ts";
import type { Principal } from "../../../contract/intent.ts";
import { failStep, humanDenied } from "./end-step.ts";
import type { Judged } from "./judge-decision.ts";
import { isOutdated, type Run } from "./run.ts";

/** What a person says, as it was judged. */
export interface Ballot extends Pick<Judged, "seat" | "signature"> {
  readonly decision: "approve" | "reject";
  readonly principal: Principal;
  readonly edited: boolean;
  readonly resolution: GateDecided["resolution"];
  readonly apply_targets: readonly string[];
  readonly comment: string | null;
}

/** Notes the vote, and the decision if it completes one. Both bind to the gate as it is given. */
export function castVote(run: Run, gate: Gate, ballot: Ballot): void {
  if (!ballot.seat.advisory && gate.quorum === null) return noteVerdict(run, gate, ballot);
  const { decision, principal, signature, comment } = ballot;
  const apart = run.settings.tellsPeople ? { apart_from: apartFrom(now(run, gate)) } : {};
  const { gate_id } = gate;
  const vote = { gate_id, decision, principal, ...ballot.seat, ...bindingOf(gate), signature, comment, ...apart };
  run.log.noteBy(refOf(principal), draft("GATE_VOTED", vote, gate.step_id));
  if (verdictOf(now(run, gate)) === decision) noteVerdict(run, now(run, gate), ballot);
}

const now = (run: Run, { gate_id }: Gate): Gate => run.log.record.gates.get(gate_id) as Gate;

const bindingOf = (gate: Gate) => ({
  payload_digest: digest(gate.payload),
  policy_version: gate.policy_version,
  outcome_id: gate.target?.outcome_id ?? null,
  outcome_version: gate.target?.version ?? null,
  ...(gate.basis_digest === undefined ? {} : { basis_digest: gate.basis_digest }),
});

type Completing = Pick<Ballot, "decision" | "principal" | "edited" | "resolution" | "apply_targets" | "comment"> &
  Partial<Pick<Ballot, "signature">>;

function noteVerdict(run: Run, gate: Gate, by: Completing): void {
  const { decision, principal, edited, resolution, apply_targets, comment, signature = null } = by;
  const carried = countedVotes(gate, decision).map((vote) => ({
    principal: vote.principal,
    on_behalf_of: vote.on_behalf_of,
  }));
  const decided: GateDecided = {
    gate_id: gate.gate_id,
    principal,
    ...bindingOf(gate),
    edited: edited || gate.edited,
    resolution,
    apply_targets,
    comment,
    ...(gate.quorum === null ? {} : { carried_by: carried }),
    ...(gate.quorum !== null || signature === null ? {} : { signature }),
  };
  run.log.noteBy(
    refOf(principal),
    draft(decision === "approve" ? "USER_APPROVED" : "USER_REJECTED", decided, gate.step_id),
  );
}

/** Decides what the votes of two processes decide together; each had only half of them when it voted. */
export function settleVotes(run: Run): void {
  for (const gate of run.log.record.gates.values()) {
    const verdict = isOpenGate(gate) ? verdictOf(gate) : null;
    const last = verdict === null ? undefined : countedVotes(gate, verdict).at(-1);
    if (verdict === null || last === undefined || (verdict === "approve" && isOutdated(run, gate))) continue;
    const principal = { ...last.principal, role: last.role };
    noteVerdict(run, gate, {
      decision: verdict,
      principal,
      edited: false,
      resolution: null,
      apply_targets: [],
      comment: last.comment,
    });
    endIfRejected(run, gate);
  }
}

/** The step of a gate that was rejected ends as denied, uncalled. */
export function endIfRejected(run: Run, gate: Gate): void {
  if (now(run, gate).status === "rejected") failStep(run, gate.step_id, humanDenied(gate.gate_id, "rejected"));
}

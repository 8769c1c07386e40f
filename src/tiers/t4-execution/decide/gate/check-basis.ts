/**
 * The basis of an approval: the basis that the operator's preview named, and the judgement of policy. Both are asked
 * for again when a vote is taken and before the first call. If the gate does not show the present state, it is opened
 * again with that state, and nothing is called.
 *
 * 1.  A call that has begun may itself have changed its basis; it is repeated under its key without another check.
 * 2.  A vote on another basis does not count: once the basis has changed, an approval must name it.
 * 3.  The latest decision of policy counts. A denial refuses the vote, and denies the step before its call. A demand
 *     for a person is satisfied by a gate that names the rule; another payload needs the gate to be opened again.
 */

import { bindBasis, hasSameBasis } from "../../../../contract/basis.ts";
import type { Gate, ParsedGateRequest } from "../../../../contract/gate.ts";
import type { PolicyDecision } from "../../../../contract/policy.ts";
import { admitPayload, judgeNow, passShown, requireAdmitted } from "../call/admit-payload.ts";
import { type Prepared, prepareWritten } from "../payload/prepare-step.ts";
import { showCall } from "../payload/show-call.ts";
import type { Shown } from "../run/intention.ts";
import { refuseAt } from "../run/refuse-at-gate.ts";
import { gateNow, isOutdated, type Run } from "../run/run.ts";
import { approvalReasons, describeGate, noteRevised, reviseGate } from "./open-gate.ts";

/**
 * Returns the operator's present preview if its basis differs from the gate's; else null.
 * @throws KernelErrorException if the operator cannot show it.
 */
function showIfMoved(run: Run, gate: Gate, prepared: Prepared): Shown | null {
  if (gate.basis_digest === undefined) return null;
  const shown = showCall(run, prepared);
  return hasSameBasis(bindBasis(shown.basis, true), gate) ? null : shown;
}

/**
 * Opens an approved gate again if its policy or basis has changed since; the times of the gate begin anew. Returns true
 * if it did.
 * @throws KernelErrorException T5_POLICY_DENIED.
 */
export function reopenIfMoved(run: Run, prepared: Prepared, approved: Gate): boolean {
  const isPast = isOutdated(run, approved);
  const shown = isPast ? null : showIfMoved(run, approved, prepared);
  if (!isPast && shown === null) return false;
  const gate =
    shown === null
      ? describeAnew(run, approved)
      : describeGate(run, { ...prepared, gate: null }, approved.reasons, { shown });
  noteRevised(run, isPast ? "policy" : "basis", { ...gate, edited: approved.edited });
  return true;
}

/**
 * Asks policy before the call of an approved gate. Opens the gate again if policy demands something that the gate does
 * not show. Returns true if it did.
 * @throws KernelErrorException T5_POLICY_DENIED.
 */
export function reopenIfJudged(run: Run, prepared: Prepared, approved: Gate): boolean {
  const decision = judgeNow(run, prepared);
  requireAdmitted(decision, prepared.step.step_id);
  const shown = showIfJudged(run, approved, { prepared, decision });
  if (shown !== null) noteRevised(run, "policy", { ...shown, edited: approved.edited });
  return shown !== null;
}

/**
 * Refuses a vote if policy denies its payload at that instant. If policy demands something that the gate does not show,
 * refuses the vote and opens the gate again.
 * @throws KernelErrorException T5_POLICY_DENIED, T5_GATE_CONFLICT.
 */
export function requireSameJudgement(run: Run, gate: Gate, { prepared, decision }: Judged): void {
  const { gate_id } = gate;
  const { code = "T5_POLICY_DENIED", reason, policies } = decision;
  if (decision.decision === "DENY")
    refuseAt(
      gate_id,
      `policy denies this call now: ${reason || "it gives no reason"}; ${gate_id} stays open: reject it, or approve ` +
        "it once policy allows it",
      { code, detail: { policies } },
    );
  const shown = showIfJudged(run, gate, { prepared, decision });
  if (shown === null) return;
  noteRevised(run, "policy", reviseGate(gateNow(run, gate_id), shown));
  refuse(run, gate, `policy now wants what ${gate_id} did not show; look again`);
}

/** The payload that a gate shows, and the present decision of policy on it. */
interface Judged {
  readonly prepared: Prepared;
  readonly decision: PolicyDecision;
}

/** Returns the gate that this judgement demands; null if the gate shows that payload and names those rules. */
function showIfJudged(run: Run, gate: Gate, { prepared, decision }: Judged): Gate | null {
  const passed = passShown(run, prepared, decision);
  if (passed.hash === gate.payload_digest && isAnsweredBy(gate, decision)) return null;
  const reasons = approvalReasons(run, passed);
  return describeGate(run, passed, reasons.length === 0 ? gate.reasons : reasons);
}

/** Returns whether the gate names the rule that demands a person. */
function isAnsweredBy({ reasons }: Gate, { decision, decided_by }: PolicyDecision): boolean {
  if (decision !== "REQUIRE_HUMAN_APPROVAL") return true;
  const named = reasons.filter(({ source }) => source === "policy").flatMap(({ rule }) => rule.split(", "));
  return decided_by === undefined ? named.length > 0 : named.includes(decided_by);
}

/** Returns the gate with its payload as the present policy allows it. @throws KernelErrorException T5_POLICY_DENIED. */
export function describeAnew(run: Run, standing: Gate): Gate {
  const prepared = admitPayload(run, prepareWritten(run, standing), { keep: true, anew: true });
  const reasons = approvalReasons(run, prepared);
  return describeGate(run, prepared, reasons.length === 0 ? standing.reasons : reasons);
}

/**
 * Refuses a vote on a changed basis, and opens the gate again with the present one. @throws KernelErrorException
 * T5_GATE_CONFLICT.
 */
export function requireSameBasis(run: Run, gate: Gate, prepared: Prepared): void {
  const shown = showIfMoved(run, gate, prepared);
  if (shown === null) return;
  noteRevised(run, "basis", reviseGate(gate, describeGate(run, prepared, gate.reasons, { shown })));
  refuse(run, gate, `what ${gate.gate_id} was shown against has changed; look again`);
}

/**
 * Requires that a decision names the present basis of the gate; an approval must name one if the basis has changed.
 * @throws KernelErrorException T5_GATE_CONFLICT.
 */
export function requireNamedBasis(run: Run, gate: Gate, { decision, payload }: ParsedGateRequest): void {
  const { basis_digest } = payload;
  const mustName = decision === "approve" && gate.basis_changed === true;
  if (basis_digest === undefined ? !mustName : hasSameBasis(payload, gate)) return;
  const message =
    basis_digest === undefined
      ? `${gate.gate_id} was opened again because what it rests on has changed; look again and name its basis_digest`
      : `${gate.gate_id} now rests on something else than what was decided on; look again`;
  refuse(run, gate, message);
}

function refuse(run: Run, { gate_id }: Gate, message: string): never {
  const { basis = [], basis_digest = null } = gateNow(run, gate_id);
  return refuseAt(gate_id, message, { detail: { basis, basis_digest } });
}

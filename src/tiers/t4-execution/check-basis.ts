/**
 * What an approval rests on: the basis that the operator's preview named is asked for again when a vote is taken, and before
 * the first call. Where it has changed the gate is opened again on what stands now, and nothing is called.
 *
 * K1  A call that has begun may itself have changed what it rests on: repeated under its key it is not asked about again.
 * K2  What was said on another basis is no word on this one: where it has changed an approval names it.
 */
import { bindBasis, hasSameBasis } from "../../contract/basis.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { draft } from "../../contract/event.ts";
import { type Gate, isOpenGate, type ParsedGateRequest } from "../../contract/gate.ts";
import { describeGate, openNow, reviseGate } from "./open-gate.ts";
import { type Prepared, prepareShown } from "./prepare-step.ts";
import { oodaRef, type Run } from "./run.ts";
import { type Shown, showCall } from "./show-call.ts";

/**
 * What the operator shows now, if it no longer rests on what the gate shows; else null.
 * @throws KernelErrorException where it cannot show it.
 */
async function showIfMoved(run: Run, gate: Gate, prepared: Prepared): Promise<Shown | null> {
  if (gate.basis_digest === undefined) return null;
  const shown = await showCall(run, prepared);
  return hasSameBasis(bindBasis(shown.basis), gate) ? null : shown;
}

/** Opens an approved gate again whose basis has changed since; true when it did. Asked as anew, for as long as at first. */
export async function reopenIfMoved(run: Run, prepared: Prepared, approved: Gate): Promise<boolean> {
  const shown = await showIfMoved(run, approved, prepared);
  if (shown === null) return false;
  const gate = await describeGate(run, { ...prepared, gate: null }, approved.reasons, { shown });
  const revised = { ...openNow(run, gate, "GATE_REVISED"), edited: approved.edited };
  run.log.note(draft("GATE_REVISED", { gate: revised, cause: "basis", principal: null }, gate.step_id));
  return true;
}

/** Refuses a vote on what no longer stands, and opens the gate again on what does. @throws KernelErrorException T5_GATE_CONFLICT. */
export async function requireSameBasis(run: Run, gate: Gate, prepared: Prepared): Promise<void> {
  const shown = await showIfMoved(run, gate, prepared);
  if (shown === null) return;
  const described = await describeGate(run, prepared, gate.reasons, { shown });
  const still = run.log.record.gates.get(gate.gate_id) as Gate;
  if (isOpenGate(still) && hasSameBasis(still, gate)) {
    const revised = { ...reviseGate(still, described), opened_at: still.opened_at, edited: still.edited };
    run.log.note(draft("GATE_REVISED", { gate: revised, cause: "basis", principal: null }, gate.step_id));
    await run.log.commit();
  }
  refuse(run, gate, `what ${gate.gate_id} was shown against has changed; look again`);
}

/** As a vote would, for a replay: the vote that found it left nothing else in the ledger. */
export async function askBasisAgain(run: Run, gateId: string): Promise<void> {
  const gate = run.log.record.gates.get(gateId);
  if (gate !== undefined && isOpenGate(gate)) await requireSameBasis(run, gate, await prepareShown(run, gate));
}

/**
 * @throws KernelErrorException T5_GATE_CONFLICT for a decision on another basis, and for an approval that does not say on
 * which, where it must.
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

function refuse({ log }: Run, { gate_id }: Gate, message: string): never {
  const { basis = [], basis_digest = null } = log.record.gates.get(gate_id) as Gate;
  const detail = { gate_id, basis, basis_digest };
  return raise(kernelError("T5_GATE_CONFLICT", message, oodaRef("decide_gate"), { detail }));
}

/**
 * The room of a gate: what may be added to its record without end has a limit. What a quorum counts is limited by the
 * quorum itself, so that nobody's advice keeps a vote from being counted.
 */
import { raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { oodaRef, type Run } from "./run.ts";

/** @param standing how many of its kind there are: advice, loans, early decisions, signatures used. @throws T5_GATE_FULL. */
export function requireRoom(run: Run, gate_id: string, standing: readonly unknown[]): void {
  const { maxGateEntries } = run.settings.limits;
  if (standing.length < maxGateEntries) return;
  const message = `${gate_id} holds limits.maxGateEntries = ${maxGateEntries} of these already`;
  raise(kernelError("T5_GATE_FULL", message, oodaRef("limit_gate"), { detail: { gate_id, maxGateEntries } }));
}

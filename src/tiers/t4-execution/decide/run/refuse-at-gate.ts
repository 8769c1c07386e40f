/**
 * What a word at a gate is refused with, and the room of a gate: what may be added to its record without end has a limit.
 * What a quorum counts is limited by the quorum itself, so that nobody's advice keeps a vote from being counted.
 */
import { type KernelError, raise } from "../../../../contract/error.ts";
import { type ErrorCode, kernelError } from "../../../../contract/error-codes.ts";
import type { JsonObject } from "../../../../contract/json.ts";
import { oodaRef, type Run } from "./run.ts";

interface Refusal {
  readonly code?: ErrorCode;
  /** The function of T4 that refuses. */
  readonly fn?: string;
  /** Beside the gate's id. */
  readonly detail?: JsonObject;
  readonly cause?: KernelError;
}

/** @throws KernelErrorException T5_GATE_CONFLICT, or the code that is given. */
export function refuseAt(gate_id: string, message: string, refusal: Refusal = {}): never {
  const { code = "T5_GATE_CONFLICT", fn = "decide_gate", detail, cause = null } = refusal;
  return raise(kernelError(code, message, oodaRef(fn), { detail: { gate_id, ...detail }, cause }));
}

/** @param standing how many of its kind there are: advice, loans, early decisions, signatures used. @throws T5_GATE_FULL. */
export function requireRoom(run: Run, gate_id: string, standing: readonly unknown[]): void {
  const { maxGateEntries } = run.settings.limits;
  if (standing.length < maxGateEntries) return;
  const message = `${gate_id} holds limits.maxGateEntries = ${maxGateEntries} of these already`;
  refuseAt(gate_id, message, { code: "T5_GATE_FULL", fn: "limit_gate", detail: { maxGateEntries } });
}

/**
 * Refusals of commands at a gate, and the limit on a gate's entries: a record must not grow without end. Votes are
 * limited by the quorum itself, so advice never keeps a vote from being counted.
 */
import { type KernelError, raise } from "../../../../contract/error.ts";
import { type ErrorCode, kernelError } from "../../../../contract/error-codes.ts";
import type { JsonObject } from "../../../../contract/json.ts";
import { oodaRef, type Run } from "./run.ts";

interface Refusal {
  readonly code?: ErrorCode;
  /** The function of T4 that refuses. */
  readonly fn?: string;
  /** Members beside the gate's id. */
  readonly detail?: JsonObject;
  readonly cause?: KernelError;
}

/** Refuses a command at a gate. @throws KernelErrorException T5_GATE_CONFLICT, or the given code. */
export function refuseAt(gate_id: string, message: string, refusal: Refusal = {}): never {
  const { code = "T5_GATE_CONFLICT", fn = "decide_gate", detail, cause = null } = refusal;
  return raise(kernelError(code, message, oodaRef(fn), { detail: { gate_id, ...detail }, cause }));
}

/**
 * Requires that a gate has room for another entry. @param standing the entries of its kind: advice, delegations, early
 * decisions or used signatures. @throws KernelErrorException T5_GATE_FULL.
 */
export function requireRoom(run: Run, gate_id: string, standing: readonly unknown[]): void {
  const { maxGateEntries } = run.settings.limits;
  if (standing.length < maxGateEntries) return;
  const message = `${gate_id} holds limits.maxGateEntries = ${maxGateEntries} of these already`;
  refuseAt(gate_id, message, { code: "T5_GATE_FULL", fn: "limit_gate", detail: { maxGateEntries } });
}

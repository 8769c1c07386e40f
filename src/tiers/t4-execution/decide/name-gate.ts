/**
 * Which gate a request means, on the record as it stands.
 *
 * N1  It names the gate, or for a decision the payload that the gate shows; who names neither is refused. In process the one
 *     open gate is named before a request comes here.
 * N2  A payload names the gate that was decided with it before one that is open: a decision that comes again reaches what it
 *     first decided, whatever shows the same meanwhile.
 * N3  A gate that was revised is decided by who names what it shows now.
 */
import { raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { type Gate, isOpenGate, type ParsedGateRequest, refuseUnnamed } from "../../../contract/gate.ts";
import type { WorkflowRecord } from "../../../contract/workflow.ts";
import { oodaRef } from "./run.ts";

const nameRef = oodaRef("name_gate");

type Gates = Pick<WorkflowRecord, "gates" | "state">;

/** @throws KernelErrorException T5_GATE_UNNAMED, T5_GATE_AMBIGUOUS, T5_GATE_NOT_FOUND. */
export function gateMeant(record: Gates, { gate_id, payload }: Pick<ParsedGateRequest, "gate_id" | "payload">): string {
  if (gate_id !== undefined) return gate_id;
  const { payload_digest: shown, resolution } = payload;
  if (shown === undefined) return refuseUnnamed(nameRef);
  const all = [...record.gates.values()];
  // What became of a call is asked at a gate that shows what the gate before the call showed.
  const asked = all.filter(({ kind }) => resolution === undefined || kind === "in_doubt");
  const found = asked.filter((gate) => hasShown(gate, shown));
  const decided = found.find((gate) => gate.decision !== null);
  if (decided !== undefined) return decided.gate_id;
  const open = found.filter(isOpenGate);
  if (open.length > 1) return refuseAmbiguous(open);
  const [only = found[0] ?? onlyOpen(all)] = open;
  return (
    only?.gate_id ?? raise(kernelError("T5_GATE_NOT_FOUND", "no gate of this workflow shows that payload", nameRef))
  );
}

const refuseAmbiguous = (open: readonly Gate[]): never => {
  const detail = { gates: open.map((gate) => gate.gate_id) };
  return raise(
    kernelError("T5_GATE_AMBIGUOUS", `${open.length} gates show this payload; name one`, nameRef, { detail }),
  );
};

/** What was shown before may have changed: the refusal then says to what. */
function onlyOpen(all: readonly Gate[]): Gate | undefined {
  const open = all.filter(isOpenGate);
  return open.length === 1 ? open[0] : undefined;
}

const hasShown = ({ payload_digest, revised_from = [] }: Gate, digest: string): boolean =>
  payload_digest === digest || revised_from.includes(digest);

/** Whether a decision is on what the gate shows: a gate that never showed anything else may be named alone. */
export const isOnNewest = ({ payload_digest, revised_from = [] }: Gate, named: string | undefined): boolean =>
  named === undefined ? revised_from.length === 0 : named === payload_digest;

/** Whether it could be on what the gate showed before it was revised. */
export const isOnEarlier = ({ revised_from = [] }: Gate, named: string | undefined): boolean =>
  named === undefined ? revised_from.length > 0 : revised_from.includes(named);

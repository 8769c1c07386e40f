/**
 * Finds the gate that a request concerns in the present record.
 *
 * 1.  A request names its gate, or a decision names the payload that the gate shows. A request that names neither is
 *     refused; in process, the only open gate is filled in before.
 * 2.  A decision whose idempotency key is on record concerns the gate that it concerned first, and no other.
 * 3.  Among the gates that show the named payload, an open one comes first. A closed gate answers only if no open one
 *     matches.
 * 4.  A gate that was revised is decided by a request that names its present payload.
 * 5.  A decision that is decided again after a conflicting append concerns the open gate that it concerned before. It
 *     never reaches a gate that was opened while it waited, even if that gate shows the same payload.
 */
import { decisionKeyOf } from "../../../../../machines/fold-gates.ts";
import { raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { type Gate, isOpenGate, type ParsedGateRequest, refuseUnnamed } from "../../../../contract/gate.ts";
import type { WorkflowRecord } from "../../../../contract/workflow.ts";
import type { DecisionCommand } from "../run/input.ts";
import { refuseAt } from "../run/refuse-at-gate.ts";
import { oodaRef } from "../run/run.ts";

const nameRef = oodaRef("name_gate");

type Gates = Pick<WorkflowRecord, "gates" | "decision_keys">;
type Naming = Pick<ParsedGateRequest, "gate_id" | "payload" | "decision" | "principal" | "idempotency_key">;

/**
 * Finds the gate that a decision concerns. An open one is recorded in the decision itself, which outlives a log that is
 * read again.
 * @throws KernelErrorException T5_GATE_UNNAMED, T5_GATE_AMBIGUOUS, T5_GATE_NOT_FOUND, T5_GATE_CONFLICT.
 */
export function gateMet(record: Gates, command: Pick<DecisionCommand, "met"> & { readonly request: Naming }): string {
  const gateId = gateMeant(record, command);
  const gate = record.gates.get(gateId);
  if (gate !== undefined && isOpenGate(gate)) command.met = gateId;
  return gateId;
}

function gateMeant(record: Gates, { request, met }: Parameters<typeof gateMet>[1]): string {
  const { gate_id } = request;
  const keyed = gateReachedBefore(record, request);
  if (gate_id === undefined) return keyed ?? met ?? gateShowing([...record.gates.values()], request);
  if (keyed !== null && keyed !== gate_id) refuseAt(gate_id, `this idempotency key was used for ${keyed}`, keyUsed);
  return gate_id;
}

const keyUsed = { code: "T4_IDEMPOTENCY_PAYLOAD_MISMATCH", fn: "name_gate" } as const;

/** Returns the gate that a decision under this key reached first; null for a new key. */
export function gateReachedBefore(record: Gates, { principal, idempotency_key: key }: Naming): string | null {
  return key === undefined ? null : (record.decision_keys.get(decisionKeyOf(principal, key)) ?? null);
}

function gateShowing(all: readonly Gate[], request: Naming): string {
  const { payload_digest: named } = request.payload;
  if (named === undefined) return refuseUnnamed(nameRef);
  const found = mayMean(
    all.filter((gate) => hasShown(gate, named)),
    request,
  );
  const open = found.filter(isOpenGate);
  const now = open.filter(({ payload_digest }) => payload_digest === named);
  if (now.length > 1) return refuseAmbiguous(now);
  // A payload that an open gate showed before its revision is refused at that gate, which names the present one.
  const [only = open[0] ?? closedBy(found, request) ?? onlyOpen(all)] = now;
  return (
    only?.gate_id ?? raise(kernelError("T5_GATE_NOT_FOUND", "no gate of this workflow shows that payload", nameRef))
  );
}

/**
 * Returns the gates that a decision can concern. A gate about a call in doubt shows the payload of the gate before that
 * call: a decision with a resolution concerns the former, an approval without one the latter.
 */
function mayMean(found: readonly Gate[], { decision, payload: { resolution } }: Naming): readonly Gate[] {
  const [asking, doubting] = [found.filter(isApproval), found.filter((gate) => !isApproval(gate))];
  if (resolution !== undefined) return doubting;
  return decision === "approve" && asking.length > 0 ? asking : found;
}

const isApproval = ({ kind }: Gate): boolean => kind !== "in_doubt";

/** Returns the last closed gate with the same decision; without one, the gate that was closed last. */
const closedBy = (found: readonly Gate[], { decision }: Naming): Gate | undefined =>
  found.findLast((gate) => gate.decision?.decision === decision) ?? found.at(-1);

const refuseAmbiguous = (open: readonly Gate[]): never => {
  const detail = { gates: open.map((gate) => gate.gate_id) };
  return raise(
    kernelError("T5_GATE_AMBIGUOUS", `${open.length} gates show this payload; name one`, nameRef, { detail }),
  );
};

/** Returns the only open gate. Its payload may have changed, and the refusal then names the present one. */
function onlyOpen(all: readonly Gate[]): Gate | undefined {
  const open = all.filter(isOpenGate);
  return open.length === 1 ? open[0] : undefined;
}

const hasShown = ({ payload_digest, revised_from = [] }: Gate, digest: string): boolean =>
  payload_digest === digest || revised_from.includes(digest);

/** Returns whether a decision concerns the present payload; a gate that never showed another one may be named alone. */
export const isOnNewest = ({ payload_digest, revised_from = [] }: Gate, named: string | undefined): boolean =>
  named === undefined ? revised_from.length === 0 : named === payload_digest;

/** Returns whether a decision could concern a payload that the gate showed before a revision. */
export const isOnEarlier = ({ revised_from = [] }: Gate, named: string | undefined): boolean =>
  named === undefined ? revised_from.length > 0 : revised_from.includes(named);

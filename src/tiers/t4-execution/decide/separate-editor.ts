/**
 * An edit at a gate that separates duties: who made it asks for what it made, and others approve that.
 */
import { requestersOf, seatsOf } from "../../../../machines/quorum.ts";
import { raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import type { Gate } from "../../../contract/gate.ts";
import { completeQuorum, whyUnsatisfiable } from "../../../contract/gate-spec.ts";
import type { PrincipalRef } from "../../../contract/gate-vote.ts";
import { oodaRef, type Run, stepOf } from "./run.ts";

/** The quorum of those who are left. @throws KernelErrorException T5_GATE_CONFLICT where they are too few to decide. */
export function quorumWithout(run: Run, gate: Gate, editor: PrincipalRef): Partial<Pick<Gate, "quorum">> {
  if (!gate.separation || gate.approvers === null) return {};
  const spec = stepOf(run, gate.step_id).step.gate ?? {};
  const seats = seatsOf(gate, [...requestersOf(gate), editor], run.settings.same)?.length ?? null;
  const why = whyUnsatisfiable(spec, seats);
  if (why === null) return { quorum: completeQuorum(spec, seats) };
  const message = `${gate.gate_id}: who edits leaves the approval to others, and ${why}`;
  return raise(kernelError("T5_GATE_CONFLICT", message, oodaRef("edit_gate"), { detail: { gate_id: gate.gate_id } }));
}

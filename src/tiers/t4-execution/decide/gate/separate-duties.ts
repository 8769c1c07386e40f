/**
 * Gates that separate duties: a person who edits, or who has work done again, becomes a requester, and others must
 * approve the result.
 */
import { seatsOf } from "../../../../../machines/quorum.ts";
import { type Gate, gateIdOf } from "../../../../contract/gate.ts";
import { completeQuorum, whyUnsatisfiable } from "../../../../contract/gate-spec.ts";
import type { PrincipalRef } from "../../../../contract/gate-vote.ts";
import type { PlanStep } from "../../../../contract/plan.ts";
import { isStepDone } from "../../../../contract/workflow.ts";
import { refuseAt } from "../run/refuse-at-gate.ts";
import { type Run, stepOf } from "../run/run.ts";

/**
 * Returns the quorum of the remaining seats. @throws KernelErrorException T5_GATE_CONFLICT if they are too few, at this
 * gate or at a later one.
 */
export function quorumWithout(run: Run, gate: Gate, editor: PrincipalRef): Partial<Pick<Gate, "quorum">> {
  const { plan, steps, gates, requesters } = run.log.record;
  const isDecided = (id: string): boolean =>
    isStepDone(steps.get(id)?.state ?? "queued") || gates.get(gateIdOf(id))?.status === "approved";
  requireOthers(run, editor, plan?.steps.filter(({ step_id }) => !isDecided(step_id)) ?? []);
  if (!gate.separation || gate.approvers === null) return {};
  const seats = seatsOf(gate, [...requesters, editor], run.settings.same)?.length ?? null;
  return { quorum: completeQuorum(stepOf(run, gate.step_id).step.gate ?? {}, seats) };
}

/** Requires enough other deciders at the gates of these steps. @throws KernelErrorException T5_GATE_CONFLICT. */
export function requireOthers({ log, settings }: Run, asker: PrincipalRef, steps: readonly PlanStep[]): void {
  const requesters = [...log.record.requesters, asker];
  for (const { step_id, gate } of steps) {
    if (gate?.separation !== true) continue;
    const why = whyUnsatisfiable(gate, seatsOf(gate, requesters, settings.same)?.length ?? null);
    const message = `${gateIdOf(step_id)}: who edits or asks again leaves the approval to others, and ${why}`;
    if (why !== null) refuseAt(gateIdOf(step_id), message, { fn: "separate_duties" });
  }
}

/**
 * The gate that asks people for the end of a call of which nobody knows it.
 *
 * 1.  The end of a gated call may be settled by the people who were asked before it, or by the roles that its operator
 *     names, and by nobody else.
 */
import { digest } from "../../../../contract/digest.ts";
import { plainGate } from "../../../../contract/events.ts";
import { doubtGateIdOf, type Gate, gateIdOf } from "../../../../contract/gate.ts";
import type { Json } from "../../../../contract/json.ts";
import type { PlanStep } from "../../../../contract/plan.ts";
import { isSpent } from "../../../../contract/spent-call.ts";
import { isCancelled } from "../../../../contract/workflow.ts";
import { findKnownOperator } from "../payload/prepare-step.ts";
import { type Run, stepOf } from "../run/run.ts";
import { baseGate } from "./open-gate.ts";

/**
 * Returns the people who may settle a call in doubt: those who were asked before the call, or the roles that its
 * operator names. One of them is enough; a signature is needed if the gate needed one.
 */
function whoMayKnow(run: Run, step: PlanStep) {
  const asked: Partial<Gate> = run.log.record.gates.get(gateIdOf(step.step_id)) ?? {};
  const { advisors, separation, delegation, signed, requester, principal_types } = { ...plainGate, ...asked };
  const kept = {
    ...{ separation, delegation, signed, requester: separation ? requester : null },
    ...(principal_types === undefined ? {} : { principal_types }),
  };
  const named = findKnownOperator(run, step)?.doubt?.roles;
  if (named !== undefined)
    return { ...kept, roles: [...named], approvers: null, advisors: advisors.filter((role) => !named.includes(role)) };
  const { approvers, added_roles = [] } = { ...plainGate, ...asked };
  const groups = asked.stages?.map((stage) => stage.roles) ?? [asked.roles ?? null];
  const roles = groups.includes(null) ? null : [...new Set(groups.flatMap((group) => group ?? []))];
  return { ...kept, roles, approvers, advisors, ...(added_roles.length === 0 ? {} : { added_roles }) };
}

/** Builds the gate that asks a person for the end of a lost call. */
export function describeDoubtGate(run: Run, step: PlanStep, payload: Json): Gate {
  const { operator } = step;
  const { doubts, action_id, attempts } = stepOf(run, step.step_id);
  const { timing } = run.log.record.actions.get(action_id ?? "")?.record ?? {};
  // An attempt that was lost with its process has no error.
  const { error = null } = attempts.at(-1) ?? {};
  const isAnswered = isSpent(error);
  const began = timing?.started_at ?? "a time that is not on record";
  const ended = isAnswered
    ? `has ended: it has taken effect, and its result was refused (${error?.message})`
    : `nobody knows how that ended; it may or may not have taken effect${error === null ? "" : ` (${error.message})`}`;
  const reason = `${operator} was called at ${began}, and ${ended}`;
  const asked = run.log.record.gates.get(gateIdOf(step.step_id));
  const facts = asked?.payload_digest === digest(payload) ? asked.facts : undefined;
  const again = step.applies === null && !isAnswered ? "A new plan or a retry" : "A retry";
  return {
    ...baseGate(run, step, payload),
    ...whoMayKnow(run, step),
    gate_id: doubtGateIdOf(step.step_id, doubts),
    kind: "in_doubt",
    title: `What became of ${step.name}?`,
    reasons: [{ source: "recovery", rule: "in-doubt", reason }],
    target: null,
    preview: JSON.stringify(payload, null, 2),
    diff: null,
    ...(facts !== undefined && { facts }),
    risk_level: "high",
    effect: findKnownOperator(run, step)?.metadata.effect ?? "none",
    consequences: {
      approve: isCancelled(run.log.record.state)
        ? "If it happened, the call counts as done; the workflow was cancelled, and ends so once this is answered."
        : [
            "If it happened, the step counts as done with the result that is given, or null, and",
            `${operator} is not called again. If it did not happen, it can be called again under the same key.`,
          ].join(" "),
      reject: [
        "The call and its step count as failed, which undoes nothing.",
        `${again} may call ${operator} again, under the same key.`,
      ].join(" "),
      edit: "An in-doubt call cannot be edited.",
    },
    ui_actions: [],
  };
}

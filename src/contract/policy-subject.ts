/**
 * The subjects that policy judges at each stage, made in one place, so that a decision and its later re-evaluation use
 * the same values.
 */
import { depthOf, type ParentLink, rootOf } from "./child.ts";
import type { Gate } from "./gate.ts";
import type { PrincipalRef } from "./gate-vote.ts";
import type { Json } from "./json.ts";
import type { PlanStep } from "./plan.ts";
import type { PolicySubject, SubjectApproval } from "./policy.ts";
import { withTemplates } from "./step-group.ts";

/** Returns a subject with the parent of the work, if the work is that of a child. */
export const withParent = (subject: PolicySubject, parent: ParentLink | null): PolicySubject =>
  parent === null
    ? subject
    : {
        ...subject,
        parent: {
          workflow_id: parent.workflow_id,
          step_id: parent.step_id,
          root_workflow_id: rootOf(parent.workflow_id, parent),
          depth: depthOf(parent),
        },
      };

/** The part of a planned step that a policy on the plan sees. */
export type PlannedStep = Pick<
  PlanStep,
  "step_id" | "operator" | "policy_tags" | "risk_level" | "kind" | "params" | "each" | "repeat"
>;

/** Returns the capability that a step runs as a child; nothing for any other step. */
const childOf = ({ kind, params }: Pick<PlannedStep, "kind" | "params">): { readonly runs?: Json } =>
  kind === "run" ? { runs: params["intent"] as Json } : {};

export const planSubject = (planId: string, steps: readonly PlannedStep[]): PolicySubject => ({
  name: planId,
  tags: [...new Set(withTemplates(steps).flatMap((step) => step.policy_tags))],
  payload: {
    steps: withTemplates(steps).map((step) => {
      const { step_id, operator, policy_tags, risk_level } = step;
      return { step_id, operator, policy_tags, risk_level, ...childOf(step) };
    }),
  },
});

/**
 * Returns the approvals that stand at a gate on the payload with this digest: the counted votes, and the decision of a
 * gate that one person decides.
 */
export function approvalsOn(gate: Gate | undefined, hash: string): readonly SubjectApproval[] {
  if (gate === undefined || gate.payload_digest !== hash) return [];
  const votes = gate.votes.flatMap(({ decision, advisory, principal, role, on_behalf_of, at }) =>
    decision === "approve" && !advisory ? [{ principal, role, on_behalf_of, at }] : [],
  );
  const { decision } = gate;
  if (decision?.decision !== "approve" || decision.principal === null || votes.length > 0) return votes;
  const { type, id, role } = decision.principal;
  return [{ principal: { type, id }, role, on_behalf_of: null, at: decision.at }];
}

const withApprovals = (approvals: readonly SubjectApproval[]): Pick<PolicySubject, "approvals"> =>
  approvals.length === 0 ? {} : { approvals };

export const actionSubject = (
  step: PlanStep,
  effect: string,
  payload: Json,
  approvals: readonly SubjectApproval[],
): PolicySubject => ({
  name: step.name,
  operator: step.operator,
  effect,
  tags: step.policy_tags,
  risk_level: step.risk_level,
  payload,
  applies: step.applies,
  ...withApprovals(approvals),
});

export const outcomeSubject = (step: PlanStep, type: string, content: Json): PolicySubject => ({
  name: type,
  operator: step.operator,
  tags: step.policy_tags,
  risk_level: step.risk_level,
  payload: content,
  applies: step.applies,
});

/** A command at a gate: to decide it, or to lend a seat at it. */
export interface GateCommand {
  readonly decision: "approve" | "reject" | "delegate";
  readonly principal: PrincipalRef;
  /** The principal who receives a delegated seat. */
  readonly to?: PrincipalRef | undefined;
}

/**
 * Returns the subject of a decision at a gate. Its tags name the decision and the person who decides; its approvals are
 * those that stand before the decision.
 */
export const gateSubject = (gate: Gate, { decision, principal, to }: GateCommand): PolicySubject => ({
  name: gate.gate_id,
  operator: gate.operator,
  effect: gate.effect,
  tags: [decision, ...(to === undefined ? [] : [`to:${to.id}`]), `principal:${principal.id}`],
  risk_level: gate.risk_level,
  payload: gate.payload,
  ...withApprovals(approvalsOn(gate, gate.payload_digest)),
});

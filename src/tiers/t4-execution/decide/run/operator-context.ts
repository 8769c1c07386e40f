/**
 * The context of an operator's call: ids, authority and the context bundle; never a store, a ledger or a raw credential
 * (ATH-05, CTX-07).
 */
import { type AuthContext, hasScope } from "../../../../contract/auth-context.ts";
import { gateIdOf } from "../../../../contract/gate.ts";
import type { Operator, OperatorContext } from "../../../../contract/operator.ts";
import type { PlanStep } from "../../../../contract/plan.ts";
import { appliedBy, approvedGate, type Run } from "./run.ts";

export function operatorContext(
  run: Pick<Run, "log" | "settings">,
  step: PlanStep,
  operator: Operator,
): OperatorContext {
  const { record } = run.log;
  const retrieval = run.settings.registry.retrievalFor(operator);
  const target = appliedBy(record, step, approvedGate(run, step.step_id));
  const gate = record.gates.get(gateIdOf(step.step_id));
  const context: { -readonly [K in keyof OperatorContext]: OperatorContext[K] } = {
    workflow_id: record.workflow_id,
    step_id: step.step_id,
    tenant_id: record.tenant_id,
    correlation_id: record.correlation_id,
    auth: record.auth,
    bundle: record.bundle,
  };
  if (record.feedback !== null) context.feedback = record.feedback;
  if (retrieval !== undefined) context.retrieval = retrieval;
  if (usesCredential(step, operator) && hasScope(record.auth.scopes, "credential:use"))
    context.credential = { handle: handleOf(record.auth), scopes: ["credential:use"] };
  if (gate !== undefined) context.basis = gate.basis ?? [];
  if (target !== null) {
    const { outcome_id, version } = target;
    context.target = { outcome_id, version, apply_targets: gate?.decision?.apply_targets ?? [] };
  }
  return Object.freeze(context);
}

/**
 * Returns the handle of a credential, which names its owner as JSON: no two tenants, and no user and service with one
 * id, share a handle.
 */
const handleOf = ({ tenant_id, principal_type, principal_id }: AuthContext): string =>
  `credential:${JSON.stringify([tenant_id, principal_type, principal_id])}`;

const usesCredential = (step: PlanStep, operator: Operator): boolean =>
  operator.metadata.effect === "credential_use" || step.policy_tags.includes("credential_use");

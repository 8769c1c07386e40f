/**
 * T5, ego: decides authority, affordability and the right to decide.
 *
 * Owns: authority, policy, the request budget, the judgement of gate decisions, and the middle hop of escalation.
 * Never: performs, plans, or appends to a ledger.
 */
import type { Same } from "../../../machines/quorum.ts";
import { type AuthContext, commandScopes, mayUse } from "../../contract/auth-context.ts";
import { checkBudget } from "../../contract/budget.ts";
import { isKernelError, raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { FederationOptions } from "../../contract/federation.ts";
import type { Intake } from "../../contract/intake.ts";
import { follow } from "../../contract/maybe-promise.ts";
import {
  type AdmissionAnswer,
  type CallQuestion,
  type PlanningBudgetQuestion,
  type StepAnswer,
  type StepQuestion,
  t5,
  type WorkflowRequest,
} from "../../contract/messages/t5.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { PlanStep } from "../../contract/plan.ts";
import type { PolicyQuestion } from "../../contract/policy.ts";
import { actionSubject, withParent } from "../../contract/policy-subject.ts";
import { metricsOf, ok, type Result } from "../../contract/result.ts";
import type { Signal } from "../../contract/signal.ts";
import { escalateFrom } from "../../engine/actors/answer.ts";
import { answerMessages, type Visit } from "../../engine/actors/answer-messages.ts";
import type { TierDefinition } from "../../engine/actors/define-tier.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import type { Authenticator } from "../../ports/authenticator.ts";
import { admitCall, checkWork, isUnlimited } from "./admission/admit-call.ts";
import type { BudgetLimiter } from "./admission/budget-limiter.ts";
import type { CapabilityRegistry } from "./admission/capability-registry.ts";
import { authorize, requireScope } from "./authorize.ts";
import type { Signatures } from "./check-signature.ts";
import { findGrant, type Grants } from "./find-grant.ts";
import type { StandIns } from "./find-stand-ins.ts";
import { judgeChanges } from "./judge-changes.ts";
import { judgeCall, judgeDecision, judgeDelegation } from "./judge-gate.ts";
import { evaluatePolicies } from "./policy/evaluate-policies.ts";
import type { PolicyEngine } from "./policy/evaluate-round.ts";

export interface EgoTierOptions {
  readonly authenticator: Authenticator;
  readonly engine: PolicyEngine;
  readonly maxCost: number | null;
  readonly federation: FederationOptions;
  readonly signatures: Signatures;
  readonly capabilityRegistry: CapabilityRegistry;
  readonly limiter: BudgetLimiter;
  readonly same: Same;
  readonly grants: Omit<Grants, "same">;
  readonly standIns: StandIns;
}

const refs = {
  identity: moduleRef(5, "identity", "authorize"),
  ego: moduleRef(5, "ego", "admit"),
  policy: moduleRef(5, "policy", "evaluate"),
  budget: moduleRef(5, "budget", "check_budget"),
  admission: moduleRef(5, "admission", "admit"),
  lifecycle: moduleRef(5, "lifecycle", "command"),
} as const;

export function createEgoTier(options: EgoTierOptions): TierDefinition {
  const { authenticator, federation, engine, limiter, signatures, same, grants, standIns } = options;
  const judge = { engine, signatures, same, standIns };
  const commanding =
    (needs: string, action: Command["action"], about: Command["about"] = null) =>
    (wish: WorkflowRequest, visit: Visit): Result | Promise<Result> =>
      commandFor(wish, visit, { authenticator, needs, action, about });
  const doors = answerMessages(t5, {
    authorize: (question, { runtime }) => authorize(authenticator, question, runtime),
    judgeChanges: (question, { runtime }) => judgeChanges(question, runtime, { authenticator, federation }),
    activate: ({ intake }, { signal }) => admitActivation(intake, signal),
    decideGate: commanding("gate:approve", "activate", "decision"),
    withdrawVote: commanding("gate:approve", "activate", "withdrawal"),
    delegateGate: commanding("gate:approve", "activate", "delegation"),
    noteGate: commanding(commandScopes.note, "activate", "note"),
    retry: commanding(commandScopes.retry, "retry"),
    cancel: commanding(commandScopes.cancel, "abort"),
    rollback: commanding(commandScopes.cancel, "rollback"),
    pause: commanding(commandScopes.pause, "pause"),
    resume: commanding(commandScopes.pause, "resume"),
    addInput: commanding(commandScopes.retry, "add_input"),
    checkPlanningBudget: (question, { runtime }) => checkPlanning(question, runtime, options),
    admitStep: (question) => admitStep(question, options),
    admitCall: (question) => answerCall(question, options),
    releaseHold({ hold }) {
      limiter.release(hold);
      return ok([], metricsOf(refs.admission));
    },
    evaluatePolicy: (question) => evaluatePolicies(engine, question),
    judgeCall: (question) => judgeCall(question, engine),
    judgeDecision: (question, { runtime }) => judgeDecision(question, runtime, judge),
    judgeDelegation: (question) => judgeDelegation(question, judge),
    findGrant: (question) => findGrant(question, { ...grants, same }),
    escalate: escalateFrom(refs.ego),
  });
  return { tier: 5, name: "ego", doors };
}

/** Passes the activation on as the same object if the identity matches and the capability is allowed. */
function admitActivation(intake: Pick<Intake, "auth" | "intent"> | undefined, signal: Signal): Result {
  if (intake === undefined) return ok([signal], metricsOf(refs.ego));
  const { auth, intent } = intake;
  requireScope(auth, "workflow:execute");
  if (!mayUse(auth, "capability", intent.type)) {
    const message = `role ${auth.role} may not run ${intent.type}`;
    raise(kernelError("T5_AUTHZ_FORBIDDEN", message, refs.identity, { detail: { capability: intent.type } }));
  }
  return ok([signal], metricsOf(refs.ego));
}

interface Command {
  readonly authenticator: Authenticator;
  readonly needs: string;
  readonly action: "activate" | "retry" | "abort" | "rollback" | "pause" | "resume" | "add_input";
  /** The field of the COMMAND that carries the request onward. */
  readonly about: "decision" | "withdrawal" | "delegation" | "note" | null;
}

/** Turns a caller's request about a workflow into a COMMAND once authority is established. */
function commandFor(wish: WorkflowRequest, visit: Visit, command: Command): Result | Promise<Result> {
  const { authenticator, needs } = command;
  const { principal, tenant_id } = wish.request;
  const question = { principal, tenant_id, intent_hint: null, scope: null, needs };
  return follow(authorize(authenticator, question, visit.runtime), (auth) => handOn(wish, visit, { ...command, auth }));
}

function handOn(
  { workflow_id, request }: WorkflowRequest,
  { signal, runtime }: Visit,
  { action, about, auth }: Command & { readonly auth: AuthContext },
): Result {
  const payload = about === null ? { ...request, workflow_id, auth } : { workflow_id, [about]: request, auth };
  const target = moduleRef(4, "ooda_loop", action === "activate" ? "act" : action);
  const options = { parentId: signal.id };
  const command = runtime.signals.createCommandSignal(
    action,
    target,
    refs.lifecycle,
    signal.trace_id,
    payload,
    options,
  );
  return ok([command], metricsOf(refs.lifecycle));
}

/** Checks the request's budget and the package's own ceilings before planning. */
function checkPlanning(
  { spent, work }: PlanningBudgetQuestion,
  { telemetry }: Runtime,
  { maxCost, capabilityRegistry }: EgoTierOptions,
): { readonly left: number | null } {
  telemetry.mark?.("policy.check_budget", { spent });
  const refusal = checkBudget(spent, maxCost) ?? checkWork(capabilityRegistry, work);
  if (refusal !== null) raise(refusal);
  return { left: maxCost === null ? null : maxCost - spent };
}

/** Answers one question per step: authority over the effect, the budget, and policy at stage action. */
function admitStep(
  question: StepQuestion,
  { engine, maxCost, capabilityRegistry }: EgoTierOptions,
): StepAnswer | Promise<StepAnswer> {
  const { step, metadata, auth, spent, work } = question;
  const refusal = checkBudget(spent, maxCost);
  if (refusal !== null) raise(refusal);
  requireUse(auth, "effect", metadata.effect, step);
  requireUse(auth, "operator", metadata.name, step);
  return follow(evaluatePolicies(engine, actionQuestion(question), question.redacted), (decision) => {
    const fits = checkWork(capabilityRegistry, work) === null;
    return { decision, fits, unlimited: isUnlimited(capabilityRegistry, work), reservation: null };
  });
}

function requireUse(auth: AuthContext, kind: "effect" | "operator", name: string, { step_id }: PlanStep): void {
  if (mayUse(auth, kind, name)) return;
  raise(
    kernelError("T5_AUTHZ_FORBIDDEN", `role ${auth.role} may not use ${kind} ${name}`, refs.identity, {
      detail: { step_id, [kind]: name },
    }),
  );
}

/** Admits a call that is about to be made. Its reserved amounts are held until its start is in the ledger. */
function answerCall(
  question: CallQuestion,
  { capabilityRegistry, limiter }: EgoTierOptions,
): AdmissionAnswer | Promise<AdmissionAnswer> {
  return follow(admitCall({ capabilityRegistry, limiter }, question), (reservation) => {
    if (isKernelError(reservation)) raise(reservation);
    return { unlimited: limiter.isEmpty && isUnlimited(capabilityRegistry, question), reservation };
  });
}

function actionQuestion(question: StepQuestion): PolicyQuestion {
  const { step, metadata, payload, auth, intent, bundle, now, parent, approvals, spent } = question;
  const subject = withParent(actionSubject(step, metadata.effect, payload, approvals), parent);
  return { stage: "action", subject, auth, intent, context: bundle, now, spent };
}

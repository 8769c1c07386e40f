/**
 * T5, ego: may we, can we afford it, who decides.
 *
 * Owns: authority, policy, the request budget, the judgement of gate decisions, and the middle hop of escalation.
 * Never: performs, plans, or appends to a ledger.
 */
import type { Same } from "../../../machines/quorum.ts";
import { type AuthContext, commandScopes, mayUse } from "../../contract/auth-context.ts";
import { checkBudget } from "../../contract/budget.ts";
import type { ContextBundle } from "../../contract/context-bundle.ts";
import { isKernelError, raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { FederationOptions } from "../../contract/federation.ts";
import type { Intake } from "../../contract/intake.ts";
import type { Intent, Principal } from "../../contract/intent.ts";
import type { Json } from "../../contract/json.ts";
import { follow } from "../../contract/maybe-promise.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { OperatorMetadata } from "../../contract/operator.ts";
import type { PlanStep } from "../../contract/plan.ts";
import type { PolicyDecision, PolicyQuestion } from "../../contract/policy.ts";
import { actionSubject } from "../../contract/policy-subject.ts";
import { metricsOf, ok, type Result } from "../../contract/result.ts";
import type { Signal } from "../../contract/signal.ts";
import { answerData, escalateFrom } from "../../engine/actors/answer.ts";
import type { Door, TierDefinition } from "../../engine/actors/define-tier.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import type { Authenticator } from "../../ports/authenticator.ts";
import { admitCall, type CallQuestion, checkWork, isUnlimited, type WorkQuestion } from "./admission/admit-call.ts";
import type { BudgetLimiter } from "./admission/budget-limiter.ts";
import type { CapabilityRegistry } from "./admission/capability-registry.ts";
import { type AuthorizeQuestion, authorize, requireScope } from "./authorize.ts";
import type { Signatures } from "./check-signature.ts";
import { judgeChanges } from "./judge-changes.ts";
import { judgeDecision, judgeDelegation } from "./judge-gate.ts";
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
  return { tier: 5, name: "ego", doors: { ...authorityDoors(options), ...judgementDoors(options) } };
}

/** Who may: callers, activations, and what callers want of a workflow. */
function authorityDoors({ authenticator, federation }: EgoTierOptions): Readonly<Record<string, Door>> {
  const whoMay = (signal: Signal, runtime: Runtime): AuthContext | Promise<AuthContext> =>
    authorize(authenticator, signal.body["data"] as AuthorizeQuestion, runtime);
  const commanding =
    (needs: string, action: Command["action"], about: Command["about"] = null): Door["handle"] =>
    (signal, runtime) =>
      commandFor(signal, runtime, { authenticator, needs, action, about });
  const atGate = (fn: string, about: Command["about"]): Door => ({
    module: "lifecycle",
    function: fn,
    next: 4,
    handle: commanding("gate:approve", "activate", about),
  });
  return {
    "data:Authorize": {
      module: "identity",
      function: "authorize",
      handle: (signal, runtime) =>
        follow(whoMay(signal, runtime), (data) =>
          answerData(runtime, signal, { data, schema: "AuthContext", ref: refs.identity }),
        ),
    },
    "data:MemorySync": {
      module: "identity",
      function: "judge_changes",
      next: 2,
      handle: (signal, runtime) => judgeChanges(signal, runtime, { authenticator, federation }),
    },
    "command:activate": { module: "ego", function: "admit", next: 4, handle: admitActivation },
    "data:GateRequest": atGate("decide", "decision"),
    "data:WithdrawalRequest": atGate("withdraw", "withdrawal"),
    "data:DelegationRequest": atGate("delegate", "delegation"),
    "data:RetryRequest": {
      module: "lifecycle",
      function: "retry",
      next: 7,
      handle: commanding(commandScopes.retry, "retry"),
    },
    "data:CancelRequest": {
      module: "lifecycle",
      function: "cancel",
      next: 7,
      handle: commanding(commandScopes.cancel, "abort"),
    },
  };
}

/** What may happen: budget, policy, gates; and the middle hop of an error that nobody handled. */
function judgementDoors(options: EgoTierOptions): Readonly<Record<string, Door>> {
  const { engine, signatures, same } = options;
  return {
    "data:BudgetCheck": {
      module: "budget",
      function: "check_budget",
      handle: (signal, runtime) => checkPlanning(signal, runtime, options),
    },
    "data:StepQuestion": {
      module: "policy",
      function: "evaluate",
      handle: (signal, runtime) => admitStep(signal, runtime, options),
    },
    "data:CallQuestion": {
      module: "admission",
      function: "admit",
      handle: (signal, runtime) => answerCall(signal, runtime, options),
    },
    "data:HoldRelease": {
      module: "admission",
      function: "release",
      handle: (signal) => releaseHold(signal, options),
    },
    "data:PolicyQuestion": {
      module: "policy",
      function: "evaluate",
      handle: (signal, runtime) =>
        answerPolicy(signal, runtime, evaluatePolicies(engine, signal.body["data"] as PolicyQuestion)),
    },
    "data:GateJudgement": {
      module: "ego",
      function: "judge_gate",
      handle: (signal, runtime) => judgeDecision(signal, runtime, { engine, signatures, same }),
    },
    "data:DelegationJudgement": {
      module: "ego",
      function: "judge_gate",
      handle: (signal, runtime) => judgeDelegation(signal, runtime, { engine, signatures, same }),
    },
    "data:KernelError": { module: "ego", function: "escalate", next: 6, handle: escalateFrom(refs.ego) },
  };
}

/** The activation passes on as the same object: identity holds, and the capability is theirs (C-20). */
function admitActivation(signal: Signal): Result {
  const intake = signal.body["intake"] as Pick<Intake, "auth" | "intent"> | undefined;
  if (intake !== undefined) {
    requireScope(intake.auth, "workflow:execute");
    if (!mayUse(intake.auth, "capability", intake.intent.type)) {
      raise(
        kernelError("T5_AUTHZ_FORBIDDEN", `role ${intake.auth.role} may not run ${intake.intent.type}`, refs.identity, {
          detail: { capability: intake.intent.type },
        }),
      );
    }
  }
  return ok([signal], metricsOf(refs.ego));
}

interface Command {
  readonly authenticator: Authenticator;
  readonly needs: string;
  readonly action: "activate" | "retry" | "abort";
  /** What an activation is for: the field of the COMMAND in which the request goes on. */
  readonly about: "decision" | "withdrawal" | "delegation" | null;
}

/** A caller's wish about a workflow becomes a COMMAND once authority is clear. */
function commandFor(signal: Signal, runtime: Runtime, command: Command): Result | Promise<Result> {
  const { authenticator, needs } = command;
  const { principal, tenant_id } = (signal.body["data"] as Wish).request;
  const question = { principal, tenant_id, intent_hint: null, scope: null, needs };
  return follow(authorize(authenticator, question, runtime), (auth) => handOn(signal, runtime, { ...command, auth }));
}

interface Wish {
  readonly workflow_id: string;
  readonly request: { tenant_id: string | number; principal: Principal } & Record<string, unknown>;
}

function handOn(
  signal: Signal,
  runtime: Runtime,
  { action, about, auth }: Command & { readonly auth: AuthContext },
): Result {
  const { workflow_id, request } = signal.body["data"] as Wish;
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

/** Before planning: the request's budget, and the package's own ceilings. */
function checkPlanning(signal: Signal, runtime: Runtime, { maxCost, capabilityRegistry }: EgoTierOptions): Result {
  const { spent, work } = signal.body["data"] as { readonly spent: number; readonly work: WorkQuestion };
  runtime.telemetry.mark?.("policy.check_budget", { spent });
  const refusal = checkBudget(spent, maxCost) ?? checkWork(capabilityRegistry, work);
  if (refusal !== null) raise(refusal);
  return answerData(runtime, signal, {
    data: { left: maxCost === null ? null : maxCost - spent },
    schema: "BudgetLeft",
    ref: refs.budget,
  });
}

interface StepQuestion {
  readonly step: PlanStep;
  readonly metadata: OperatorMetadata;
  readonly payload: Json;
  /** The redactions of the step's standing decision: the payload may be what that one has made. */
  readonly redacted: readonly string[];
  readonly auth: AuthContext;
  readonly intent: Intent;
  readonly bundle: ContextBundle | null;
  readonly spent: number;
  readonly work: WorkQuestion;
  readonly now: string;
}

/** One question per step: authority over the effect, the budget, and policy at stage action (C-47). */
function admitStep(
  signal: Signal,
  runtime: Runtime,
  { engine, maxCost, capabilityRegistry }: EgoTierOptions,
): Result | Promise<Result> {
  const question = signal.body["data"] as StepQuestion;
  const { step, metadata, auth, spent, work } = question;
  const refusal = checkBudget(spent, maxCost);
  if (refusal !== null) raise(refusal);
  requireUse(auth, "effect", metadata.effect, step);
  requireUse(auth, "operator", metadata.name, step);
  return follow(evaluatePolicies(engine, actionQuestion(question), question.redacted), (decision) => {
    const fits = checkWork(capabilityRegistry, work) === null;
    const data = { decision, fits, unlimited: isUnlimited(capabilityRegistry, work), reservation: null };
    return answerData(runtime, signal, { data, schema: "StepAnswer", ref: refs.policy });
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

/** The admission of a call that is about to be made; what it reserves is set aside until its start is in the ledger. */
function answerCall(
  signal: Signal,
  runtime: Runtime,
  { capabilityRegistry, limiter }: EgoTierOptions,
): Result | Promise<Result> {
  const asked = signal.body["data"] as CallQuestion;
  return follow(admitCall({ capabilityRegistry, limiter }, asked), (reservation) => {
    if (isKernelError(reservation)) raise(reservation);
    const unlimited = limiter.isEmpty && isUnlimited(capabilityRegistry, asked);
    return answerData(runtime, signal, {
      data: { unlimited, reservation },
      schema: "CallAdmission",
      ref: refs.admission,
    });
  });
}

function releaseHold(signal: Signal, { limiter }: EgoTierOptions): Result {
  limiter.release((signal.body["data"] as { readonly hold: string }).hold);
  return ok([], metricsOf(refs.admission));
}

function actionQuestion({ step, metadata, payload, auth, intent, bundle, now }: StepQuestion): PolicyQuestion {
  const subject = actionSubject(step, metadata.effect, payload);
  return { stage: "action", subject, auth, intent, context: bundle, now };
}

function answerPolicy(
  signal: Signal,
  runtime: Runtime,
  decided: PolicyDecision | Promise<PolicyDecision>,
): Result | Promise<Result> {
  return follow(decided, (data) => answerData(runtime, signal, { data, schema: "PolicyDecision", ref: refs.policy }));
}

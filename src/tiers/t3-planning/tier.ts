/**
 * T3, planning: what will be done.
 *
 * Owns: asking the planner (a port) and compiling its answer. Never: runs a step, judges whether it may run.
 */
import type { Same } from "../../../machines/quorum.ts";
import type { AuthContext } from "../../contract/auth-context.ts";
import type { CapabilityDefinition, PlanningSituation } from "../../contract/capability.ts";
import type { ContextBundle } from "../../contract/context-bundle.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { PrincipalRef } from "../../contract/gate-vote.ts";
import type { Intent } from "../../contract/intent.ts";
import { follow } from "../../contract/maybe-promise.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { Money, maxMoney } from "../../contract/money.ts";
import type { Result } from "../../contract/result.ts";
import type { Signal } from "../../contract/signal.ts";
import { answerData } from "../../engine/actors/answer.ts";
import type { TierDefinition } from "../../engine/actors/define-tier.ts";
import type { Registry } from "../../engine/actors/registry.ts";
import { consume, type Runtime } from "../../engine/actors/runtime.ts";
import { callWithin } from "../../engine/actors/within.ts";
import type { Planner, PlannerAnswer } from "../../ports/planner.ts";
import { type CompileRequest, compilePlan } from "./compile-plan.ts";

export interface PlanningTierOptions {
  readonly registry: Registry;
  readonly planner: Planner;
  /** Whether the host plans itself, and a plan that is too long is cut. */
  readonly cuts: boolean;
  readonly rename: CompileRequest["rename"];
  /** Whether approvers can sign here. */
  readonly takesSignatures: boolean;
  readonly same: Same;
}

interface PlanRequest {
  readonly intent: Intent;
  readonly auth: AuthContext;
  readonly bundle: ContextBundle;
  readonly workflow_id: string;
  readonly plan_id: string;
  readonly parent_plan_id: string | null;
  readonly used_step_ids: readonly string[];
  readonly regenerate: CompileRequest["regenerate"];
  readonly situation: PlanningSituation;
  readonly requesters?: readonly PrincipalRef[];
}

const planRef = moduleRef(3, "planner", "plan");

export function createPlanningTier(options: PlanningTierOptions): TierDefinition {
  return {
    tier: 3,
    name: "planning",
    doors: {
      "data:PlanRequest": {
        module: "planner",
        function: "plan",
        handle: (signal, runtime) => plan(options, signal, runtime),
      },
    },
  };
}

function plan(options: PlanningTierOptions, signal: Signal, runtime: Runtime): Result | Promise<Result> {
  const { registry, planner } = options;
  const { intent, auth, bundle, situation } = signal.body["data"] as PlanRequest;
  const capability = registry.getCapability(intent.type, intent.version);
  const within = {
    clock: runtime.clock,
    timeoutMs: runtime.limits.plannerTimeoutMs,
    source: planRef,
    onTimeout: "T3_PLANNER_TIMEOUT",
    onThrow: "T3_PLANNER_FAILED",
    what: "the planner",
  } as const;
  const answer = callWithin(() => planner.plan({ intent, context: bundle, auth, capability, situation }), within);
  return follow(answer, (proposed) => compileAnswer(proposed, options, { signal, runtime, capability }));
}

interface Asked {
  readonly signal: Signal;
  readonly runtime: Runtime;
  readonly capability: CapabilityDefinition;
}

function compileAnswer(
  proposed: PlannerAnswer,
  { registry, cuts, rename, takesSignatures, same }: PlanningTierOptions,
  { signal, runtime, capability }: Asked,
): Result | Promise<Result> {
  const request = signal.body["data"] as PlanRequest;
  const { intent, situation, plan_id, parent_plan_id, workflow_id } = request;
  const cost = requirePlannerCost(proposed?.usage?.total_cost);
  const compiled = compilePlan({
    proposal: proposed?.plan,
    capability,
    registry,
    maxSteps: runtime.limits.maxSteps,
    cuts,
    rename,
    completed: situation.completed.map((s) => s.step_id),
    used: request.used_step_ids,
    regenerate: request.regenerate,
    requesters: request.requesters ?? [intent.actor],
    same,
    takesSignatures,
    identity: { plan_id, parent_plan_id, workflow_id, intent_id: intent.intent_id, round: situation.round },
  });
  if ("cyclic" in compiled) return nameCycle(signal, runtime, compiled.cyclic);
  return answerData(runtime, signal, { data: { ...compiled, cost }, schema: "Plan", ref: planRef });
}

function requirePlannerCost(cost: number | undefined): number {
  const { success, data } = Money.safeParse(cost);
  if (success) return data;
  const message = `the planner states no usage.total_cost of at least 0 and at most ${maxMoney}`;
  return raise(kernelError("T3_PLAN_INVALID", message, planRef));
}

/** T2 says which steps wait for one another in a circle. */
async function nameCycle(signal: Signal, runtime: Runtime, goals: readonly object[]): Promise<Result> {
  const result = await runtime.ask(
    2,
    runtime.signals.createDataSignal({ goals }, "GoalCheck", planRef, signal.trace_id, null, { parentId: signal.id }),
  );
  consume(result, () => undefined);
  return raise(kernelError("T3_DAG_COMPILE_UNRESOLVED_DEPS", "the steps cannot be ordered", planRef));
}

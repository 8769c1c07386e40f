/**
 * T3, planning: decides the steps of the work.
 *
 * Owns: asking the planner (a port) and compiling its answer. Never: runs a step, judges whether it may run.
 */
import type { Same } from "../../../machines/quorum.ts";
import type { CapabilityDefinition } from "../../contract/capability.ts";
import type { ContextBundle } from "../../contract/context-bundle.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { follow } from "../../contract/maybe-promise.ts";
import { type GoalCheck, t2 } from "../../contract/messages/t2.ts";
import { type PlanAnswer, type PlanQuestion, t3 } from "../../contract/messages/t3.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { Money, maxMoney } from "../../contract/money.ts";
import { answerMessages, type Visit } from "../../engine/actors/answer-messages.ts";
import { sendQuestion } from "../../engine/actors/ask-tier.ts";
import type { TierDefinition } from "../../engine/actors/define-tier.ts";
import type { Registry } from "../../engine/actors/registry.ts";
import { consume } from "../../engine/actors/runtime.ts";
import { callWithin } from "../../engine/actors/within.ts";
import type { Planner, PlannerAnswer } from "../../ports/planner.ts";
import { type CompileRequest, compilePlan } from "./compile-plan.ts";

export interface PlanningTierOptions {
  readonly registry: Registry;
  readonly planner: Planner;
  /** Whether the host plans itself, so that a plan that is too long is cut. */
  readonly cuts: boolean;
  readonly rename: CompileRequest["rename"];
  /** Whether approvers can sign here. */
  readonly takesSignatures: boolean;
  readonly same: Same;
}

const planRef = moduleRef(3, "planner", "plan");

export function createPlanningTier(options: PlanningTierOptions): TierDefinition {
  return {
    tier: 3,
    name: "planning",
    doors: answerMessages(t3, { plan: (question, visit) => plan(options, question, visit) }),
  };
}

function plan(options: PlanningTierOptions, question: PlanQuestion, visit: Visit): PlanAnswer | Promise<PlanAnswer> {
  const { registry, planner } = options;
  const { intent, auth, bundle, situation } = question;
  const capability = registry.getCapability(intent.type, intent.version);
  const { clock, limits } = visit.runtime;
  const within = {
    clock,
    timeoutMs: limits.plannerTimeoutMs,
    source: planRef,
    onTimeout: "T3_PLANNER_TIMEOUT",
    onThrow: "T3_PLANNER_FAILED",
    what: "the planner",
  } as const;
  const context = bundle as ContextBundle;
  const answer = callWithin(() => planner.plan({ intent, context, auth, capability, situation }), within);
  return follow(answer, (proposed) => compileAnswer(proposed, options, { question, visit, capability }));
}

interface PlanningCall {
  readonly question: PlanQuestion;
  readonly visit: Visit;
  readonly capability: CapabilityDefinition;
}

function compileAnswer(
  proposed: PlannerAnswer,
  { registry, cuts, rename, takesSignatures, same }: PlanningTierOptions,
  { question, visit, capability }: PlanningCall,
): PlanAnswer | Promise<PlanAnswer> {
  const { intent, situation, plan_id, parent_plan_id, workflow_id } = question;
  const cost = requirePlannerCost(proposed?.usage?.total_cost);
  const compiled = compilePlan({
    proposal: proposed?.plan,
    capability,
    registry,
    maxSteps: capability.limits.maxSteps ?? visit.runtime.limits.maxSteps,
    concurrency: visit.runtime.limits.maxConcurrentSteps,
    cuts,
    rename,
    completed: situation.completed.map((s) => s.step_id),
    used: question.used_step_ids,
    regenerate: question.regenerate,
    requesters: question.requesters,
    same,
    takesSignatures,
    identity: { plan_id, parent_plan_id, workflow_id, intent_id: intent.intent_id, round: situation.round },
  });
  return "cyclic" in compiled ? nameCycle(visit, compiled.cyclic) : { ...compiled, cost };
}

function requirePlannerCost(cost: number | undefined): number {
  const { success, data } = Money.safeParse(cost);
  if (success) return data;
  const message = `the planner states no usage.total_cost of at least 0 and at most ${maxMoney}`;
  return raise(kernelError("T3_PLAN_INVALID", message, planRef));
}

/** Has T2 name the steps that wait for one another in a circle. */
async function nameCycle({ signal, runtime }: Visit, goals: GoalCheck["goals"]): Promise<never> {
  const by = { source: planRef, traceId: signal.trace_id, parentId: signal.id };
  consume(await sendQuestion(runtime, t2.checkGoals, { goals }, by), () => undefined);
  return raise(kernelError("T3_DAG_COMPILE_UNRESOLVED_DEPS", "the steps cannot be ordered", planRef));
}

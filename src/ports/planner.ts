/**
 * The planner port: turns an intent in its context into a plan, and reports the cost of planning. A placeholder of the
 * plan that also occurs in the planner's input is text; a `ref` as a whole param, or in a `text`, is always a
 * reference.
 */
import type { AuthContext } from "../contract/auth-context.ts";
import type { CapabilityDefinition, PlanningSituation } from "../contract/capability.ts";
import type { ContextBundle } from "../contract/context-bundle.ts";
import type { Intent } from "../contract/intent.ts";
import type { ExecutionPlan } from "../contract/plan.ts";

/** A plan, and the cost of planning. */
export interface PlannerAnswer {
  readonly plan: ExecutionPlan;
  readonly usage: { readonly total_cost: number };
}

/** Makes plans; a proposal is checked before it runs. */
export interface Planner {
  /** Makes the plan of an intent, and reports the cost of planning. */
  readonly plan: (question: {
    readonly intent: Intent;
    readonly context: ContextBundle;
    readonly auth: AuthContext;
    readonly capability: CapabilityDefinition;
    readonly situation: PlanningSituation;
  }) => PlannerAnswer | Promise<PlannerAnswer>;
}

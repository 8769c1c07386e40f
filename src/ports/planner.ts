/**
 * The planner port: an intent in its context becomes a plan with what planning cost. A placeholder of the plan that
 * also stands in what the planner was given is text; a `ref` as a whole param, or in a `text`, is a
 * reference in any case.
 */
import type { AuthContext } from "../contract/auth-context.ts";
import type { CapabilityDefinition, PlanningSituation } from "../contract/capability.ts";
import type { ContextBundle } from "../contract/context-bundle.ts";
import type { Intent } from "../contract/intent.ts";
import type { ExecutionPlan } from "../contract/plan.ts";

/** A plan, and what planning cost. */
export interface PlannerAnswer {
  readonly plan: ExecutionPlan;
  readonly usage: { readonly total_cost: number };
}

/** Makes plans; what it proposes is checked before it runs. */
export interface Planner {
  /** Makes the plan of an intent, and says what planning cost. */
  readonly plan: (question: {
    readonly intent: Intent;
    readonly context: ContextBundle;
    readonly auth: AuthContext;
    readonly capability: CapabilityDefinition;
    readonly situation: PlanningSituation;
  }) => PlannerAnswer | Promise<PlannerAnswer>;
}

/** The default planner: a deterministic router to the capability's own template or plan function; it costs nothing. */

import { follow } from "../contract/maybe-promise.ts";
import type { ExecutionPlan } from "../contract/plan.ts";
import type { Planner, PlannerAnswer } from "../ports/planner.ts";
import { askForPlan } from "./describe-data.ts";

export const templatePlanner: Planner = Object.freeze({
  plan({ intent, context, auth, capability, situation }: Parameters<Planner["plan"]>[0]) {
    const { plan, intentType } = capability;
    if (typeof plan !== "function") return answer(plan, intentType);
    // The inputs were parsed when the request came in.
    const input = intent.inputs as never;
    const proposed = askForPlan(plan, { intent, input, context, auth, situation });
    return follow(proposed, (proposal) => answer(proposal, intentType));
  },
});

const answer = (plan: ExecutionPlan, intentType: string): PlannerAnswer => ({
  plan: named(plan, intentType),
  usage: { total_cost: 0 },
});

/** Adds a reasoning to a template that has none. */
const named = (plan: ExecutionPlan, intentType: string): ExecutionPlan =>
  plan?.reasoning === "" ? { ...plan, reasoning: `template of ${intentType}` } : plan;

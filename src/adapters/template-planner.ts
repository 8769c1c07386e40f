/** The default planner: a deterministic router to the capability's own template or plan function; it costs nothing. */
import type { ExecutionPlan } from "../contract/plan.ts";
import type { Planner, PlannerAnswer } from "../ports/planner.ts";
import { askForPlan } from "./tell-data.ts";

export const templatePlanner: Planner = Object.freeze({
  async plan({ intent, context, auth, capability, situation }: Parameters<Planner["plan"]>[0]): Promise<PlannerAnswer> {
    const { plan } = capability;
    const input = capability.input.parse(intent.inputs) as never;
    const question = { intent, input, context, auth, situation };
    const proposed = typeof plan === "function" ? await askForPlan(plan, question) : plan;
    return { plan: named(proposed, capability.intentType), usage: { total_cost: 0 } };
  },
});

/** A template that gives no reasoning of its own is named for what it is. */
const named = (plan: ExecutionPlan, intentType: string): ExecutionPlan =>
  plan?.reasoning === "" ? { ...plan, reasoning: `template of ${intentType}` } : plan;

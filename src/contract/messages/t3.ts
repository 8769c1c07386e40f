/** The messages that T3, planning, answers. */
import type { AuthContext } from "../auth-context.ts";
import type { PlanningSituation } from "../capability.ts";
import type { ContextBundle } from "../context-bundle.ts";
import type { PrincipalRef } from "../gate-vote.ts";
import type { Intent } from "../intent.ts";
import type { Plan } from "../plan.ts";
import { messagesOf } from "./message.ts";

const { data } = messagesOf(3);

export interface PlanQuestion {
  readonly intent: Intent;
  readonly auth: AuthContext;
  readonly bundle: ContextBundle | null;
  readonly objective: string;
  readonly workflow_id: string;
  readonly plan_id: string;
  readonly parent_plan_id: string | null;
  readonly used_step_ids: readonly string[];
  /** Steps that another workflow has made before: these get the draft version, and with it keys of their own. */
  readonly regenerate: { readonly steps: readonly string[]; readonly draft_version: number };
  readonly situation: PlanningSituation;
  readonly requesters: readonly PrincipalRef[];
}

export interface PlanAnswer {
  readonly plan: Plan;
  /** The steps that were cut. */
  readonly dropped: readonly string[];
  readonly cost: number;
}

export const t3 = {
  plan: data<PlanQuestion, PlanAnswer>("PlanRequest", "Plan", { module: "planner", function: "plan" }),
};

/** The messages that T3, planning, answers. */
import type { AuthContext } from "../auth-context.ts";
import type { PlanningSituation } from "../capability.ts";
import type { ContextBundle } from "../context-bundle.ts";
import type { PrincipalRef } from "../gate-vote.ts";
import type { Intent } from "../intent.ts";
import type { KeptDrafts } from "../kept-draft.ts";
import type { Plan } from "../plan.ts";
import { messagesOf } from "./message.ts";

const { data } = messagesOf(3);

/** The steps that other workflows have made before, and the versions that they get here. */
export interface RegeneratedSteps {
  /** The base ids of the steps that are made anew, with `draft_version`. */
  readonly steps: readonly string[];
  readonly draft_version: number;
  /** The versions of steps that are kept as they are; others have the first. */
  readonly kept: KeptDrafts | null;
}

export interface PlanQuestion {
  readonly intent: Intent;
  readonly auth: AuthContext;
  readonly bundle: ContextBundle | null;
  readonly objective: string;
  readonly workflow_id: string;
  readonly plan_id: string;
  readonly parent_plan_id: string | null;
  readonly used_step_ids: readonly string[];
  readonly regenerate: RegeneratedSteps;
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

/**
 * Outcomes: versioned drafts and finals, kept apart from action results.
 */
import { z } from "zod";
import { IntentId, OutcomeId, TenantId, WorkflowId } from "./ids.ts";
import { JsonValue } from "./json.ts";

/** One version of a result that a step drafted or made final. */
export const Outcome = z.object({
  outcome_id: OutcomeId,
  tenant_id: TenantId,
  workflow_id: WorkflowId,
  intent_id: IntentId,
  outcome_type: z.string(),
  schema_version: z.string(),
  status: z.enum(["draft", "final"]),
  content: JsonValue,
  confidence: z.number().min(0).max(1),
  created_at: z.string(),
  version: z.int().positive().default(1),
  draft_version: z.int().positive().default(1),
  step_id: z.string().nullable().default(null),
});
export type Outcome = z.infer<typeof Outcome>;

/** All outcomes of a workflow, each version of them. */
export const OutcomesResponse = z.object({ workflow_id: WorkflowId, outcomes: z.array(Outcome) });
export type OutcomesResponse = z.infer<typeof OutcomesResponse>;

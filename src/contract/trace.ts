/** Traces: the course of a run, folded from its ledger. */
import { z } from "zod";
import { KernelError } from "./error.ts";
import { JsonValue } from "./json.ts";
import { Plan } from "./plan.ts";

/** One attempt of a step. */
export const AttemptTrace = z.object({
  attempt: z.int().positive(),
  outcome: z.enum(["running", "succeeded", "failed", "timed_out", "in_progress"]),
  started_at: z.string(),
  finished_at: z.string().nullable(),
  duration_ms: z.number().nullable(),
  cached: z.boolean().default(false),
  error: KernelError.nullable(),
});
export type AttemptTrace = z.infer<typeof AttemptTrace>;

/** One step, attempt by attempt. */
export const StepTrace = z.object({
  step_id: z.string(),
  skill_name: z.string(),
  input_params: JsonValue,
  status: z.string(),
  output_data: z.string().nullable(),
  attempts: z.array(AttemptTrace),
  policy_events: z.array(JsonValue),
  approval_events: z.array(JsonValue),
});
export type StepTrace = z.infer<typeof StepTrace>;

export const traceStatuses = [
  "running",
  "waiting",
  "completed",
  "empty_plan",
  "blocked",
  "failed",
  "cancelled",
] as const;

/** The course of each step of a workflow. */
export const RequestTrace = z.object({
  request_id: z.string(),
  plan: Plan.nullable(),
  steps: z.array(StepTrace),
  llm_calls: z.array(JsonValue),
  status: z.enum(traceStatuses),
  duration: z.number().nullable(),
  error: KernelError.optional(),
});
export type RequestTrace = z.infer<typeof RequestTrace>;

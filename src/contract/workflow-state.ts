/**
 * A workflow as callers see it: what `kernel.workflow()` answers. Source: seed 003 sections 2.7, 3.
 *
 * Owns: the shape. `viewWorkflow` of T4 fills it from the folded record (workflow.ts).
 */
import { z } from "zod";
import { KernelError } from "./error.ts";
import { Gate } from "./gate.ts";
import { CorrelationId, TenantId, ThreadId, WorkflowId } from "./ids.ts";
import { Intent } from "./intent.ts";
import { Outcome } from "./outcome.ts";
import { Plan } from "./plan.ts";
import { KernelProgress, WorkflowStateName } from "./progress.ts";
import { stepStates } from "./step.ts";
import { traceStatuses } from "./trace.ts";

/** Where a step stands inside `running`. */
export const StepPhase = z.enum([
  "judging",
  "calling",
  "finishing",
  "settling",
  "awaiting_approval",
  "backing_off",
  "in_doubt",
]);
export type StepPhase = z.infer<typeof StepPhase>;

/** Whether something is done for the step now; else it waits for a person, a time or the truth about a lost call. */
export const isWorking = (phase: StepPhase | null): boolean =>
  phase === "judging" || phase === "calling" || phase === "finishing" || phase === "settling";

/** Where a running workflow may be cut out of the plan, and why. */
export const SkipReason = z.enum([
  "max_steps",
  "dependency_failed",
  "dependency_blocked",
  "budget",
  "replanned",
  "cancelled",
  "rejected",
]);
export type SkipReason = z.infer<typeof SkipReason>;

/** A step as it stands. */
export const StepView = z
  .object({
    step_id: z.string(),
    name: z.string(),
    operator: z.string(),
    state: z.enum(stepStates),
    phase: StepPhase.nullable(),
    attempts: z.int().nonnegative(),
    run: z.int().nonnegative(),
    depends_on: z.array(z.string()).readonly(),
    output_text: z.string(),
    error: KernelError.nullable(),
    skip_reason: SkipReason.nullable(),
  })
  .readonly();
export type StepView = z.infer<typeof StepView>;

const status = z.enum(traceStatuses);

/** What `kernel.workflow()` answers. */
export const WorkflowState = z
  .object({
    workflow_id: WorkflowId,
    tenant_id: TenantId,
    thread_id: ThreadId.nullable(),
    correlation_id: CorrelationId,
    intent: Intent,
    plan: Plan.nullable(),
    state: WorkflowStateName,
    status,
    steps: z.array(StepView).readonly(),
    gates: z.array(Gate).readonly(),
    outcomes: z.array(Outcome).readonly(),
    progress: KernelProgress,
    response: z.object({ status, text: z.string() }).readonly(),
    warnings: z.array(KernelError).readonly(),
    error: KernelError.nullable(),
    parent_workflow_id: z.string().nullable(),
    sequence: z.int().nonnegative(),
    spent: z.number(),
    accepted_at: z.string(),
    updated_at: z.string(),
    finished_at: z.string().nullable(),
  })
  .readonly();
export type WorkflowState = z.infer<typeof WorkflowState>;

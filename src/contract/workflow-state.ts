/**
 * A workflow as callers see it: what `kernel.workflow()` answers.
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

/** Returns whether something is done for the step now; else it waits for a person, a time or the truth about a lost call. */
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
    /** Unique in its workflow. */
    step_id: z.string(),
    /** For people. */
    name: z.string(),
    /** What it calls. */
    operator: z.string(),
    /** Where it stands. */
    state: z.enum(stepStates),
    /** Of a running step: what it is about. */
    phase: StepPhase.nullable(),
    /** Attempts on record, of all its runs. */
    attempts: z.int().nonnegative(),
    /** How often it was taken up again. */
    run: z.int().nonnegative(),
    /** Steps that come before it. */
    depends_on: z.array(z.string()).readonly(),
    /** What it gave, as text. */
    output_text: z.string(),
    /** Why it failed. */
    error: KernelError.nullable(),
    /** Why it was left out. */
    skip_reason: SkipReason.nullable(),
  })
  .readonly();
export type StepView = z.infer<typeof StepView>;

const status = z.enum(traceStatuses);

/** What `kernel.workflow()` answers. */
export const WorkflowState = z
  .object({
    /** Its id. */
    workflow_id: WorkflowId,
    /** Whose it is. */
    tenant_id: TenantId,
    /** The thread of requests that it belongs to. */
    thread_id: ThreadId.nullable(),
    /** The same for all that follows from one request. */
    correlation_id: CorrelationId,
    /** The checked request. */
    intent: Intent,
    /** The current plan; null before there is one. */
    plan: Plan.nullable(),
    /** Where it stands. */
    state: WorkflowStateName,
    /** The same in the words of traces, where a refusal is `blocked`. */
    status,
    /** Of all its plans. */
    steps: z.array(StepView).readonly(),
    /** All of them, open or not. */
    gates: z.array(Gate).readonly(),
    /** Each version of each. */
    outcomes: z.array(Outcome).readonly(),
    /** How far it is. */
    progress: KernelProgress,
    /** The text for whoever asked. */
    response: z.object({ status, text: z.string() }).readonly(),
    /** What is worth knowing and stopped nothing. */
    warnings: z.array(KernelError).readonly(),
    /** Why it failed. */
    error: KernelError.nullable(),
    /** The workflow whose work it does again; null where it does none again. */
    regenerated_from: z.string().nullable(),
    /** Of its last event. */
    sequence: z.int().nonnegative(),
    /** Of its request's `maxCost`. */
    spent: z.number(),
    /** When it was taken. */
    accepted_at: z.string(),
    /** When its last event was. */
    updated_at: z.string(),
    /** When it ended; null before. */
    finished_at: z.string().nullable(),
  })
  .readonly();
export type WorkflowState = z.infer<typeof WorkflowState>;

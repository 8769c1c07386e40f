/**
 * A workflow as callers see it: the answer of `kernel.workflow()`.
 *
 * Owns: the shape. `viewWorkflow` of T4 fills it from the folded record (workflow.ts).
 */
import { z } from "zod";
import { ParentLink } from "./child.ts";
import { Compensated } from "./compensation.ts";
import { KernelError } from "./error.ts";
import { ForkOrigin } from "./fork.ts";
import { Gate } from "./gate.ts";
import { CorrelationId, TenantId, ThreadId, WorkflowId } from "./ids.ts";
import { Intent, Principal } from "./intent.ts";
import { Outcome } from "./outcome.ts";
import { Plan } from "./plan.ts";
import { KernelProgress, WorkflowStateName } from "./progress.ts";
import { QueueStanding } from "./queue.ts";
import { stepStates } from "./step.ts";
import { ItemCounts } from "./step-group.ts";
import { stepKinds } from "./step-kinds.ts";
import { traceStatuses } from "./trace.ts";

/** The phase of a running step. */
export const StepPhase = z.enum([
  "judging",
  "calling",
  "finishing",
  "settling",
  "awaiting_approval",
  "backing_off",
  "in_doubt",
  "parked",
]);
export type StepPhase = z.infer<typeof StepPhase>;

/**
 * Returns whether work on the step is in progress; otherwise it waits for a person, for a time, or for the end of a
 * call in doubt to be stated.
 */
export const isWorking = (phase: StepPhase | null): boolean =>
  phase === "judging" || phase === "calling" || phase === "finishing" || phase === "settling";

/** The reason why a step was left out. */
export const SkipReason = z.enum([
  "max_steps",
  "dependency_failed",
  "dependency_blocked",
  "budget",
  "replanned",
  "cancelled",
  "rejected",
  "condition",
  "plan_failed",
  "expired",
  "too_many_failed",
  "declined",
]);
export type SkipReason = z.infer<typeof SkipReason>;

/** The reminders of a wait: how many there were, and the ISO instant of the next; null if none follows. */
export const WaitReminder = z.object({ sent: z.int().nonnegative(), due_at: z.string().nullable() }).readonly();
export type WaitReminder = z.infer<typeof WaitReminder>;

/**
 * The wait of a parked step: for a time, for the steps that it has added (`items`), for an event from outside (its name
 * and its key), or for the end of another workflow (the name of its capability, and its id as key). `due_at` is the ISO
 * instant at which the wait is over; null if it has no end of its own.
 */
export const ParkedFor = z
  .discriminatedUnion("source", [
    z.object({ source: z.enum(["time", "items"]), due_at: z.string().nullable() }),
    z.object({
      source: z.enum(["event", "workflow"]),
      name: z.string(),
      key: z.string(),
      due_at: z.string().nullable(),
      reminder: WaitReminder.optional(),
    }),
  ])
  .readonly();
export type ParkedFor = z.infer<typeof ParkedFor>;

/** A pause, or a rollback, that a person ordered. */
export const Pause = z
  .object({
    /** The reason that was given. */
    reason: z.string(),
    /** The principal who ordered it. */
    principal: Principal.readonly(),
    /** The ISO instant of the order. */
    at: z.string(),
  })
  .readonly();
export type Pause = z.infer<typeof Pause>;

/** The state of a step. */
export const StepView = z
  .object({
    /** Unique in its workflow. */
    step_id: z.string(),
    /** The name for people. */
    name: z.string(),
    /** The kind of the step. */
    kind: z.enum(stepKinds),
    /** The operator that it calls, or the name of its kind. */
    operator: z.string(),
    /** The state of the step. */
    state: z.enum(stepStates),
    /** The phase of a running step. */
    phase: StepPhase.nullable(),
    /** The wait of a parked step; null for any other. */
    waits_for: ParkedFor.nullable(),
    /** The child workflow of its last run; null if there is none. */
    child: WorkflowId.nullable(),
    /** The counts of its items or rounds; absent if it has added none. */
    items: ItemCounts.readonly().optional(),
    /** The halts that keep it from its call; none if nothing does. */
    held_by: z.array(z.string()).readonly(),
    /** Attempts on record, of all its runs. */
    attempts: z.int().nonnegative(),
    /** The number of times that the step was started again. */
    run: z.int().nonnegative(),
    /** Steps that come before it. */
    depends_on: z.array(z.string()).readonly(),
    /** The output as text. */
    output_text: z.string(),
    /** The error of a failed step. */
    error: KernelError.nullable(),
    /** The reason why the step was left out. */
    skip_reason: SkipReason.nullable(),
  })
  .readonly();
export type StepView = z.infer<typeof StepView>;

const status = z.enum(traceStatuses);

/** The answer of `kernel.workflow()`. */
export const WorkflowState = z
  .object({
    /** Its id. */
    workflow_id: WorkflowId,
    /** The tenant that the workflow belongs to. */
    tenant_id: TenantId,
    /** The thread of requests that it belongs to. */
    thread_id: ThreadId.nullable(),
    /** The same for all that follows from one request. */
    correlation_id: CorrelationId,
    /** The checked request. */
    intent: Intent,
    /** The current plan; null before there is one. */
    plan: Plan.nullable(),
    /** The state of the workflow. */
    state: WorkflowStateName,
    /** The same state in the terms of traces, in which a refusal is `blocked`. */
    status,
    /** The pause that holds; null if the workflow is not paused. */
    paused: Pause.nullable(),
    /** The halts that hold the workflow as a whole; those of single steps stand with the steps. */
    held_by: z.array(z.string()).readonly(),
    /** The standing of the workflow in its queue; null if it belongs to none. */
    queue: QueueStanding.nullable(),
    /** The steps of all plans. */
    steps: z.array(StepView).readonly(),
    /** All of them, open or not. */
    gates: z.array(Gate).readonly(),
    /** Each version of each. */
    outcomes: z.array(Outcome).readonly(),
    /** The progress of the workflow. */
    progress: KernelProgress,
    /** The text for the requester. */
    response: z.object({ status, text: z.string() }).readonly(),
    /** The part of what it had done that is undone; null if it has not ended, or had nothing to undo. */
    compensated: Compensated.nullable(),
    /** The order of the person who had it rolled back after it had ended; null if nobody did. */
    rolled_back: Pause.nullable(),
    /** Errors that are worth knowing and stopped nothing. */
    warnings: z.array(KernelError).readonly(),
    /** The error of a failed workflow. */
    error: KernelError.nullable(),
    /** The workflow whose work this one repeats; null if there is none. */
    regenerated_from: z.string().nullable(),
    /** The workflow whose record this one took over, and up to where; null if it is no fork. */
    forked_from: ForkOrigin.nullable(),
    /** The workflows that took over its record, oldest first. */
    forks: z.array(WorkflowId).readonly(),
    /** The step that began this workflow as its child; null if a request did. */
    parent: ParentLink.nullable(),
    /** The sequence of its last event. */
    sequence: z.int().nonnegative(),
    /** The part of its request's `maxCost` that is spent. */
    spent: z.number(),
    /** The instant at which it was accepted. */
    accepted_at: z.string(),
    /** The ISO instant before which its work does not begin; null if it begins at once. */
    start_at: z.string().nullable(),
    /** The instant of its last event. */
    updated_at: z.string(),
    /** The instant at which it ended; null before. */
    finished_at: z.string().nullable(),
  })
  .readonly();
export type WorkflowState = z.infer<typeof WorkflowState>;

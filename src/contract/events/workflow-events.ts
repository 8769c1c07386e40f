/** Events of a workflow as a whole. */

import type { Compensated, Ending } from "../compensation.ts";
import type { KernelError } from "../error.ts";
import type { ForkOrigin } from "../fork.ts";
import type { Principal } from "../intent.ts";
import { event } from "./event-row.ts";

/** The cause that made a waiting workflow go on. */
export interface WorkflowResumed {
  readonly gate_id: string | null;
  readonly step_id: string | null;
  /** The person who regenerated the waiting work; older ledgers lack it. */
  readonly principal?: Principal;
  readonly feedback?: string;
  /** Whether it goes on with undoing what it has done. */
  readonly compensating?: true;
}

/** A further run of a workflow that had ended. */
export interface WorkflowRestarted {
  readonly run: number;
  readonly step_ids: readonly string[];
  readonly mode: "resume_failed_steps" | "regenerate";
  readonly principal: Principal | null;
  readonly feedback?: string | null;
}

/** The answer of a workflow. */
export interface WorkflowCompleted {
  readonly text: string;
  readonly confidence: string;
  readonly grounding: string;
  readonly warnings: readonly KernelError[];
  readonly duration_ms: number;
}

/** The reason for a workflow's failure. */
export interface WorkflowFailed {
  readonly error: KernelError;
  readonly status: "empty_plan" | "blocked" | "failed";
  readonly category: string;
  readonly duration_ms: number;
  readonly compensated?: Compensated;
}

/** The reason for a cancellation, and the principal who asked for it. */
export interface WorkflowCancelled {
  readonly reason: string;
  readonly error: KernelError | null;
  readonly principal: Principal | null;
  readonly duration_ms: number;
  readonly compensated?: Compensated;
}

/** The order of a person to end the workflow. */
export interface WorkflowCancelling {
  readonly reason: string;
  readonly principal: Principal;
  /** Whether what it has done is undone before it ends. */
  readonly undo?: true;
}

/** The end to which a workflow comes once what it has done is undone. */
export interface WorkflowCompensating {
  readonly ending: Ending;
  /** The steps that are undone, in this order: the one that ended last is the first. */
  readonly steps: readonly string[];
  /** The number of undos that were tried before for a step, if any were: these do not count. */
  readonly attempts?: Readonly<Record<string, number>>;
}

/** The workflow that takes over the record, and the order that began it. */
export interface WorkflowForked extends Pick<ForkOrigin, "sequence" | "step_id" | "reason"> {
  readonly fork: string;
  readonly principal: Principal;
}

/** The order of a person to undo what a workflow that has ended had done, which begins a further run of it. */
export interface WorkflowRollingBack extends Pick<WorkflowCompensating, "steps" | "attempts"> {
  readonly run: number;
  readonly reason: string;
  readonly principal: Principal;
}

/** The reason for a pause, or for its end, and the principal who ordered it. */
export interface WorkflowPaused {
  readonly reason: string;
  readonly principal: Principal;
}

/** The halts that hold a workflow as a whole, or the step that the event names. */
export interface WorkHeld {
  readonly halt_ids: readonly string[];
}

/** A workflow that waits in its queue, and how many waited before it then: at most 1000 are counted. */
export interface WorkflowQueued {
  readonly ahead: number;
  /** The workflows that were cancelled to make way for it (a singleton); absent if none was. */
  readonly replaces?: readonly string[];
}

/** A workflow whose work begins once no newer request of its queue and key has come. */
export interface WorkflowDebounced {
  /** The ISO instant at which its work may begin. */
  readonly until: string;
  /** The workflows that waited before it and were cancelled, because it supersedes them. */
  readonly replaces: readonly string[];
}

/**
 * A message to the workflow, with the id of its request; `follows` is the last step that was planned, absent while a
 * plan is being made.
 */
export interface InputAdded {
  readonly text: string;
  readonly principal: Principal;
  readonly follows?: string | null;
  /** Rows of earlier releases lack it. */
  readonly input_id?: string;
}

export const workflowEvents = {
  WORKFLOW_STARTED: event<{ readonly round: number }>({
    from: "t4",
    to: "workflow",
    charts: ["workflow"],
    progress: true,
    transition: "started",
  }),
  WORKFLOW_WAITING: event<{ readonly gates: readonly string[] }>({
    from: "t4",
    to: "workflow",
    charts: ["workflow"],
    guards: ["gates"],
    progress: true,
    transition: "waiting",
  }),
  WORKFLOW_RESUMED: event<WorkflowResumed>({
    from: "person",
    to: "workflow",
    charts: ["workflow"],
    guards: ["compensating"],
    progress: true,
    transition: "resumed",
  }),
  WORKFLOW_RESTARTED: event<WorkflowRestarted>({
    from: "person",
    to: "workflow",
    charts: ["workflow", "action"],
    creates: "steps",
    begins: "workflow",
    progress: true,
    transition: "restarted",
  }),
  WORKFLOW_COMPLETED: event<WorkflowCompleted>({
    from: "t4",
    to: "workflow",
    charts: ["workflow"],
    ends: "workflow",
    progress: true,
    transition: "completed",
  }),
  WORKFLOW_FAILED: event<WorkflowFailed>({
    from: "t4",
    to: "workflow",
    charts: ["workflow"],
    voids: "workflow",
    ends: "workflow",
    progress: true,
    transition: "failed",
  }),
  /**
   * A person ends it; it has ended once the end of each call is known that may have an effect and may not be repeated.
   */
  WORKFLOW_CANCELLING: event<WorkflowCancelling>({
    from: "person",
    to: "workflow",
    charts: ["workflow"],
    progress: true,
    transition: "cancelling",
  }),
  /** It has failed or was cancelled, and undoes what it has done before it ends. */
  WORKFLOW_COMPENSATING: event<WorkflowCompensating>({
    from: "t4",
    to: "workflow",
    charts: ["workflow"],
    progress: true,
    transition: "compensating",
  }),
  /** A person has what it had done undone after it has ended. */
  WORKFLOW_ROLLING_BACK: event<WorkflowRollingBack>({
    from: "person",
    to: "workflow",
    charts: ["workflow"],
    begins: "workflow",
    progress: true,
    transition: "rolling_back",
  }),
  WORKFLOW_CANCELLED: event<WorkflowCancelled>({
    from: "person",
    to: "workflow",
    charts: ["workflow"],
    voids: "workflow",
    ends: "workflow",
    progress: true,
    transition: "cancelled",
  }),
  /** A person pauses it: calls under way end, and nothing new begins until it is resumed. */
  WORKFLOW_PAUSED: event<WorkflowPaused>({ from: "person", to: "workflow", progress: true, transition: "paused" }),
  /** A person ends the pause. */
  WORKFLOW_UNPAUSED: event<WorkflowPaused>({ from: "person", to: "workflow", progress: true, transition: "unpaused" }),
  /** No place is free in its queue: nothing of it begins until it has one. */
  WORKFLOW_QUEUED: event<WorkflowQueued>({ from: "t4", to: "workflow", progress: true, transition: "queued" }),
  /** It waits for a newer request, which supersedes it, until a time is over. */
  WORKFLOW_DEBOUNCED: event<WorkflowDebounced>({
    from: "t4",
    to: "workflow",
    progress: true,
    transition: "debounced",
  }),
  /** It has a place in its queue until it ends; `waited_ms` is 0 if one was free at once. */
  WORKFLOW_ADMITTED: event<{ readonly waited_ms: number }>({
    from: "t4",
    to: "workflow",
    progress: true,
    transition: "admitted",
  }),
  /** Halts hold it back: what they concern begins nothing until they are lifted. */
  WORK_HELD: event<WorkHeld>({ from: "t4", to: "workflow", progress: true, transition: "held" }),
  /** No halt holds it back any more. */
  WORK_RELEASED: event<object>({ from: "t4", to: "workflow", progress: true, transition: "released" }),
  /** A person adds a message, which the next plan is made with. */
  INPUT_ADDED: event<InputAdded>({ from: "person", to: "workflow" }),
  /** A person has begun another workflow that takes over its record. */
  WORKFLOW_FORKED: event<WorkflowForked>({ from: "person", to: "workflow" }),
  ERROR_ESCALATED: event<{ readonly tier: number; readonly error: KernelError }>({ from: "t4", to: "workflow" }),
} as const;

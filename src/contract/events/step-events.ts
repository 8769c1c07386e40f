/** Events of steps and of their results. */
import type { ChildEnd } from "../child.ts";
import type { KernelError } from "../error.ts";
import type { Json } from "../json.ts";
import type { Outcome } from "../outcome.ts";
import type { StepTemplate } from "../plan.ts";
import type { StepStatus } from "../step.ts";
import type { AddedAs } from "../step-group.ts";
import type { ParkedFor, SkipReason, WaitReminder } from "../workflow-state.ts";
import { event } from "./event-row.ts";

/** The result of a step. */
export interface StepSucceeded {
  readonly action_id: string | null;
  readonly output: Json;
  readonly output_text: string;
  readonly status: StepStatus;
  readonly cost: number;
}

/** The output of a step that was rejected, where the plan goes on: the code of the refusal, and the comment on it. */
export interface DeclinedOutput {
  readonly rejected: { readonly code: string; readonly comment: string | null };
}

/** The reason for which a step was left out, the step that caused it, and the output if it was declined. */
export interface StepSkipped {
  readonly reason: SkipReason;
  readonly because: string | null;
  readonly output?: DeclinedOutput;
}

/** Chunks that a running operator sent. */
export interface StepStreamed {
  readonly attempt: number;
  readonly sequence: number;
  readonly chunks: readonly string[];
  readonly percent: number | null;
  readonly final: boolean;
}

/** The wait of a step. */
export type StepParked = ParkedFor;

/** The event from outside that a step took. A `broadcast` event is not taken from others. */
export interface TakenEvent {
  readonly event_id: string;
  readonly payload: Json;
  readonly broadcast?: true;
}

/**
 * The end of the wait of a step: its time was over, the event that it waited for arrived, it was answered by its token,
 * the last of the steps that it added has ended, or its child has ended; `end` is null if the step does not wait for
 * its child.
 */
export type StepResumed =
  | { readonly by: "time" }
  | { readonly by: "items" }
  | { readonly by: "token" }
  | { readonly by: "event"; readonly event: TakenEvent }
  | { readonly by: "workflow"; readonly end: ChildEnd | null };

/** An event from outside that a waiting step did not take, because its payload does not have the form that it asks. */
export interface EventPassedOver {
  readonly event_id: string;
  readonly problem: string;
}

/** The answer to a wait at its one-time address, which may come before the wait has begun. */
export interface WaitAnswered {
  readonly payload: Json;
}

/** A reminder of people, because the event that a step waits for has not arrived. */
export interface WaitReminded {
  readonly role: string;
  readonly reminder: WaitReminder;
}

/** The steps that a step of the plan adds: one for each item, from the template that stands in the plan. */
export interface StepsAdded {
  /** The step of the plan that adds them. */
  readonly of: string;
  /** The kind of what is added. */
  readonly as: AddedAs;
  /** The key and the value of each; a round has its number as its key. */
  readonly items: readonly { readonly key: string; readonly value: Json }[];
  /** The question that is asked, of a question. */
  readonly asks?: StepTemplate;
}

/** A version of an outcome. */
export interface OutcomeRecorded {
  readonly outcome: Outcome;
  readonly action_id: string | null;
}

export const stepEvents = {
  STEP_QUEUED: event<{ readonly name: string; readonly operator: string }>({
    from: "workflow",
    to: "step",
    charts: ["step"],
    progress: true,
  }),
  STEP_STARTED: event<{ readonly run: number }>({
    from: "workflow",
    to: "step",
    charts: ["step"],
    begins: "step",
    progress: true,
  }),
  /** The workflow is a fork: the step succeeded in the workflow that it takes the result from. */
  STEP_TAKEN_OVER: event<{ readonly from: string }>({ from: "workflow", to: "step", charts: ["step"], progress: true }),
  STEP_SUCCEEDED: event<StepSucceeded>({
    from: "workflow",
    to: "step",
    charts: ["step"],
    ends: "step",
    progress: true,
    defaults: { values: { status: "COMPLETED", cost: 0 } satisfies Partial<StepSucceeded> },
  }),
  STEP_FAILED: event<{ readonly error: KernelError; readonly category: string; readonly blocked: boolean }>({
    from: "workflow",
    to: "step",
    charts: ["step"],
    voids: "step",
    ends: "step",
    progress: true,
  }),
  STEP_SKIPPED: event<StepSkipped>({
    from: "workflow",
    to: "step",
    charts: ["step"],
    voids: "step",
    ends: "step",
    progress: true,
  }),
  STEP_PARKED: event<StepParked>({ from: "workflow", to: "step", charts: ["step"], progress: true }),
  STEP_RESUMED: event<StepResumed>({ from: "workflow", to: "step", charts: ["step"], progress: true }),
  EVENT_PASSED_OVER: event<EventPassedOver>({ from: "t4", to: "step" }),
  WAIT_ANSWERED: event<WaitAnswered>({ from: "t4", to: "step" }),
  WAIT_REMINDED: event<WaitReminded>({ from: "t4", to: "step", notice: "wait_reminded" }),
  STEPS_ADDED: event<StepsAdded>({ from: "workflow", to: "step", creates: "steps", progress: true }),
  STEP_STREAMED: event<StepStreamed>({ from: "operator", to: "step", progress: true }),
  OUTCOME_DRAFTED: event<OutcomeRecorded>({ from: "step", to: "workflow" }),
  OUTCOME_FINALIZED: event<OutcomeRecorded>({ from: "step", to: "workflow" }),
  OUTPUT_SANITIZED: event<{ readonly reason: string; readonly stage: "output" | "params" | "stream" }>({
    from: "t1",
    to: "step",
  }),
  OUTPUT_UNCHECKED: event<{ readonly checked: number; readonly length: number }>({ from: "t1", to: "step" }),
  TEMPLATE_UNRESOLVED: event<{ readonly references: readonly string[] }>({ from: "t4", to: "step" }),
} as const;

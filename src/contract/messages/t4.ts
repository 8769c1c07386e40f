/** The messages that T4, execution, answers. */
import type { InputResponse } from "../added-input.ts";
import type { AuthContext } from "../auth-context.ts";
import type { RollbackResponse } from "../compensation.ts";
import type { KernelError } from "../error.ts";
import type { GateResponse, ParsedDelegationRequest, ParsedGateRequest, WithdrawalRequest } from "../gate.ts";
import type { ParsedGateNote } from "../gate-conversation.ts";
import type { Intake } from "../intake.ts";
import type { Principal, ScheduleOrigin, Submission, SubmitResponse } from "../intent.ts";
import type { Json } from "../json.ts";
import type { PauseResponse, ResumeResponse } from "../pause.ts";
import type { CancelResponse, RetryResponse } from "../retry.ts";
import type { WaitAnswered } from "../wait-token.ts";
import { messagesOf } from "./message.ts";

const { data, relay, command, relayCommand } = messagesOf(4);

/**
 * An activation starts a workflow, carries a person's command to a gate, or wakes a workflow for a command that it
 * waits for.
 */
export interface Activation {
  readonly intake?: Intake;
  readonly pipeline?: string;
  readonly workflow_id?: string;
  readonly auth: AuthContext;
  readonly decision?: ParsedGateRequest;
  readonly withdrawal?: WithdrawalRequest;
  readonly delegation?: ParsedDelegationRequest;
  readonly note?: ParsedGateNote;
}

/** An order of a person on a workflow, with its reason. */
export interface OrderCommand {
  readonly workflow_id: string;
  readonly auth: AuthContext;
  readonly principal: Principal;
  readonly reason?: unknown;
  /** Whether a cancellation undoes what was done. */
  readonly undo?: boolean;
}

export interface RetryCommand {
  readonly workflow_id: string;
  readonly auth: AuthContext;
  readonly principal: Principal;
  readonly mode: "resume_failed_steps" | "regenerate";
  readonly step_ids?: readonly string[];
  readonly feedback?: string;
}

/** Adds a message of a person to a workflow. */
export interface InputCommand {
  readonly workflow_id: string;
  readonly auth: AuthContext;
  readonly principal: Principal;
  readonly text: string;
  readonly idempotency_key?: string | undefined;
}

/** Hands an event from outside to a workflow that may wait for it. */
export interface DeliverCommand {
  readonly workflow_id: string;
  readonly event: { readonly name: string; readonly key: string; readonly event_id: string };
}

/** Answers a wait of a workflow at its one-time address. */
export interface AnswerWaitCommand {
  readonly workflow_id: string;
  readonly step_id: string;
  readonly payload: Json;
}

/** The steps of the workflow that took the event. */
export interface DeliverAnswer {
  readonly workflow_id: string;
  readonly resumed: readonly string[];
}

export interface SubmissionQuery {
  readonly tenant_id: string | number;
  readonly principal: Principal;
  readonly submission: Submission | undefined;
  readonly schedule?: ScheduleOrigin | undefined;
}

export interface RejectedIntent {
  readonly workflow_id: string;
  readonly intent_id: string;
  readonly plan_id: string;
  readonly tenant_id: string | number;
  readonly thread_id: string | number | null;
  readonly intent_type: string | null;
  readonly error: KernelError;
}

const loop = (fn: string) => ({ module: "ooda_loop", function: fn });

export const t4 = {
  /** The answer is a SubmitResponse, a GateResponse, or that of a workflow that was woken. */
  activate: relayCommand<Activation>("activate", loop("act")),
  cancel: command<OrderCommand, CancelResponse>("abort", "CancelResponse", loop("abort")),
  rollback: command<OrderCommand, RollbackResponse>("rollback", "RollbackResponse", loop("rollback")),
  pause: command<OrderCommand, PauseResponse>("pause", "PauseResponse", loop("pause")),
  resume: command<OrderCommand, ResumeResponse>("resume", "ResumeResponse", loop("resume")),
  addInput: command<InputCommand, InputResponse>("add_input", "InputResponse", loop("add_input")),
  retry: command<RetryCommand, RetryResponse>("retry", "RetryResponse", loop("retry")),
  pivot: command<{ readonly workflow_id: string; readonly objective: unknown }, unknown>(
    "pivot",
    "Pivoted",
    loop("pivot"),
  ),
  sleep: command<{ readonly workflow_id: string }, unknown>("sleep", "Asleep", loop("sleep")),
  deliver: data<DeliverCommand, DeliverAnswer>("EventDelivery", "EventDelivered", loop("deliver")),
  answerWait: data<AnswerWaitCommand, WaitAnswered>("WaitAnswer", "WaitAnswered", loop("answer_wait")),
  recallSubmission: data<SubmissionQuery, { readonly first: SubmitResponse | null }>(
    "SubmissionQuery",
    "SubmissionAnswer",
    loop("recall"),
  ),
  rejectIntent: relay<RejectedIntent>("IntentRejection", loop("reject")),
};

/** The answers of an activation, by its purpose. */
export type ActivationAnswer = SubmitResponse | GateResponse;

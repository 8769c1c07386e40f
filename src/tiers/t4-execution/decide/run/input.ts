/** The inputs of a workflow's mailbox: plain data. Each input is handled to its end before the next. */
import type { Usage } from "../../../../contract/action.ts";
import type { AuthContext } from "../../../../contract/auth-context.ts";
import type { ChildEnd } from "../../../../contract/child.ts";
import type { KernelError } from "../../../../contract/error.ts";
import type { EventDraft, EventPayloads } from "../../../../contract/event.ts";
import type { ParsedDelegationRequest, ParsedGateRequest, WithdrawalRequest } from "../../../../contract/gate.ts";
import type { ParsedGateNote } from "../../../../contract/gate-conversation.ts";
import type { Principal } from "../../../../contract/intent.ts";
import type { Json } from "../../../../contract/json.ts";

/**
 * The end of a call. `late`: its attempt had been given up. `pending`: it may have taken effect, or may still take it.
 * `over`: its operator has ended.
 */
export type CallEnd = {
  readonly usage: Usage;
  readonly late: boolean;
  readonly cached: boolean;
  readonly over: boolean;
} & (
  | {
      readonly status: "succeeded";
      readonly result: Json;
      /** The reason for which screening replaced the output (null if it did not), and the length of the output. */
      readonly sanitized: string | null;
      readonly length: number;
    }
  | { readonly status: "failed"; readonly error: KernelError; readonly pending: boolean }
);

/** The identity of a call: its step, action, attempt and run. */
export interface CallOf {
  readonly step_id: string;
  readonly action_id: string;
  readonly attempt: number;
  /** The number of the step's run that made it; a restarted step counts its attempts anew. */
  readonly run: number;
}

/**
 * The answer to a question. `data` is the data of a DATA Signal, the body of any other Signal, or the result of host
 * code.
 */
export interface Answered<Answer = unknown> {
  readonly error: KernelError | null;
  readonly data: Answer;
  readonly tags: Readonly<Record<string, string>>;
}

export const answered = (data: unknown): Answered => ({ error: null, data, tags: {} });
export const failed = (error: KernelError): Answered => ({ error, data: null, tags: {} });

/** A decision on a gate, and the gate that it was found to concern. */
export interface DecisionCommand {
  readonly kind: "decision";
  readonly request: ParsedGateRequest;
  readonly auth: AuthContext;
  /**
   * The open gate that the decision concerned when it was first decided. It is recorded for the case that the decision
   * is decided again.
   */
  met?: string;
}

/** A person's command at a gate: a decision, a withdrawal, a delegation or a note. */
export type GateCommand =
  | DecisionCommand
  | { readonly kind: "withdrawal"; readonly request: WithdrawalRequest; readonly auth: AuthContext }
  | { readonly kind: "delegation"; readonly request: ParsedDelegationRequest; readonly auth: AuthContext }
  | {
      readonly kind: "note";
      readonly request: ParsedGateNote;
      readonly auth: AuthContext;
      /** The id of the request, by which a note that is decided again is known. */
      readonly note_id: string;
    };

/** A person's order on the workflow as a whole, with its reason. */
export interface Order {
  readonly kind: "cancel" | "rollback" | "pause" | "resume";
  readonly reason: string;
  /** Whether a cancellation undoes what was done. */
  readonly undo?: boolean | undefined;
  /** True for a cancellation that is refused once the workflow has a place in its queue. */
  readonly if_waiting?: boolean;
  readonly principal: Principal;
  readonly auth: AuthContext;
}

/** A command on the workflow as a whole. Without `auth` it comes from the kernel itself. */
export type Command =
  | Order
  /** A message of a person. Rows of earlier releases lack its id. */
  | {
      readonly kind: "input";
      readonly text: string;
      readonly principal: Principal;
      readonly auth: AuthContext;
      readonly input_id?: string;
    }
  | {
      readonly kind: "retry";
      readonly mode: "resume_failed_steps" | "regenerate";
      readonly step_ids: readonly string[] | undefined;
      readonly feedback: string | undefined;
      /** Null if an older ledger does not name the principal. */
      readonly principal: Principal | null;
      readonly auth: AuthContext;
    }
  | {
      readonly kind: "deliver";
      readonly event: { readonly name: string; readonly key: string; readonly event_id: string };
    }
  /** An answer to a wait at its one-time address. */
  | { readonly kind: "answer_wait"; readonly step_id: string; readonly payload: Json }
  /** A child has ended. The result is null unless the child has completed. */
  | { readonly kind: "child_ended"; readonly step_id: string; readonly end: ChildEnd; readonly result: Json }
  /** Another workflow takes over its record. */
  | { readonly kind: "forked"; readonly by: EventPayloads["WORKFLOW_FORKED"] }
  | { readonly kind: "sleep" }
  | { readonly kind: "activate" }
  | { readonly kind: "pivot"; readonly objective: string };

/** An input of a mailbox. `re` is the number of the caller who waits for the answer. */
export type Input =
  | { readonly type: "begin"; readonly facts: EventPayloads["INTENT_RECEIVED"]; readonly re: number }
  | { readonly type: "woken" }
  | {
      readonly type: "answered";
      readonly scope: string;
      readonly key: string;
      /** The number of the question. A question that was put again accepts only the answer with its own number. */
      readonly nr: number;
      readonly answer: Answered;
    }
  | ({ readonly type: "ended"; readonly end: CallEnd } & CallOf)
  | ({ readonly type: "reported"; readonly drafts: readonly EventDraft[]; readonly re: number } & CallOf)
  | { readonly type: "decided"; readonly command: GateCommand; readonly re: number }
  | { readonly type: "due" }
  | { readonly type: "commanded"; readonly command: Command; readonly re: number };

/**
 * Returns whether an input comes from outside. Such inputs are kept until their row is committed, and decided again
 * after a conflicting append.
 */
export const isExternal = ({ type }: Input): boolean => type !== "woken" && type !== "answered" && type !== "due";

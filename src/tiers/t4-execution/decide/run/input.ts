/**
 * What a workflow's mailbox takes: plain data, each handled to its end before the next.
 */
import type { Usage } from "../../../../contract/action.ts";
import type { AuthContext } from "../../../../contract/auth-context.ts";
import type { ChildEnd } from "../../../../contract/child.ts";
import type { KernelError } from "../../../../contract/error.ts";
import type { EventDraft, EventPayloads } from "../../../../contract/event.ts";
import type { ParsedDelegationRequest, ParsedGateRequest, WithdrawalRequest } from "../../../../contract/gate.ts";
import type { Principal } from "../../../../contract/intent.ts";
import type { Json } from "../../../../contract/json.ts";

/**
 * How a call ended. `late`: its attempt had been given up. `pending`: it may have taken effect, or may still take it.
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
      /** What screening found: why the output was replaced, and its length. */
      readonly sanitized: string | null;
      readonly length: number;
    }
  | { readonly status: "failed"; readonly error: KernelError; readonly pending: boolean }
);

/** Which call of which attempt. */
export interface CallOf {
  readonly step_id: string;
  readonly action_id: string;
  readonly attempt: number;
  /** The step's run that made it: a restarted step counts its attempts anew. */
  readonly run: number;
}

/** A question's answer. `data` is the data of a DATA Signal, the body of any other, or what host code gave. */
export interface Answered<Answer = unknown> {
  readonly error: KernelError | null;
  readonly data: Answer;
  readonly tags: Readonly<Record<string, string>>;
}

export const answered = (data: unknown): Answered => ({ error: null, data, tags: {} });
export const failed = (error: KernelError): Answered => ({ error, data: null, tags: {} });

/** A decision, and the gate that it was found to be about. */
export interface DecisionWord {
  readonly kind: "decision";
  readonly request: ParsedGateRequest;
  readonly auth: AuthContext;
  /** The open gate that the decision met when it was decided first, recorded for when it is decided again. */
  met?: string;
}

/** What a person says to a gate, or of one. */
export type Word =
  | DecisionWord
  | { readonly kind: "withdrawal"; readonly request: WithdrawalRequest; readonly auth: AuthContext }
  | { readonly kind: "delegation"; readonly request: ParsedDelegationRequest; readonly auth: AuthContext };

/** A person's order on the workflow as a whole, with its reason. */
export interface Order {
  readonly kind: "cancel" | "pause" | "resume";
  readonly reason: string;
  readonly principal: Principal;
  readonly auth: AuthContext;
}

/** What is wanted of the workflow as a whole. Without `auth` it is the kernel's own wish. */
export type Command =
  | Order
  | {
      readonly kind: "retry";
      readonly mode: "resume_failed_steps" | "regenerate";
      readonly step_ids: readonly string[] | undefined;
      readonly feedback: string | undefined;
      /** Null where an older ledger does not say. */
      readonly principal: Principal | null;
      readonly auth: AuthContext;
    }
  | {
      readonly kind: "deliver";
      readonly event: { readonly name: string; readonly key: string; readonly event_id: string };
    }
  /** A child has ended; its result is that of a child that completed, else null. */
  | { readonly kind: "child_ended"; readonly step_id: string; readonly end: ChildEnd; readonly result: Json }
  | { readonly kind: "sleep" }
  | { readonly kind: "activate" }
  | { readonly kind: "pivot"; readonly objective: string };

/** `re` names who waits for the answer. */
export type Input =
  | { readonly type: "begin"; readonly facts: EventPayloads["INTENT_RECEIVED"]; readonly re: number }
  | { readonly type: "woken" }
  | {
      readonly type: "answered";
      readonly scope: string;
      readonly key: string;
      /** Of the question: one that was put again is answered by its own answer only. */
      readonly nr: number;
      readonly answer: Answered;
    }
  | ({ readonly type: "ended"; readonly end: CallEnd } & CallOf)
  | ({ readonly type: "told"; readonly drafts: readonly EventDraft[]; readonly re: number } & CallOf)
  | { readonly type: "decided"; readonly word: Word; readonly re: number }
  | { readonly type: "due" }
  | { readonly type: "commanded"; readonly command: Command; readonly re: number };

/** Kept until their row is committed, and decided again where another process's append came first. */
export const isExternal = ({ type }: Input): boolean => type !== "woken" && type !== "answered" && type !== "due";

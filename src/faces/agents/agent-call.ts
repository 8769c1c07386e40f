/**
 * A tool call of an agent, and the answers about it.
 *
 * 1.  `words` and `note` are written for the model.
 */
import type { Json, JsonObject } from "../../contract/json.ts";

/** A tool call as its framework names it. */
export interface AgentCall {
  /** The framework's id of the call, unique in its thread. */
  readonly call_id: string;
  /** The tool's name, as the model calls it. */
  readonly tool: string;
  /** The arguments of the call: what JSON can hold, and dates. */
  readonly arguments: unknown;
}

/** The use of a tool in a framework that names each use anew, also that of a call that it makes again. */
export interface ToolUse {
  /** The framework's id of this use. */
  readonly use_id: string;
  /** The tool's name, as the model calls it. */
  readonly tool: string;
  /** The arguments of the call: what JSON can hold, and dates. */
  readonly arguments: unknown;
}

/** An open gate of a call, for the people who decide. */
export interface WaitingGate {
  readonly gate_id: string;
  readonly title: string;
  /** The digest of what the gate shows, to which an approval binds. */
  readonly payload_digest: string;
  /** The instant at which the kernel acts if nobody has decided; null if it never does. */
  readonly due_at: string | null;
  /** The address at which a person decides; absent without `consoleUrl`. */
  readonly link?: string;
}

/** The call may be made, with these arguments. */
export interface AllowedCall {
  readonly status: "allowed";
  readonly workflow_id: string;
  readonly arguments: JsonObject;
  /** The words for the model, if a person or a rule changed the arguments; else null. */
  readonly note: string | null;
  /** The people who approved it, in words; null if nobody was asked. */
  readonly approval: string | null;
}
/** The call may not be made. */
export interface RefusedCall {
  readonly status: "refused";
  readonly workflow_id: string | null;
  /** The code of the error; T5_HUMAN_DENIED if a person rejected the call. */
  readonly code: string;
  /** The words for the model: those of the person, or of the rule. */
  readonly words: string;
}
/** The call waits for a person, or is held. */
export interface WaitingCall {
  readonly status: "waiting";
  readonly workflow_id: string;
  readonly gates: readonly WaitingGate[];
  readonly words: string;
}
/** The judgement of a call. */
export type JudgedCall = AllowedCall | RefusedCall | WaitingCall;

/** The call was made. */
export interface MadeCall {
  readonly status: "made";
  readonly workflow_id: string;
  /** The output of the tool as it was recorded. */
  readonly output: Json;
  readonly note: string | null;
}
/** The tool threw; the message is recorded. */
export interface FailedCall {
  readonly status: "failed";
  readonly workflow_id: string;
  readonly message: string;
  readonly note: string | null;
}
/** The end of a call that was to be run. */
export type RunCall = MadeCall | FailedCall | RefusedCall | WaitingCall;

/** The result of a tool that its framework ran by itself: the output, or the message of the error. */
export type ReportedAnswer = { readonly output: unknown } | { readonly error: string };
/** The end of a report: the result is recorded, or the kernel gave no answer. */
export type ReportedCall = { readonly status: "reported" } | RefusedCall;

/** Runs a tool of a framework with the permitted arguments, and learns whether the model gave others. */
export type ToolFunction = (args: JsonObject, signal: AbortSignal, isChanged: boolean) => unknown;

/** A conversation of an agent, whose tool calls a kernel judges, runs and records. */
export interface AgentThread {
  /** Has the call judged, or finds its judgement. Rejects only with the reason of `signal`. */
  readonly ask: (call: AgentCall, signal?: AbortSignal) => Promise<JudgedCall>;
  /** Has the call judged, and runs the tool once if it may be made. Rejects only with the reason of `signal`. */
  readonly run: (call: AgentCall, tool: ToolFunction, signal?: AbortSignal) => Promise<RunCall>;
  /**
   * Has the call judged, and takes its permit once, for a framework that runs the tool by itself. `taker` names the
   * asker: the same one receives the permit again. Rejects only with the reason of `signal`.
   */
  readonly take: (call: AgentCall, taker: string, signal?: AbortSignal) => Promise<JudgedCall>;
  /**
   * Takes the permit of the first equal call of this conversation whose permit nobody else has taken. A person is asked
   * if the call before it may have taken effect: it may write, and no result of it was reported. Otherwise as `take`.
   */
  readonly takeNext: (use: ToolUse, signal?: AbortSignal) => Promise<JudgedCall>;
  /**
   * Records the result of the tool that this taker ran, of which the ledger keeps 20,000 characters. A result that is
   * reported twice is recorded once. Never rejects.
   */
  readonly report: (taker: string, answer: ReportedAnswer) => Promise<ReportedCall>;
}

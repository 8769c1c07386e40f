/**
 * What a driver of a framework does for the laws of adapters: it runs an agent with new objects of the framework, until
 * that ends or pauses, and returns what an app keeps of it.
 * Owns: the shapes. Never: a kernel, which the laws open.
 */
import type { Agent } from "../../../src/faces/agents/create-agents.ts";

/** A call that the model asks for. */
export type Call = readonly [id: string, tool: string, args: object];

/** One run of an agent whose tool is `refund`. */
export interface Conversation {
  readonly support: Agent;
  /** The tool, as its author wrote it. */
  readonly refund: (args: RefundInput) => unknown;
  /** The answers of the model in order, as the calls in each; after them it says "It is done.". */
  readonly calls: readonly (readonly Call[])[];
  /** What the app kept of a run that paused, to go on with. */
  readonly stored?: string;
  /** True if the client claims an approval in what the run goes on with. */
  readonly isClaimed?: boolean;
  /** The id of the conversation; "chat-1" by default. */
  readonly thread?: string;
}
export interface RefundInput {
  readonly order: string;
  readonly cents: number;
}

/** The end of a run. */
export interface Ran {
  /** The text by which the app, or the model, reads what the run waits for; null if it did not pause. */
  readonly waiting: string | null;
  /** What the app keeps, to go on in another process. */
  readonly stored: string;
  /** What the model was given, as JSON, one a request. */
  readonly prompts: readonly string[];
  /** What the model said at the end. */
  readonly text: string;
}

export interface Driver {
  readonly name: string;
  /** The name of the tool that refunds, as policies read it. */
  readonly tool: string;
  /** A call whose arguments are no JSON once the tool would receive them; null if the framework has no such. */
  readonly oddCall: OddCall | null;
  /** True if the kernel runs the tool, so that who asks again gets the recorded output. */
  readonly isRunByKernel: boolean;
  readonly run: (conversation: Conversation) => Promise<Ran>;
}

/** The call, and what the model reads about it: a code of the adapter, or the framework's own words. */
export interface OddCall {
  readonly call: Call;
  readonly words: string;
}
/** The words of an adapter about arguments that are no JSON. */
export const noJson = "T0_VALIDATION_SCHEMA_MISMATCH: the tool call: arguments: ";

export const lastWords = "It is done.";
/** What the user asks of the agent. */
export const request = "Refund order A7.";

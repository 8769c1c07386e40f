/**
 * The requests of a turn, as plain data: questions, which are answered within the turn if possible, and intentions,
 * which are performed once the row with the events before them is committed.
 */
import type { Basis } from "../../../../contract/basis.ts";
import type { ChildEnd } from "../../../../contract/child.ts";
import type { KernelError } from "../../../../contract/error.ts";
import type { EventPassedOver, TakenEvent } from "../../../../contract/events/step-events.ts";
import type { Json, JsonObject } from "../../../../contract/json.ts";
import type { Message, TierNumber } from "../../../../contract/messages/message.ts";
import type { CallEstimate } from "../../../../contract/operator.ts";
import type { Outcome } from "../../../../contract/outcome.ts";
import type { Presented } from "../../../../contract/present.ts";
import type { SchemaReading } from "../../../../contract/schema-reading.ts";
import type { CallOf, Order } from "./input.ts";

/** A question to a tier, which travels as a Signal. */
export type TierQuestion =
  | {
      readonly ask: "data";
      readonly to: TierNumber;
      readonly schema: string;
      readonly fn: string;
      readonly data: unknown;
    }
  | {
      readonly ask: "text";
      readonly to: TierNumber;
      readonly fn: string;
      readonly text: string;
      readonly tags: Readonly<Record<string, string>>;
    }
  | { readonly ask: "error"; readonly to: TierNumber; readonly fn: string; readonly error: KernelError };

/** The questions to host code and to the kernel, each with the shape of its answer. */
export interface HostQuestions {
  readonly initialize: { readonly of: object; readonly answer: unknown };
  /** The question of `security.validateParams`. */
  readonly check: { readonly of: { readonly payload: Json }; readonly answer: Verdict };
  /** The question to the input schema of an operator, which reads params. */
  readonly parse: {
    readonly of: {
      readonly name: string;
      readonly version: string;
      readonly params: Json;
      /** True if the params are a person's edit: no answer that holds any of them is recorded. */
      readonly isEdit: boolean;
    };
    readonly answer: SchemaReading;
  };
  /**
   * The question to the schema of the capability, which reads an outcome. The answer is null, or describes the problem.
   */
  readonly check_outcome: {
    readonly of: {
      readonly intent: string;
      readonly version: string;
      readonly type: string;
      readonly content: Json;
    };
    readonly answer: string | null;
  };
  /** The question to an operator what a call uses at most; null if it does not estimate that. */
  readonly estimate: {
    readonly of: { readonly name: string; readonly version: string; readonly payload: Json };
    readonly answer: CallEstimate | null;
  };
  /** The computation of a value from something that no ledger may hold (`PassScopes.derive`). */
  readonly derive: { readonly of: { readonly make: () => unknown }; readonly answer: unknown };
  /** The question to the output schema of an operator, which reads a result that a person states. */
  readonly parse_result: {
    readonly of: { readonly name: string; readonly version: string; readonly result: Json };
    readonly answer: SchemaReading;
  };
  /** The question of `security.validateOutput`. */
  readonly screen: { readonly of: { readonly result: Json }; readonly answer: Screened };
  readonly check_call: { readonly of: { readonly step_id: string; readonly payload: Json }; readonly answer: unknown };
  readonly show: { readonly of: { readonly step_id: string; readonly payload: Json }; readonly answer: Shown };
  /** The question to an operator how it presents a call with this payload to people. */
  readonly present: {
    readonly of: { readonly name: string; readonly version: string; readonly payload: Json };
    readonly answer: Presented;
  };
  readonly hook: {
    readonly of: {
      readonly step_id: string;
      readonly name: string;
      readonly phase: "before" | "after" | "onError";
    };
    readonly answer: unknown;
  };
  /** Answered once all appended events are committed. */
  readonly saved: { readonly of: object; readonly answer: unknown };
  readonly shared_key: { readonly of: { readonly key: string }; readonly answer: SharedKey };
  /**
   * The search for an event from outside that a step may take: the oldest of this name and key, or a named one. Events
   * that the step has passed over are left out.
   */
  readonly find_event: {
    readonly of: {
      readonly name: string;
      readonly key: string;
      /** The schema of the payload, as a JSON Schema; null if any payload will do. */
      readonly form: JsonObject | null;
      readonly event_id: string | null;
      readonly passed: readonly string[];
    };
    readonly answer: FoundEvent;
  };
  readonly draft: {
    readonly of: { readonly workflow_id: string; readonly step_id: string };
    readonly answer: Outcome | null;
  };
  /**
   * The start of a step's child, or the retry of an earlier run's child. The kernel itself answers, under a key of the
   * step's run, so that a repeated question finds the same child.
   */
  readonly begin_child: {
    readonly of: {
      readonly step_id: string;
      readonly params: ChildParams;
      /** The failed child of the step's earlier run; null if there is none. */
      readonly failed: Pick<ChildEnd, "workflow_id" | "sequence"> | null;
    };
    readonly answer: { readonly workflow_id: string };
  };
  /** The note in the log of the workflow whose record this one takes over; noted once. */
  readonly note_fork: { readonly of: object; readonly answer: unknown };
  /** The order to a child to undo what it had done, under which it goes on once it has committed it. */
  readonly roll_back_child: {
    readonly of: Pick<Order, "reason" | "principal"> & { readonly child: string };
    readonly answer: unknown;
  };
  /** The end of a child, with its result if it has completed; null while it is running. */
  readonly child_end: {
    readonly of: { readonly child: string };
    readonly answer: { readonly end: ChildEnd; readonly result: Json } | null;
  };
  /** Whether the workflow's parent has ended or is ending. */
  readonly has_no_parent: { readonly of: object; readonly answer: boolean };
  /**
   * An order on the workflow, which is passed on to these children, and to those that these steps are beginning. The
   * answer comes once each child has committed it, or has ended.
   */
  readonly order_children: {
    readonly of: Pick<Order, "kind" | "reason" | "principal"> & OrderedChildren;
    /** The children and the steps that the order has reached. */
    readonly answer: OrderedChildren;
  };
  /** Whether a place is free in the workflow's queue, and how many wait before it. */
  readonly queue_place: { readonly of: object; readonly answer: QueuePlace };
  /** A place among `limits.maxInFlight`; the answer comes once the workflow has one in this process. */
  readonly in_flight_place: { readonly of: object; readonly answer: unknown };
  /**
   * The cancellation of the workflows that came before this one in its queue. The answer comes once each has committed
   * the order; it names them, without those that were ending already.
   */
  readonly replace_others: { readonly of: object; readonly answer: readonly string[] };
  /** The child that a step has started, or null; the question starts none. */
  readonly find_child: {
    readonly of: { readonly step_id: string };
    readonly answer: { readonly workflow_id: string } | null;
  };
}

/** Children, and steps that are beginning one. */
export interface OrderedChildren {
  readonly children: readonly string[];
  readonly steps: readonly string[];
}

/** Whether a workflow may take a place in its queue now, and how many wait before it. */
export interface QueuePlace {
  readonly isFree: boolean;
  readonly ahead: number;
}

/** The work that a step gives to its child. */
export interface ChildParams {
  readonly intent: string;
  readonly inputs: JsonObject;
  readonly detached: boolean;
}

export type HostQuestion = {
  [Name in keyof HostQuestions]: { readonly ask: Name } & HostQuestions[Name]["of"];
}[keyof HostQuestions];

/** A question to a tier or to a host's code. None has an effect outside. */
export type Question = TierQuestion | HostQuestion;

/** A question with the shape of its answer. */
export interface TypedQuestion<Answer> {
  readonly question: Question;
  /** This member carries the type alone; no question has a value for it. */
  readonly answers?: Answer;
}

/** Returns a question to a tier by a message of its catalogue. `fn` names the function of T4 that asks. */
export const toTier = <Q, Answer>(
  { to, name }: Message<Q, Answer>,
  { fn, data }: { readonly fn: string; readonly data: Q },
): TypedQuestion<Answer> => ({ question: { ask: "data", to, schema: name, fn, data } });

/** Returns a question to host code, or to the kernel. */
export const toHost = <Name extends keyof HostQuestions>(
  ask: Name,
  of: HostQuestions[Name]["of"],
): TypedQuestion<HostQuestions[Name]["answer"]> => ({ question: { ask, ...of } as HostQuestion });

/** Returns a question with a text to a tier. The answer is the body of a TEXT Signal. */
export const toText = (
  to: TierNumber,
  of: { readonly fn: string; readonly text: string; readonly tags: Readonly<Record<string, string>> },
): TypedQuestion<{ readonly text?: unknown } | null> => ({ question: { ask: "text", to, ...of } });

/** Returns the escalation of an error to a tier. The answer is the body of the Signal that carries the error back. */
export const toEscalation = (
  to: TierNumber,
  of: { readonly fn: string; readonly error: KernelError },
): TypedQuestion<{ readonly data?: unknown } | null> => ({ question: { ask: "error", to, ...of } });

/** An event that a step may take, and those that it passes over because their payloads have another form. */
export interface FoundEvent {
  readonly event: TakenEvent | null;
  readonly passed: readonly EventPassedOver[];
}

/** The verdict of `security.validateParams`. */
export type Verdict = { readonly ok: boolean; readonly reason?: string } | null;

/** A result after screening. */
export interface Screened {
  readonly result: Json;
  /** The reason for which it was replaced; null if it was not. */
  readonly sanitized: string | null;
  /** The number of characters of the whole output. */
  readonly length: number;
}

/** A call as its operator shows it before it is made. */
export interface Shown {
  readonly preview: string;
  readonly diff: string | null;
  readonly basis: Basis;
}

/** The calls of other workflows under a key: either this call may claim the key, or another call has it. */
export type SharedKey =
  | { readonly claim: number }
  | {
      readonly claim: null;
      readonly workflow_id: string;
      readonly action_id: string;
      /** The digest of its payload; null if the record does not hold it. */
      readonly payload_hash: string | null;
      readonly result: Json | null;
      readonly succeeded: boolean;
      /** The failure of a call whose answer cannot be used, if nobody has asked for another call since. */
      readonly failure: KernelError | null;
      /** Whether what the call did was undone; absent if it was not. */
      readonly undone?: true;
      /** Whether its workflow has ended without completing, so that its work is taken over; absent if not. */
      readonly left?: true;
    };

export type IntentionOf<D extends Intention["do"]> = Extract<Intention, { readonly do: D }>;

export type Intention =
  | ({
      readonly do: "call";
      readonly key: string;
      readonly payload: Json;
      readonly timeout_ms: number;
      /** True if no row names the action yet; if that row is refused, events of the call are ignored. */
      readonly isFirst: boolean;
    } & CallOf)
  /** Waits, for another attempt, on a call that is under way. */
  | ({ readonly do: "join"; readonly key: string; readonly timeout_ms: number } & CallOf)
  | { readonly do: "abort"; readonly reason: string }
  /** Passes an order on the workflow on to a child. */
  | ({ readonly do: "order_child"; readonly child: string } & Omit<Order, "auth">)
  | {
      readonly do: "tell";
      readonly to: TierNumber;
      readonly fn: string;
      readonly schema: string;
      readonly data: JsonObject;
      readonly tags?: Readonly<Record<string, string>>;
    }
  | {
      readonly do: "stream";
      readonly text: string;
      readonly sequence: number;
      readonly final: boolean;
    }
  | { readonly do: "answer"; readonly re: number; readonly data: unknown }
  | { readonly do: "refuse"; readonly re: number; readonly error: KernelError };

type Tell = IntentionOf<"tell">;

/** Returns the intention to send a tier a message that has no answer. */
export const tellTier = <Q extends JsonObject>(
  { to, name }: Message<Q, unknown>,
  { fn, data, tags }: { readonly fn: string; readonly data: Q; readonly tags?: Tell["tags"] },
): Tell => ({ do: "tell", to, fn, schema: name, data, ...(tags === undefined ? {} : { tags }) });

/**
 * What a turn asks for: questions, answered within the turn where that can be, and intentions, performed once the row that
 * holds what was decided before them is committed. Plain data.
 */
import type { Basis } from "../../../../contract/basis.ts";
import type { ChildEnd } from "../../../../contract/child.ts";
import type { KernelError } from "../../../../contract/error.ts";
import type { EventPassedOver, TakenEvent } from "../../../../contract/events/step-events.ts";
import type { Json, JsonObject } from "../../../../contract/json.ts";
import type { Message, TierNumber } from "../../../../contract/messages/message.ts";
import type { Outcome } from "../../../../contract/outcome.ts";
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
  /** `security.validateParams`. */
  readonly check: { readonly of: { readonly payload: Json }; readonly answer: Verdict };
  /** The input schema of an operator reads params. */
  readonly parse: {
    readonly of: {
      readonly name: string;
      readonly version: string;
      readonly params: Json;
      /** The params are a person's edit: no answer that holds any of them is recorded. */
      readonly isEdit: boolean;
    };
    readonly answer: SchemaReading;
  };
  /** The schema of the capability reads an outcome. The answer is null, or names what is wrong with it. */
  readonly check_outcome: {
    readonly of: {
      readonly intent: string;
      readonly version: string;
      readonly type: string;
      readonly content: Json;
    };
    readonly answer: string | null;
  };
  /** A value is computed from something that no ledger may hold (`PassScopes.derive`). */
  readonly derive: { readonly of: { readonly make: () => unknown }; readonly answer: unknown };
  /** The output schema of an operator reads a result that a person states. */
  readonly parse_result: {
    readonly of: { readonly name: string; readonly version: string; readonly result: Json };
    readonly answer: SchemaReading;
  };
  /** `security.validateOutput`. */
  readonly screen: { readonly of: { readonly result: Json }; readonly answer: Screened };
  readonly check_call: { readonly of: { readonly step_id: string; readonly payload: Json }; readonly answer: unknown };
  readonly show: { readonly of: { readonly step_id: string; readonly payload: Json }; readonly answer: Shown };
  readonly hook: {
    readonly of: {
      readonly step_id: string;
      readonly name: string;
      readonly phase: "before" | "after" | "onError";
    };
    readonly answer: unknown;
  };
  /** Answered once everything noted is in the ledger. */
  readonly saved: { readonly of: object; readonly answer: unknown };
  readonly shared_key: { readonly of: { readonly key: string }; readonly answer: SharedKey };
  /**
   * Finds an event from outside that a step may take: the oldest of this name and key, or the one that is named. Events
   * that the step has passed over are left out.
   */
  readonly find_event: {
    readonly of: {
      readonly name: string;
      readonly key: string;
      /** The form of the payload, as a JSON Schema; null where any will do. */
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
   * The child of a step is begun, or that of an earlier run is retried. The kernel itself answers, under a key of the
   * step's run: to ask again finds the same child.
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
  /** The end of a child, with its result if it has completed; null while it goes on. */
  readonly child_end: {
    readonly of: { readonly child: string };
    readonly answer: { readonly end: ChildEnd; readonly result: Json } | null;
  };
  /** Whether the workflow's parent has ended, or ends. */
  readonly has_no_parent: { readonly of: object; readonly answer: boolean };
  /** The child that a step has begun, if it has come to that; none is begun. */
  readonly find_child: {
    readonly of: { readonly step_id: string };
    readonly answer: { readonly workflow_id: string } | null;
  };
}

/** What a step asks its child to do. */
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
export interface Asked<Answer> {
  readonly question: Question;
  /** Carries the type alone; no question has it. */
  readonly answers?: Answer;
}

/** Returns the question that a message of a tier's catalogue is put as. `fn` names the function of T4 that asks. */
export const toTier = <Q, Answer>(
  { to, name }: Message<Q, Answer>,
  { fn, data }: { readonly fn: string; readonly data: Q },
): Asked<Answer> => ({ question: { ask: "data", to, schema: name, fn, data } });

/** Returns a question to host code, or to the kernel. */
export const toHost = <Name extends keyof HostQuestions>(
  ask: Name,
  of: HostQuestions[Name]["of"],
): Asked<HostQuestions[Name]["answer"]> => ({ question: { ask, ...of } as HostQuestion });

/** Returns the question that a text is put to a tier as. The answer is the body of a TEXT Signal. */
export const toText = (
  to: TierNumber,
  of: { readonly fn: string; readonly text: string; readonly tags: Readonly<Record<string, string>> },
): Asked<{ readonly text?: unknown } | null> => ({ question: { ask: "text", to, ...of } });

/** Returns the escalation of an error to a tier. The answer is the body of the Signal that carries the error back. */
export const toEscalation = (
  to: TierNumber,
  of: { readonly fn: string; readonly error: KernelError },
): Asked<{ readonly data?: unknown } | null> => ({ question: { ask: "error", to, ...of } });

/** An event that a step may take, and those that it passes over because their payloads have another form. */
export interface FoundEvent {
  readonly event: TakenEvent | null;
  readonly passed: readonly EventPassedOver[];
}

/** The verdict of `security.validateParams`. */
export type Verdict = { readonly ok: boolean; readonly reason?: string } | null;

/** A result as screening lets it through. */
export interface Screened {
  readonly result: Json;
  /** The reason why it was replaced; null where it was not. */
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

/** The calls of other workflows under a key: none that stands in the way of this call, or a call. */
export type SharedKey =
  | { readonly claim: number }
  | {
      readonly claim: null;
      readonly workflow_id: string;
      readonly action_id: string;
      /** The digest of its payload; null where the record that was read does not have it. */
      readonly payload_hash: string | null;
      readonly result: Json | null;
      readonly succeeded: boolean;
      /** The failure of a call whose answer is of no use, where nobody has asked for another call since. */
      readonly failure: KernelError | null;
    };

export type IntentionOf<D extends Intention["do"]> = Extract<Intention, { readonly do: D }>;

export type Intention =
  | ({
      readonly do: "call";
      readonly key: string;
      readonly payload: Json;
      readonly timeout_ms: number;
      /** No row knows its action yet: of one that is refused nothing that the call says is heard. */
      readonly isFirst: boolean;
    } & CallOf)
  /** Another attempt waits for a call that is under way. */
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

/** Returns the intention to tell a tier a message, without an answer. */
export const tellTier = <Q extends JsonObject>(
  { to, name }: Message<Q, unknown>,
  { fn, data, tags }: { readonly fn: string; readonly data: Q; readonly tags?: Tell["tags"] },
): Tell => ({ do: "tell", to, fn, schema: name, data, ...(tags === undefined ? {} : { tags }) });

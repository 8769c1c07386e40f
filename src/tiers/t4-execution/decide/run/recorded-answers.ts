/**
 * The recording of answers: one row for each kind of question, next to the kinds themselves (`intention.ts`).
 *
 * Owns: which answers a ledger row leaves out, and which part of the others it keeps. Never: appends rows.
 * 1.  An answer that equals the usual answer of its question is left out; a replay takes the usual answer instead.
 * 2.  The part of an answer that deciding does not read is not kept.
 * 3.  No part of a person's edit is kept in an answer about it.
 */
import type { Json } from "../../../../contract/json.ts";
import type { GrantFound } from "../../../../contract/messages/t5.ts";
import type { SchemaReading } from "../../../../contract/schema-reading.ts";
import type { FoundEvent, OrderedChildren, Question, QueuePlace } from "./intention.ts";

export type QuestionOf<A extends Question["ask"]> = Extract<Question, { readonly ask: A }>;

/** The rules for recording the answers to one kind of question. `T` is the data of an answer. */
interface Recording<Q extends Question, T> {
  /** Returns the data that is not recorded. */
  usual?(question: Q): T;
  /** Returns whether this data is the usual one. */
  isUsual?(data: T, question: Q): boolean;
  /** Returns the recorded part of the data; if absent, all of it is recorded. */
  keep?(data: T, question: Q): unknown;
  /** True if deciding reads the tags of the answer. */
  readonly tags?: true;
}

/** Records failures only, because deciding reads nothing else of such answers. */
const onlyFailure: Recording<Question, unknown> = { usual: () => null, isUsual: () => true };

const parsed: Recording<QuestionOf<"parse" | "parse_result">, SchemaReading> = {
  usual: (question) => ({ ok: true, value: givenTo(question), isSame: true }),
  isUsual: (reading) => reading.ok && reading.isSame,
  keep: (reading, question) => {
    const isEdit = question.ask === "parse" && question.isEdit;
    if (reading.ok) return isEdit ? { ...reading, value: null } : reading;
    return { ...reading, problem: isEdit ? "" : reading.problem, error: null };
  },
};

const givenTo = (question: QuestionOf<"parse" | "parse_result">) =>
  question.ask === "parse" ? question.params : question.result;

interface Screened {
  readonly result: Json;
  readonly sanitized: string | null;
  readonly length: number;
}

const screened: Recording<QuestionOf<"screen">, Screened> = {
  usual: ({ result }) => ({ result, sanitized: null, length: 0 }),
  isUsual: ({ sanitized, length }) => sanitized === null && length === 0,
};

const shared: Recording<QuestionOf<"shared_key">, { readonly claim: number | null }> = {
  usual: () => ({ claim: 1 }),
  isUsual: ({ claim }) => claim === 1,
};

const checked: Recording<QuestionOf<"check">, { readonly ok: boolean } | null> = {
  usual: () => ({ ok: true }),
  isUsual: (verdict) => verdict?.ok === true,
};

const foundEvent: Recording<QuestionOf<"find_event">, FoundEvent> = {
  usual: () => ({ event: null, passed: [] }),
  isUsual: ({ event, passed }) => event === null && passed.length === 0,
};

const foundGrant: Recording<Question, GrantFound> = {
  usual: () => ({ grant: null }),
  isUsual: ({ grant }) => grant === null,
};

const queuePlace: Recording<QuestionOf<"queue_place">, QueuePlace> = {
  usual: () => ({ isFree: true, ahead: 0 }),
  isUsual: ({ isFree, ahead }) => isFree && ahead === 0,
};

const checkedOutcome: Recording<QuestionOf<"check_outcome">, string | null> = {
  usual: () => null,
  isUsual: (problem) => problem === null,
};

/** An order reaches the children and the steps that it names; the children of those steps are recorded. */
const orderedChildren: Recording<QuestionOf<"order_children">, OrderedChildren> = {
  usual: ({ children, steps }) => ({ children, steps }),
  isUsual: ({ children }, asked) => children.length === asked.children.length,
};

/**
 * The messages to tiers that deciding puts as questions. Questions during a running call are reported with its end
 * instead.
 */
type TierQuestion =
  | "BudgetCheck"
  | "ContextRequest"
  | "PlanRequest"
  | "PolicyQuestion"
  | "StepQuestion"
  | "CallQuestion"
  | "ShownCall"
  | "GateJudgement"
  | "DelegationJudgement"
  | "GrantQuestion";

type Named = Exclude<Question["ask"], "data"> | TierQuestion;

const recordings: { readonly [N in Named]: Recording<Question, unknown> } = {
  BudgetCheck: onlyFailure,
  ContextRequest: {},
  PlanRequest: {},
  PolicyQuestion: {},
  StepQuestion: {},
  CallQuestion: {},
  ShownCall: {},
  GateJudgement: {},
  DelegationJudgement: {},
  GrantQuestion: foundGrant,
  text: { tags: true },
  error: {},
  initialize: onlyFailure,
  check: checked,
  parse: parsed,
  parse_result: parsed,
  check_outcome: checkedOutcome,
  estimate: { usual: () => null, isUsual: (estimate) => estimate === null },
  screen: screened,
  check_call: onlyFailure,
  show: {},
  present: {},
  hook: onlyFailure,
  derive: {},
  saved: onlyFailure,
  shared_key: shared,
  find_event: foundEvent,
  draft: { usual: () => null, isUsual: (outcome) => outcome === null },
  begin_child: {},
  find_child: {},
  roll_back_child: onlyFailure,
  note_fork: onlyFailure,
  order_children: orderedChildren,
  child_end: { usual: () => null, isUsual: (answer) => answer === null },
  queue_place: queuePlace,
  in_flight_place: onlyFailure,
  replace_others: { usual: () => [], isUsual: (answer) => (answer as readonly string[]).length === 0 },
  has_no_parent: { usual: () => false, isUsual: (answer) => answer === false },
};

const recordingOf = (question: Question): Recording<Question, unknown> =>
  recordings[(question.ask === "data" ? question.schema : question.ask) as Named];

/** Returns the data that a replay takes if no answer is recorded; undefined if an answer must be recorded. */
export const usualAnswer = (question: Question): unknown => recordingOf(question).usual?.(question);

export const isUsualAnswer = (question: Question, data: unknown): boolean =>
  recordingOf(question).isUsual?.(data, question) === true;

export function keptOf(question: Question, data: unknown): unknown {
  const { keep } = recordingOf(question);
  return keep === undefined ? data : keep(data, question);
}

/** Returns whether deciding reads the tags of the answer. */
export const readsTags = (question: Question): boolean => recordingOf(question).tags === true;

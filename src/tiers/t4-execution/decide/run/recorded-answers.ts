/**
 * The recording of answers: one row for each kind of question, next to the kinds themselves (`intention.ts`).
 *
 * Owns: which answers a ledger row leaves out, and what it keeps of the others. Never: records.
 * 1.  An answer that equals the usual answer of its question is left out; a replay takes the usual answer in its place.
 * 2.  What deciding does not read of an answer is not kept.
 * 3.  Of an answer about a person's edit nothing of the edit is kept.
 */
import type { Json } from "../../../../contract/json.ts";
import type { SchemaReading } from "../../../../contract/schema-reading.ts";
import type { FoundEvent, Question } from "./intention.ts";

export type QuestionOf<A extends Question["ask"]> = Extract<Question, { readonly ask: A }>;

/** How the answers to one kind of question are recorded. `T` is the data of an answer. */
interface Recording<Q extends Question, T> {
  /** Returns the data that is not recorded. */
  usual?(question: Q): T;
  /** Returns whether this data is the usual one. */
  isUsual?(data: T, question: Q): boolean;
  /** Returns what is recorded of the data; all of it where absent. */
  keep?(data: T, question: Q): unknown;
  /** The answer's tags are read. */
  readonly tags?: true;
}

/** Only the failure of such a question is read. */
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

const checkedOutcome: Recording<QuestionOf<"check_outcome">, string | null> = {
  usual: () => null,
  isUsual: (problem) => problem === null,
};

/** The questions with data that deciding puts to tiers. Those of a running call are reported, and the report is recorded. */
type TierQuestion =
  | "BudgetCheck"
  | "ContextRequest"
  | "PlanRequest"
  | "PolicyQuestion"
  | "StepQuestion"
  | "CallQuestion"
  | "ShownCall"
  | "GateJudgement"
  | "DelegationJudgement";

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
  text: { tags: true },
  error: {},
  initialize: onlyFailure,
  check: checked,
  parse: parsed,
  parse_result: parsed,
  check_outcome: checkedOutcome,
  screen: screened,
  check_call: onlyFailure,
  show: {},
  hook: onlyFailure,
  derive: {},
  saved: onlyFailure,
  shared_key: shared,
  find_event: foundEvent,
  draft: { usual: () => null, isUsual: (outcome) => outcome === null },
  begin_child: {},
  find_child: {},
  child_end: { usual: () => null, isUsual: (answer) => answer === null },
  has_no_parent: { usual: () => false, isUsual: (answer) => answer === false },
};

const recordingOf = (question: Question): Recording<Question, unknown> =>
  recordings[(question.ask === "data" ? question.schema : question.ask) as Named];

/** Returns the data that a replay takes where no answer is recorded; undefined where there must be one. */
export const usualAnswer = (question: Question): unknown => recordingOf(question).usual?.(question);

export const isUsualAnswer = (question: Question, data: unknown): boolean =>
  recordingOf(question).isUsual?.(data, question) === true;

export function keptOf(question: Question, data: unknown): unknown {
  const { keep } = recordingOf(question);
  return keep === undefined ? data : keep(data, question);
}

/** Returns whether deciding reads the tags of the answer. */
export const readsTags = (question: Question): boolean => recordingOf(question).tags === true;

/**
 * The JSON of inputs and answers as a row records them.
 *
 * Owns: the values that are withheld. Never: decides which inputs are recorded (`input-journal.ts`).
 * 1.  An edit and a signature are recorded by their digests: the answers hold the values that deciding made of an edit,
 *     and the vote holds a valid signature.
 * 2.  The result of a call and the result that a person stated are recorded if an event holds them.
 */
import { digest } from "../../contract/digest.ts";
import type { EventDraft } from "../../contract/event.ts";
import type { ReferenceWriter } from "../../contract/event-reference.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { TurnAnswer, TurnInput } from "../../contract/turn-input.ts";
import { questionName } from "./decide/run/answers.ts";
import type { Answered, CallEnd, CallOf, GateCommand } from "./decide/run/input.ts";
import type { Question } from "./decide/run/intention.ts";
import { isUsualAnswer, keptOf, readsTags } from "./decide/run/recorded-answers.ts";
import type { Handled, Received } from "./input-journal.ts";

/** The row that is sealed. */
interface SealedRow {
  readonly now: number;
  readonly drafts: readonly EventDraft[];
  readonly references: ReferenceWriter;
  /** Returns whether the command under this number still waits for an answer. */
  readonly waits: (re: number) => boolean;
}

type Recorded = { -readonly [K in "at" | "asks" | "ids" | "host" | "answers"]?: TurnInput[K] } & {
  readonly in: TurnInput["in"];
};

export function recordInput(handled: Handled, row: SealedRow): TurnInput {
  const { input, now, asks, ids, host, answers } = handled;
  const recorded: Recorded = { in: input.type, ...membersOf(handled, row) };
  if (now !== 0 && now !== row.now) recorded.at = now;
  if (asks.length > 0) recorded.asks = asks;
  if (ids.length > 0) recorded.ids = ids;
  if (host !== null) recorded.host = host;
  const kept = unusualOf(answers).map((one) => recordAnswer(one, row.references));
  if (kept.length > 0) recorded.answers = kept;
  return recorded as TurnInput;
}

function membersOf({ input, question }: Handled, row: SealedRow): object {
  const { references, drafts } = row;
  switch (input.type) {
    case "begin":
      return { facts: references.write(input.facts) };
    case "answered":
      return { scope: input.scope, key: input.key, ...answerOf(question, input.answer, references) };
    case "ended":
      return { ...callOf(input), end: references.write(endOf(input.end, drafts)) };
    case "reported":
      return { ...callOf(input), drafts: references.write(input.drafts.filter((one) => isNoted(one, drafts))) };
    case "decided":
      return { re: input.re, command: references.write(commandOf(input.command, input.re, row)) };
    case "commanded":
      return { re: input.re, command: references.write(input.command) };
    default:
      return {};
  }
}

/** Returns the answers to record: usual ones are left out, unless a recorded answer to the same question follows. */
function unusualOf(answers: readonly Received[]): readonly Received[] {
  const named = new Set<string>();
  const kept = answers.toReversed().filter((one) => {
    const name = questionName(one.scope, one.key);
    if (isUsual(one) && !named.has(name)) return false;
    named.add(name);
    return true;
  });
  return kept.reverse();
}

const isUsual = ({ question, answer: { error, data } }: Received): boolean =>
  error === null && isUsualAnswer(question, data);

const recordAnswer = ({ scope, key, question, answer }: Received, references: ReferenceWriter): TurnAnswer => ({
  scope,
  key,
  ...answerOf(question, answer, references),
});

type AnswerMembers = { -readonly [K in "data" | "error" | "tags"]?: TurnAnswer[K] };

function answerOf(question: Question | null, { data, error, tags }: Answered, references: ReferenceWriter) {
  const members: AnswerMembers = {};
  const kept = question === null || error !== null ? data : keptOf(question, data);
  if (kept !== null && kept !== undefined) members.data = references.write(withoutSignature(kept, references));
  if (error !== null) members.error = references.write(error);
  if (question !== null && readsTags(question)) members.tags = tags;
  return members;
}

/** Removes a signature that no vote of the row holds, because it was not valid. */
function withoutSignature(data: unknown, references: ReferenceWriter): unknown {
  const { signature = null } = Object(data) as { readonly signature?: unknown };
  return signature === null || references.holds(signature) ? data : { ...Object(data), signature: null };
}

/** Returns the identity of a call. Without a run, it is the step's first run. */
const callOf = ({ step_id, action_id, attempt, run }: CallOf) =>
  run === 1 ? { step_id, action_id, attempt } : { step_id, action_id, attempt, run };

/**
 * Returns the members of a call's end. If no event holds it, because its step had ended, neither its result nor its
 * error is recorded.
 */
function endOf(end: CallEnd, drafts: readonly EventDraft[]): JsonObject {
  const member = end.status === "succeeded" ? "result" : "error";
  const value = (end as unknown as JsonObject)[member];
  const isHeld = drafts.some(({ payload }) => (payload as unknown as JsonObject)[member] === value);
  const reported = { ...end, [member]: isHeld ? value : null } as unknown as JsonObject;
  return Object.fromEntries(
    Object.entries(reported).filter(([name, given]) => given !== usualEnd[name as keyof typeof usualEnd]),
  );
}

/** The usual members of an end, which are not recorded. */
export const usualEnd = { late: false, cached: false, over: true, sanitized: null, length: 0 } as const;

/**
 * Returns whether an event of the row holds a report. A batch of a stream gets its number when it is appended, so it is
 * compared by its type.
 */
const isNoted = (reported: EventDraft, drafts: readonly EventDraft[]): boolean =>
  drafts.some(
    ({ type, payload }) =>
      payload === reported.payload || (type === "STEP_STREAMED" && reported.type === "STEP_STREAMED"),
  );

function commandOf(command: GateCommand, re: number, { drafts, waits }: SealedRow): GateCommand {
  if (command.kind !== "decision") return command;
  const { edit, signature, result, answer } = command.request.payload;
  const payload: { -readonly [K in keyof typeof command.request.payload]: (typeof command.request.payload)[K] } = {
    ...command.request.payload,
  };
  if (edit !== undefined) payload.edit = digestOf(edit);
  if (signature !== undefined) payload.signature = digest(signature);
  const isHeld = waits(re) || drafts.some(({ type }) => type === "ACTION_SETTLED" || type === "GATE_VOTED");
  if (result !== undefined && !isHeld) payload.result = digestOf(result);
  if (answer !== undefined && !waits(re) && drafts.length === 0) payload.answer = digestOf(answer);
  return { ...command, request: { ...command.request, payload } };
}

const digestOf = (value: unknown): { readonly $digest: string } => ({ $digest: digest(value) });

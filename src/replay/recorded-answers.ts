/**
 * What the record says that a question was answered with; the rest is asked of the tiers and rules of now.
 *
 * Owns: the table of what a replay does not ask again: contexts, a host planner's plans, hooks, previews, screenings, routes,
 * other workflows' keys and counters.
 */

import type { KernelError } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { type EventPayloads, type EventType, type LedgerEvent, payloadOf } from "../contract/event.ts";
import { gateIdOf } from "../contract/gate.ts";
import type { Json } from "../contract/json.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { PolicyQuestion } from "../contract/policy.ts";
import { toStepResult } from "../contract/step.ts";
import type {} from "../tiers/t4-execution/decide/call/answer-key.ts";
import { isBlocking } from "../tiers/t4-execution/decide/run/end-step.ts";
import { type Answered, answered, failed } from "../tiers/t4-execution/decide/run/input.ts";
import type { Question, SharedKey } from "../tiers/t4-execution/decide/run/intention.ts";
import { sanitizedMarker } from "../tiers/t4-execution/decide/run/redact.ts";
import { judgedEarlier } from "./earlier-words.ts";
import { draftLeft, judgedLeft } from "./left-drafts.ts";
import type { EventOf, RecordedLog } from "./recorded-log.ts";
import { judgedEdit, judgedUnsigned, type SignedQuestion } from "./unknown-words.ts";

export interface Recorded {
  readonly log: RecordedLog;
  readonly stepId: string | null;
  /** The host plans itself. */
  readonly hasPlanner: boolean;
  readonly hasBudgets: boolean;
  /** The key of what is asked. */
  readonly key: string;
  /** What the row says that a question of the same scope failed with, by its key. */
  readonly failureOf: (key: string) => KernelError | null;
  /** Whether the row says so of a question of the same scope whose key begins like this. */
  readonly hasFailed: (start: string) => boolean;
  /** What kind of question the same pass waits for next, by the start of its key; null where it comes to its end. */
  readonly waitsFor: string | null;
  /** A word asks that came with an edit. */
  readonly edits: boolean;
}

/** What is asked fails: the way back out of the attempt waits for a hook. */
const isFailing = ({ waitsFor }: Recorded): boolean => waitsFor === "onError";

/** Undefined where the question is put to whoever answers it today. */
export function answerOf(question: Question, at: Recorded): Answered | undefined {
  const known = readAnswer(question, at);
  const failure = at.failureOf(at.key);
  return known === undefined || failure === null ? known : failed(failure);
}

function readAnswer(question: Question, at: Recorded): Answered | undefined {
  switch (question.ask) {
    case "data":
      return crashed(question.to, at.log) ?? dataOf(question.schema, question.data, at);
    case "initialize":
      return initialized(at.log);
    case "saved":
      return answered(null);
    case "parse_result":
      // The record holds it parsed.
      return answered({ ok: true, value: question.result, isSame: true });
    case "screen":
      return answered(screened(question.result, at));
    case "check_call":
    case "show":
      return toldOfCall(at);
    case "hook":
      return hooked(question, at);
    case "shared_key":
      return answered(shared(question.key, at));
    case "draft":
      return answered(draftLeft(at.log, question.step_id));
    default:
      return undefined;
  }
}

/** A tier that crashed over a question did so by chance: what the record holds next says so. */
function crashed(tier: number, { next }: RecordedLog): Answered | undefined {
  const error = next?.payload["error"] as KernelError | null | undefined;
  return error?.code === "T0_TIER_CRASHED" && error.source.tier === tier ? failed(error) : undefined;
}

function dataOf(schema: string, data: unknown, at: Recorded): Answered | undefined {
  const { log, stepId, hasPlanner, hasBudgets, edits } = at;
  if (edits && schema === "StepQuestion") return judgedEdit(at, "action", (data as { readonly payload: Json }).payload);
  if (edits && schema === "PolicyQuestion") {
    const { stage, subject } = data as PolicyQuestion;
    return judgedEdit(at, stage, subject.payload);
  }
  if (schema === "PolicyQuestion") return judgedLeft(log, data as PolicyQuestion, stepId ?? "");
  if (schema === "GateJudgement")
    return judgedUnsigned(log, data as SignedQuestion) ?? judgedEarlier(log, data as SignedQuestion);
  if (schema === "ContextRequest") {
    const built = log.find("CONTEXT_BUILT", null);
    return built === null ? failedWith(log, "WORKFLOW_FAILED") : answered(built.payload);
  }
  if (schema === "PlanRequest" && hasPlanner) return planned(at, (data as { readonly plan_id: string }).plan_id);
  return schema === "CallQuestion" && hasBudgets ? admitted(at) : undefined;
}

/** What ended the workflow instead; of a record that ends before, nothing is known. */
function failedWith(log: RecordedLog, type: "WORKFLOW_FAILED" | "PLAN_REJECTED"): Answered {
  const event = log.find(type, null) ?? log.find("WORKFLOW_FAILED", null);
  return failed(
    event === null
      ? kernelError(
          "T4_WORKFLOW_CONFLICT",
          "the record ends before this was answered",
          moduleRef(0, "replay", "answer"),
        )
      : payloadOf(event, type).error,
  );
}

/**
 * A plan that is asked for again after a restart has the name of the one that was rejected. Of one that policy was still
 * looking at when its process went nothing is on record, but that there was one.
 */
function planned({ log, waitsFor }: Recorded, planId: string): Answered {
  const rejected = log.find("PLAN_REJECTED", null)?.sequence ?? Number.POSITIVE_INFINITY;
  const created = log.find("PLAN_CREATED", null, ({ plan }, e) => plan.plan_id === planId && e.sequence < rejected);
  if (created !== null) {
    const { plan, planner_cost: cost } = created.payload;
    const cut = log.find("PLAN_TRUNCATED", null, (_payload, { sequence }) => sequence === created.sequence + 1);
    return answered({ plan, dropped: cut?.payload.dropped ?? [], cost });
  }
  const denied = log.find("POLICY_DECIDED", null, ({ subject }, e) => subject === planId && e.sequence < rejected);
  const outline = denied?.payload.payload;
  if (outline === undefined && waitsFor !== "judge") return failedWith(log, "PLAN_REJECTED");
  return answered({ plan: { steps: [], ...(outline as object | undefined), plan_id: planId }, dropped: [], cost: 0 });
}

/** What a call before this one gave back was noted, and not counted yet: it is asked for again behind its row. */
const spentForNow = kernelError(
  "T5_BUDGET_EXHAUSTED",
  "what is committed leaves too little",
  moduleRef(0, "replay", "answer"),
  { detail: { kind: "scoped_budget" } },
);

/** What a budget over workflows had left is known by what was reserved of it, or refused. */
function admitted({ log, stepId, waitsFor }: Recorded): Answered {
  if (waitsFor === "saved") return failed(spentForNow);
  const started = log.find("ACTION_STARTED", stepId)?.sequence ?? Number.POSITIVE_INFINITY;
  const before = <T extends keyof EventPayloads>(type: T): EventOf<T> | null =>
    log.find(type, stepId, (_payload, { sequence }) => sequence < started);
  const refused = before("BUDGET_REFUSED");
  if (refused !== null) return failed(refused.payload.error);
  const reserved = before("BUDGET_RESERVED");
  const ended = before("STEP_FAILED");
  // The budget could not be read.
  if (ended !== null && ended.sequence < (reserved?.sequence ?? Number.POSITIVE_INFINITY))
    return failed(ended.payload.error);
  if (reserved === null) return answered({ unlimited: false, reservation: null });
  const { counters, amounts } = reserved.payload;
  return answered({ unlimited: false, reservation: { counters, amounts } });
}

const ends: ReadonlySet<EventType> = new Set(["STEP_SKIPPED", "ERROR_ESCALATED", "WORKFLOW_FAILED"]);

function initialized(log: RecordedLog): Answered {
  const event = log.next !== undefined && ends.has(log.next.event_type) ? log.find("WORKFLOW_FAILED", null) : null;
  const error = event?.payload.error;
  return error?.code === "T0_KERNEL_INITIALIZE_FAILED" ? failed(error) : answered(null);
}

function screened(result: unknown, { log, stepId }: Recorded) {
  const ended = log.find("ACTION_SUCCEEDED", stepId)?.sequence ?? Number.POSITIVE_INFINITY;
  const isBefore = (_payload: unknown, { sequence }: LedgerEvent): boolean => sequence < ended;
  const sanitized = log.find("OUTPUT_SANITIZED", stepId, isBefore);
  if (sanitized !== null) {
    const { status } = toStepResult(result as never);
    const marker = { data: sanitizedMarker, output_text: sanitizedMarker, status };
    return { result: marker, sanitized: sanitized.payload.reason, length: 0 };
  }
  const unchecked = log.find("OUTPUT_UNCHECKED", stepId, isBefore);
  return { result, sanitized: null, length: unchecked?.payload.length ?? 0 };
}

/**
 * What an operator said of a call is known by what came of it: the gate that shows this payload, or the step's failure. Else
 * the call could be made, and all is as it was shown.
 */
function toldOfCall(at: Recorded): Answered {
  const { log, stepId, key, waitsFor, edits } = at;
  const standing = log.record.gates.get(gateIdOf(stepId ?? ""));
  const isOfEdit = edits && waitsFor === "judge" && !key.endsWith(`:${standing?.payload_digest}`);
  const isOfThis = ({ gate }: EventPayloads["GATE_OPENED"]): boolean => key.endsWith(`:${gate.payload_digest}`);
  // A gate is there at once, but for the judgement of what was said ahead, or of an edit that decides, and where it is shown
  // anew but for the check of its call; a failure, but for the hooks on the way back.
  const isLater = waitsFor === "kept" || waitsFor === "check_call" || isOfEdit;
  const find = isLater ? log.find.bind(log) : log.findLeft.bind(log);
  const gates = [find("GATE_OPENED", stepId, isOfThis), find("GATE_REVISED", stepId, isOfThis)];
  const findEnd = isFailing(at) ? log.find.bind(log) : find;
  // While an edit is judged others may vote on what was shown before.
  const next = first([...gates, ...(isOfEdit ? [] : goingOn.map((type) => findEnd(type, stepId)))]);
  if (next?.event_type === "STEP_FAILED") return failed(payloadOf(next, "STEP_FAILED").error);
  const shown = gates.find((opened) => opened === next)?.payload.gate;
  const gate = shown ?? standing;
  return answered({ preview: gate?.preview ?? "", diff: gate?.diff ?? null, basis: gate?.basis ?? [] });
}

/** How a step goes on where no gate opens, or ends. */
const goingOn = [
  "USER_APPROVED",
  "GATE_VOTED",
  "ACTION_STARTED",
  "BUDGET_REFUSED",
  "USER_REJECTED",
  "GATE_EXPIRED",
  "OPERATOR_ALERT",
  "STEP_FAILED",
] as const;

const first = (found: readonly (LedgerEvent | null)[]): LedgerEvent | null =>
  found.reduce((one, other) => (one === null || (other !== null && other.sequence < one.sequence) ? other : one), null);

/**
 * A hook that said no before a call left a blocked step, or a start that made no call and its failure: at once, or when the
 * way back was through. One that did otherwise left what a call would have left.
 */
function hooked({ phase }: Extract<Question, { readonly ask: "hook" }>, at: Recorded): Answered {
  const error = phase === "before" ? (attemptFailed(at) ?? stepBlocked(at)) : null;
  return error === null ? answered(null) : failed(error);
}

function attemptFailed(at: Recorded): KernelError | null {
  const { log, stepId } = at;
  const started = first([behindOf(at), log.find("ACTION_IN_DOUBT", stepId)]);
  const ended = log.find("ACTION_FAILED", stepId);
  if (started === null || ended?.sequence !== started.sequence + 1 || !isOfOneInput(log, started, ended)) return null;
  if (!isFailing(at) && log.findLeft("ACTION_STARTED", stepId) === null) return null;
  const { cached, error } = ended.payload;
  return cached || started.payload["token"] !== undefined ? null : error;
}

const isOfOneInput = ({ rows }: RecordedLog, first: LedgerEvent, last: LedgerEvent): boolean =>
  rows.some(({ inputs }) => inputs.some(({ from, until }) => from < first.sequence && last.sequence <= until));

function stepBlocked(at: Recorded): KernelError | null {
  const { log, stepId } = at;
  if (!isFailing(at) && log.findLeft("STEP_FAILED", stepId) === null) return null;
  const started = log.find("ACTION_STARTED", stepId)?.sequence ?? Number.POSITIVE_INFINITY;
  const denied = log.find("STEP_FAILED", stepId, (_payload, { sequence }) => sequence < started);
  if (denied === null) return null;
  const refused = log.find("BUDGET_REFUSED", stepId, (_payload, { sequence }) => sequence < denied.sequence);
  const { error } = denied.payload;
  return refused === null && isBlocking(error) ? error : null;
}

/**
 * What other workflows had made of a key is known by how the step goes on. Where a result is screened behind it, or hooks of a
 * step without a gate are asked or have failed, no gate was opened and no call made: the work was done elsewhere. A gate that
 * opens says it was not, also where what was said ahead let the same pass through to the hooks. What no hook failed, and is on
 * its way back with no attempt begun, is a call in doubt elsewhere.
 */
function shared(key: string, at: Recorded): SharedKey {
  const answer = sharedBy(key, at);
  // The budget, or the operator itself, was asked about a call: nobody had made it yet, whoever made it before this pass ended.
  if (asksOfCall.has(at.waitsFor) && answer.claim === null) return { claim: 1 };
  const isOpened = at.log.findLeft("GATE_OPENED", at.stepId) !== null;
  const isScreened = at.waitsFor === "screen" || at.hasFailed("screen");
  const isOnWayBack = isFailing(at) && at.log.findLeft("ACTION_STARTED", at.stepId) === null;
  const isBlocked = at.hasFailed("before:") && (isOnWayBack || stepBlocked(at) !== null);
  const isBehind = isBlocked || at.waitsFor === "before" || attemptFailed(at) !== null;
  const isPassed = isScreened || (isBehind && !at.log.record.gates.has(gateIdOf(at.stepId ?? "")));
  if (answer.claim === null) return answer;
  if (isPassed && !isOpened) return doneElsewhere;
  return isOnWayBack ? inDoubtElsewhere : answer;
}

/** The kinds of question that are asked only about a call which no other workflow has made. */
const asksOfCall: ReadonlySet<string | null> = new Set(["admit", "check_call", "show"]);

/** A gate that is approved by what was said ahead is passed at once: what was heard before it answers the call behind it too. */
function sharedBy(key: string, at: Recorded): SharedKey {
  const { log, stepId } = at;
  const behind = behindOf(at);
  const opened = first([log.find("GATE_OPENED", stepId), log.find("GATE_REVISED", stepId)]);
  if (opened === null || first([opened, behind]) !== opened) return sharedIn(behind, key, log);
  const approved = log.find("USER_APPROVED", stepId);
  if (approved === null || !isOfOneInput(log, opened, approved)) return { claim: 1 };
  const answer = sharedIn(behind, key, log);
  return answer.claim === null && answer.succeeded ? { claim: 1 } : answer;
}

/** What the step came to next: an attempt, or its end without one. */
const behindOf = ({ log, stepId }: Recorded): LedgerEvent | null =>
  first([log.find("ACTION_STARTED", stepId), log.find("STEP_FAILED", stepId)]);

function sharedIn(next: LedgerEvent | null, key: string, log: RecordedLog): SharedKey {
  if (next === null) return { claim: 1 };
  if (next.event_type === "STEP_FAILED") return inDoubt(payloadOf(next, "STEP_FAILED").error, isCalled(key, log));
  const { action_id, claim = 1, key: started, token } = payloadOf(next, "ACTION_STARTED");
  const ended = first((["ACTION_SUCCEEDED", "ACTION_FAILED"] as const).map((type) => log.find(type, next.step_id)));
  // What was answered from a record was admitted as no call; so was what waited for a call that another step made first.
  const isAnswered = started === key && token === undefined && ended?.payload["cached"] === true;
  if (!isAnswered || isCalled(key, log, next.sequence)) return { claim };
  return { ...unknownCall, action_id, ...answerIn(ended) };
}

const unknownCall = {
  claim: null,
  workflow_id: "",
  action_id: "",
  payload_hash: null,
  result: null,
  failure: null,
} as const;
const doneElsewhere: SharedKey = { ...unknownCall, succeeded: true };
const doneOtherwise: SharedKey = { ...doneElsewhere, payload_hash: "of another payload" };
const inDoubtElsewhere = { ...unknownCall, succeeded: false } satisfies SharedKey;

function answerIn(ended: LedgerEvent) {
  if (ended.event_type === "ACTION_FAILED")
    return { succeeded: false, failure: payloadOf(ended, "ACTION_FAILED").error };
  const { result, answered_by = "" } = payloadOf(ended, "ACTION_SUCCEEDED");
  return { workflow_id: answered_by, result, succeeded: true };
}

/** Whether a step of this workflow calls the key until then: its work was not done elsewhere. */
function isCalled(key: string, log: RecordedLog, until = Number.POSITIVE_INFINITY): boolean {
  const called = log.find("ACTION_STARTED", undefined, (started) => started.key === key && started.token !== undefined);
  return called !== null && called.sequence < until;
}

/** What its call gave elsewhere was screened here, and of no use; or nobody knows what became of it. */
function inDoubt({ code, detail }: KernelError, isCalledHere: boolean): SharedKey {
  if (code === "T4_OUTPUT_INVALID" && !isCalledHere) return doneElsewhere;
  if (code === "T4_IDEMPOTENCY_PAYLOAD_MISMATCH" && !isCalledHere) return doneOtherwise;
  if (code !== "T4_ACTION_IN_DOUBT") return { claim: 1 };
  return { ...inDoubtElsewhere, action_id: String(detail["action_id"]) };
}

/**
 * One attempt of a step: the before-chain, and the answer of its key.
 *
 * 1.  Policy and Approval are asked before the first attempt, in the pass that begins it. Their recorded answer holds
 *     for further attempts, which are the same call. A failure before both have passed ends the step.
 * 2.  Nothing is called unless the whole before-chain has passed; the call is an intention behind its start.
 */

import { type KernelError, raise } from "../../../../contract/error.ts";
import { draft, type EventPayloads } from "../../../../contract/event.ts";
import { type GateReason, gateIdOf, isOpenGate } from "../../../../contract/gate.ts";
import { admitCall, dropHold, requireUnspent, reserve, tokenOf } from "../call/admit-call.ts";
import { admitPayload } from "../call/admit-payload.ts";
import { answerKey, findDoubted, isCalledNoMore, isRunning, type KeyState, keyOf } from "../call/answer-key.ts";
import type { Failed } from "../call/attempts.ts";
import { failureOf, noteScreening, outcomeIdOf, successOf } from "../call/end-call.ts";
import { writeTimeout } from "../call/execution-context.ts";
import { backOut, contextOf, runBefore } from "../call/hooks.ts";
import { readThrown } from "../call/read-thrown.ts";
import { reopenIfJudged, reopenIfMoved } from "../gate/check-basis.ts";
import { approvalReasons, describeGate, noteRevised, notifyGate, openGate } from "../gate/open-gate.ts";
import { keepPayload, type Prepared, prepareStep } from "../payload/prepare-step.ts";
import { gateDenied, isBlocking } from "../run/end-step.ts";
import { toHost } from "../run/intention.ts";
import { ask, callIdOf, gateNow, parked, pending, type Run, stepOf } from "../run/run.ts";
import { settleFailure } from "./settle-failure.ts";

const fallbackTimeoutSec = 60;

export interface Attempt {
  readonly prepared: Prepared;
  readonly attempt: number;
  /** True if the call was started before and its end is not known; it may be made again under its key. */
  readonly recovered: boolean;
}

/** Makes the next attempt of a step. @throws pending, parked; KernelErrorException if the step is denied. */
export function attemptStep(run: Run, stepId: string, recovered: boolean): void {
  const step = stepOf(run, stepId);
  const before = prepareStep(run, stepId);
  const attempt = recovered ? Math.max(1, step.attempt) : step.attempt + 1;
  const prepared = attempt > 1 || recovered ? asBegun(run, before) : before;
  const passed = passBefore(run, { prepared, attempt, recovered });
  if (passed !== null) makeAttempt(run, passed);
}

/**
 * Returns the call of a repeated attempt: the started one, with its payload and under its key. The step's params, its
 * schema or policy might make another call by now, which nobody was asked about.
 */
function asBegun(run: Run, before: Prepared): Prepared {
  const { step, operator, gate } = before;
  const begun = run.log.record.actions.get(stepOf(run, step.step_id).action_id ?? "")?.record;
  if (gate !== null || begun === undefined) return before;
  const { input_payload: payload, payload_hash: hash, idempotency_key: key } = begun;
  if (hash === before.hash) return { ...before, key };
  return { ...before, ...keepPayload(run, operator, payload, { hash, check: "check:begun" }), key };
}

/**
 * Runs the before-chain and returns the attempt that it passes. Returns null if a custom hook stopped it, which is
 * appended.
 */
function passBefore(run: Run, at: Attempt): Attempt | null {
  const { step, operator } = at.prepared;
  let { prepared } = at;
  let context = contextOf(run, prepared, at.attempt, at.attempt > 1 || prepared.gate !== null);
  const stopped = orBackOut(run, step.step_id, () =>
    runBefore(run, context, (name) => {
      if (name === "Policy") {
        if (prepared.gate === null && prepared.key === undefined) prepared = admitPayload(run, prepared);
        context = contextOf(run, prepared, at.attempt, true);
      } else if (name === "Approval") askApproval(run, at, prepared);
      else if (name === "Timeout") writeTimeout(context, operator.metadata.timeout_sec);
    }),
  );
  if (stopped === null) return { ...at, prepared };
  backOut(run, step.step_id, "onError");
  if (isBlocking(stopped)) raise(stopped);
  failBefore(run, { ...at, prepared }, stopped);
  return null;
}

/** Runs Policy or Approval; an error of theirs ends the step, after the chain has run back. */
function orBackOut<T>(run: Run, stepId: string, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    if (thrown === pending || thrown === parked || run.log.lost !== null) throw thrown;
    backOut(run, stepId, "onError");
    return raise(readThrown(thrown));
  }
}

/** Opens the gate if a person is demanded; passes if the gate was approved and its basis still holds. */
function askApproval(run: Run, { attempt, recovered }: Attempt, prepared: Prepared): void {
  const { gate: approved } = prepared;
  if (approved !== null) {
    const isFirstCall = attempt === 1 && !recovered && !isCalledNoMore(run, prepared, keyOf(run, prepared));
    if (isFirstCall && (reopenIfMoved(run, prepared, approved) || reopenIfJudged(run, prepared, approved)))
      park(run, prepared, gateNow(run, approved.gate_id).reasons);
    return;
  }
  const reasons = approvalReasons(run, prepared);
  if (reasons.length === 0) return;
  const gateId = gateIdOf(prepared.step.step_id);
  const closed = run.log.record.gates.get(gateId);
  if (closed === undefined && isCalledNoMore(run, prepared, keyOf(run, prepared))) return;
  if (closed?.status === "approved") {
    noteRevised(run, "regenerate", describeGate(run, prepared, reasons));
    park(run, prepared, reasons);
  }
  if (closed !== undefined && !isOpenGate(closed)) raise(gateDenied(closed));
  if (!openGate(run, describeGate(run, prepared, reasons))) park(run, prepared, reasons);
  const gate = run.log.record.gates.get(gateId);
  if (gate?.status === "rejected") raise(gateDenied(gate));
}

/** Parks the step at its gate and notifies people. @throws parked. */
function park(run: Run, { step }: Prepared, reasons: readonly GateReason[]): never {
  notifyGate(run, step.step_id, reasons);
  throw parked;
}

/**
 * Ends an attempt that a custom hook failed before the call. If an earlier call is in doubt, the failure does not
 * settle it.
 */
function failBefore(run: Run, at: Attempt, error: KernelError): void {
  const { step_id } = at.prepared.step;
  const key = keyOf(run, at.prepared);
  const doubted = findDoubted(run, at.prepared, key);
  if (doubted !== null) return settleFailure(run, step_id, doubtful(doubted));
  const failed = { error, pending: isRunning(run, key), cached: false };
  settleFailure(run, step_id, noteFailure(run, { ...at, key }, failed));
}

/** An attempt whose key is known. */
interface Keyed extends Attempt {
  readonly key: string;
}

/**
 * Returns the start of a key's action. The payload is recorded with the first start, and again if a first call has
 * another payload.
 */
function startOf(run: Run, { prepared, attempt, recovered, key }: Keyed, shared?: string): Started {
  const { keys, actions } = run.log.record;
  const { step, operator, payload, hash } = prepared;
  const action_id = shared ?? keys.get(key) ?? run.drawId("action");
  const held = actions.get(action_id);
  const isAnother = held?.seen === "unseen" && held.record.payload_hash !== hash;
  const started = {
    operator_name: operator.metadata.name,
    attempt,
    action_id,
    key,
    operator_version: operator.metadata.version,
    payload_hash: hash,
    timeout_ms: timeoutOf(prepared),
  } as Started;
  if (held === undefined || isAnother) started.input = payload;
  if (recovered) started.recovered = true;
  started.outcome_id = outcomeIdOf(run, step);
  return started;
}

type Started = { -readonly [K in keyof EventPayloads["ACTION_STARTED"]]: EventPayloads["ACTION_STARTED"][K] };

const timeoutOf = ({ operator }: Prepared): number => 1000 * (operator.metadata.timeout_sec || fallbackTimeoutSec);

function makeAttempt(run: Run, { prepared, attempt, recovered }: Attempt): void {
  const { step_id } = prepared.step;
  const at = { prepared, attempt, recovered, key: keyOf(run, prepared) };
  run.mark?.("skill.execute", { step_id, attempt, timeout_ms: timeoutOf(prepared) });
  const known = answerKey(run, at);
  // Another step may have made the call while the budget was asked for this step's own call.
  if (known.seen !== "unseen") dropHold(run, step_id);
  switch (known.seen) {
    case "unseen":
      return startCall(run, known.recovered ? { ...at, recovered: true } : at, known.claim);
    case "succeeded":
      return answerFromRecord(run, at, known);
    case "running":
      return run.intend({ do: "join", ...awaitCall(run, at, startOf(run, at)) });
    case "spent":
      // The answer of another workflow's call cannot be used: this attempt fails with it, without a call.
      return settleAfter(run, step_id, noteFailure(run, at, { ...known, pending: false, cached: true }));
    case "failed_final":
      return settleAfter(run, step_id, { ...known, pending: false, cached: true });
    default:
      return settleAfter(run, step_id, doubtful(known.action_id));
  }
}

const doubtful = (action_id: string): Failed => ({ action_id, error: null, pending: true, cached: false });

/** Ends the attempt with the failure that its key answers, without a call. */
function settleAfter(run: Run, stepId: string, failed: Failed): void {
  backOut(run, stepId, "onError");
  settleFailure(run, stepId, failed);
}

/** Appends an attempt that fails without a call: its start and its failure. */
function noteFailure(run: Run, at: Keyed, { action_id: shared, error, pending, cached }: Failing): Failed {
  const { step_id } = at.prepared.step;
  const started = startOf(run, at, shared);
  const failed = { action_id: started.action_id, error, pending, cached };
  run.log.note(draft("ACTION_STARTED", started, step_id));
  run.log.note(failureOf(run, step_id, { attempt: at.attempt, ...failed, usage: {} }));
  return failed;
}

interface Failing extends Omit<Failed, "action_id"> {
  readonly error: KernelError;
  /** The action whose call counts as this attempt; if absent, the action of the key. */
  readonly action_id?: string;
}

function startCall(run: Run, at: Keyed, claim: number | null): void {
  const { prepared, key } = at;
  const { step_id } = prepared.step;
  if (prepared.gate !== null && at.attempt === 1 && !at.recovered) requireUnspent(run, step_id);
  const reservation = admitCall(run, prepared, timeoutOf(prepared));
  try {
    const started = startOf(run, at);
    if (claim !== null) started.claim = claim;
    started.token = tokenOf(run, prepared);
    const { action_id } = started;
    const isFirst = !run.log.record.actions.has(action_id);
    const charged = reservation === null ? null : reserve(run, step_id, { action_id, reservation });
    const call = awaitCall(run, at, started);
    run.handles.set(callIdOf(call), { key, charged });
    const { attempt, run: made, timeout_ms } = call;
    const { payload } = prepared;
    run.intend({ do: "call", step_id, action_id, attempt, run: made, key, timeout_ms, isFirst, payload });
  } finally {
    if (reservation !== null) dropHold(run, step_id);
  }
}

/**
 * Appends the start and makes the step wait for the call: a new one, or one that is running, within the step's own
 * time.
 */
function awaitCall(run: Run, { prepared, attempt, key }: Keyed, started: Started) {
  const { step_id } = prepared.step;
  const { action_id, timeout_ms } = started;
  run.log.note(draft("ACTION_STARTED", started, step_id));
  run.calls.set(step_id, { action_id, attempt, made: false });
  return { step_id, action_id, attempt, run: stepOf(run, step_id).run, key, timeout_ms };
}

/** Ends the attempt with the stored result, as screening allows it today. */
function answerFromRecord(run: Run, at: Keyed, known: Extract<KeyState, { readonly seen: "succeeded" }>): void {
  const { step_id } = at.prepared.step;
  const { action_id, usage, answered_by, takesOver } = known;
  run.mark?.("security.validate_output", { step_id });
  const screened = ask(run, "screen", toHost("screen", { result: known.result }));
  run.log.note(draft("ACTION_STARTED", startOf(run, at, action_id), step_id));
  noteScreening(run, step_id, screened);
  const from = answered_by === null ? {} : { answered_by, ...(takesOver && { takes_over: true as const }) };
  const ended = { attempt: at.attempt, action_id, result: screened.result, usage, cached: true, ...from };
  run.log.note(successOf(run, step_id, ended, false));
}

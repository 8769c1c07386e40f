/**
 * One attempt of a step: the before-chain, and what its key answers (seed 002 section 6).
 *
 * A1  Policy and Approval are asked on the first attempt and their answer, which is in the ledger, stands for the rest. What
 *     fails before both have passed ends the step: no further attempt would ask them.
 * A2  Nothing is called unless the whole before-chain has passed; the call is an intention behind its start.
 */
import type { Usage } from "../../../contract/action.ts";
import { type KernelError, raise } from "../../../contract/error.ts";
import { draft } from "../../../contract/event.ts";
import { type GateReason, gateIdOf, isOpenGate } from "../../../contract/gate.ts";
import type { Json } from "../../../contract/json.ts";
import { askAdmission, releaseHold, reserve, standingAdmission, tokenOf } from "./admit-call.ts";
import { admitPayload, applyDecision } from "./admit-payload.ts";
import { answerKey, findDoubted, isDoneElsewhere, keyOf } from "./answer-key.ts";
import { reopen, reopenIfMoved } from "./check-basis.ts";
import { failureOf, noteScreening, type Screened } from "./end-call.ts";
import { humanDenied, isBlocking } from "./end-step.ts";
import { writeTimeout } from "./execution-context.ts";
import { backOut, chainOf, contextOf, readThrown } from "./hooks.ts";
import { isFixed, runBefore } from "./middleware.ts";
import { approvalReasons, describeGate, notifyGate, openGate } from "./open-gate.ts";
import { type Prepared, prepareStep } from "./prepare-step.ts";
import { ask, callIdOf, isUnderWay, outcomeOfStep, parked, pending, type Run, stepOf } from "./run.ts";
import { type Failed, settleFailure } from "./settle-failure.ts";

const fallbackTimeoutSec = 60;

export interface Attempt {
  readonly prepared: Prepared;
  readonly attempt: number;
  /** The call was begun before and its end is not known; it may be made again under its key. */
  readonly recovered: boolean;
}

/** @throws pending, parked; KernelErrorException where the step is denied. */
export function attemptStep(run: Run, stepId: string, recovered: boolean): void {
  const step = stepOf(run, stepId);
  const before = prepareStep(run, stepId);
  const attempt = recovered ? Math.max(1, step.attempt) : step.attempt + 1;
  // A retry skips Policy: what the standing decision made of the payload holds for it too.
  const prepared = attempt > 1 && step.decision !== null ? applyDecision(run, before, step.decision) : before;
  const passed = passBefore(run, { prepared, attempt, recovered });
  if (passed !== null) makeAttempt(run, passed);
}

/** The attempt as the before-chain let it through; null where it was refused, which is noted. */
function passBefore(run: Run, at: Attempt): Attempt | null {
  const { step, operator } = at.prepared;
  const current = { prepared: at.prepared, reached: "" };
  const context = contextOf(run, at.prepared, at.attempt);
  const chain = chainOf(run, step.step_id, {
    Trace: { before: () => undefined },
    Policy: {
      before: () => {
        if (current.prepared.gate === null) current.prepared = admitPayload(run, current.prepared);
      },
    },
    Approval: { before: () => askApproval(run, at, current.prepared) },
    Timeout: { before: () => writeTimeout(context, operator.metadata.timeout_sec) },
  });
  const told = { step_id: step.step_id, attempt: at.attempt };
  try {
    runBefore(chain, context, (phase, name) => {
      current.reached = name;
      run.mark(`middleware.${phase}`, { name, ...told });
    });
    return { ...at, prepared: current.prepared };
  } catch (thrown) {
    if (thrown === pending || thrown === parked || run.log.lost !== null) throw thrown;
    backOut(run, step.step_id, "on_error");
    const error = readThrown(thrown);
    if (isBlocking(error) || isFixed(current.reached)) raise(error);
    noteFailed(run, { ...at, prepared: current.prepared }, error);
    return null;
  }
}

/** Opens the gate when anything asks for one; passes when it was approved, on what still stands. */
function askApproval(run: Run, { attempt, recovered }: Attempt, prepared: Prepared): void {
  const { gate: approved } = prepared;
  if (approved !== null) {
    const isFirstCall = attempt === 1 && !recovered;
    if (isFirstCall && reopenIfMoved(run, prepared, approved)) park(run, prepared, approved.reasons);
    return;
  }
  const reasons = approvalReasons(run, prepared);
  if (reasons.length === 0) return;
  const gateId = gateIdOf(prepared.step.step_id);
  const closed = run.log.record.gates.get(gateId);
  // The work was done already in a run that does the same: nothing is called, and nobody need be asked.
  if (closed === undefined && isDoneElsewhere(run, keyOf(run, prepared))) return;
  if (closed?.status === "approved") {
    reopen(run, "regenerate", describeGate(run, prepared, reasons));
    park(run, prepared, reasons);
  }
  if (closed !== undefined && !isOpenGate(closed)) raise(humanDenied(closed.gate_id, closed.status));
  if (!openGate(run, describeGate(run, prepared, reasons))) park(run, prepared, reasons);
  const gate = run.log.record.gates.get(gateId);
  if (gate?.status === "rejected") raise(humanDenied(gate.gate_id, "rejected"));
}

/** The step waits for a person, who is told. */
function park(run: Run, { step }: Prepared, reasons: readonly GateReason[]): never {
  notifyGate(run, step.step_id, reasons);
  throw parked;
}

/** A failure of a custom hook before the call is an attempt that failed; of an earlier call in doubt it says nothing. */
function noteFailed(run: Run, at: Attempt, error: KernelError): void {
  const { step } = at.prepared;
  const key = keyOf(run, at.prepared);
  const doubted = findDoubted(run, at.prepared, key);
  if (doubted !== null) return settleFailure(run, step.step_id, { ...doubtful(doubted), pending: true, cached: false });
  const started = startOf(run, at, key);
  // An earlier attempt's call may still be under way: its key stays running.
  const end = { usage: {}, pending: isUnderWay(run, key), cached: false };
  run.log.note(draft("ACTION_STARTED", started, step.step_id));
  run.log.note(
    failureOf(run, { attempt: at.attempt, stepId: step.step_id }, { action_id: started.action_id, error, ...end }),
  );
  settleFailure(run, step.step_id, { action_id: started.action_id, error, ...end });
}

/** The start of a key's action; its payload is written down with the first one, and again where a first call has another. */
function startOf(run: Run, { prepared, attempt, recovered }: Attempt, key: string, shared: string | null = null) {
  const { keys, actions } = run.log.record;
  const { step, operator, payload, hash } = prepared;
  const action_id = shared ?? keys.get(key) ?? run.log.drawId("action", step.step_id);
  const held = actions.get(action_id);
  const isAnother = held?.seen === "unseen" && held.record.payload_hash !== hash;
  return {
    operator_name: operator.metadata.name,
    attempt,
    action_id,
    key,
    operator_version: operator.metadata.version,
    payload_hash: hash,
    timeout_ms: timeoutOf(prepared),
    ...(held === undefined || isAnother ? { input: payload } : {}),
    ...(recovered ? { recovered: true } : {}),
    outcome_id: outcomeOfStep(run.log.record, step.applies ?? step.step_id)?.outcome_id ?? null,
  };
}

const timeoutOf = ({ operator }: Prepared): number => 1000 * (operator.metadata.timeout_sec || fallbackTimeoutSec);

function makeAttempt(run: Run, at: Attempt): void {
  const { prepared } = at;
  const { step_id } = prepared.step;
  const key = keyOf(run, prepared);
  run.mark("skill.execute", { step_id, attempt: at.attempt, timeout_ms: timeoutOf(prepared) });
  const known = answerKey(run, at, key);
  switch (known.seen) {
    case "unseen":
      return startCall(run, { ...at, recovered: at.recovered || known.recovered }, { key, claim: known.claim });
    case "succeeded":
      return answerFromRecord(run, at, { key, ...known });
    case "running":
      return joinCall(run, at, { key, action_id: known.action_id });
    case "spent":
      return failFromRecord(run, at, { key, ...known });
    case "failed_final":
      return settleAfter(run, step_id, { ...known, pending: false, cached: true });
    default:
      return settleAfter(run, step_id, { ...doubtful(known.action_id), pending: true, cached: false });
  }
}

const doubtful = (action_id: string) => ({ action_id, error: null });

/** What the key says is the end of this attempt, without a call. */
function settleAfter(run: Run, stepId: string, failed: Failed): void {
  backOut(run, stepId, "on_error");
  settleFailure(run, stepId, failed);
}

function startCall(
  run: Run,
  at: Attempt,
  { key, claim }: { readonly key: string; readonly claim: number | null },
): void {
  const { prepared, attempt } = at;
  const { step_id } = prepared.step;
  if (standingAdmission(run, step_id) === null) askAdmission(run, prepared, timeoutOf(prepared));
  const started = { ...startOf(run, at, key), ...(claim === null ? {} : { claim }), token: tokenOf(run, prepared) };
  const { action_id, timeout_ms } = started;
  const charged = reserve(run, step_id, action_id);
  run.log.note(draft("ACTION_STARTED", started, step_id));
  run.calls.set(step_id, { action_id, key, attempt, made: false });
  const call = { step_id, action_id, attempt, run: stepOf(run, step_id).run, key, timeout_ms };
  run.handles.set(callIdOf(call), { key, charged });
  run.intend({ do: "call", ...call, payload: prepared.payload, input: prepared.input });
  releaseHold(run, step_id);
}

/** The stored result is this attempt's, as screening lets it through today. */
function answerFromRecord(
  run: Run,
  at: Attempt,
  known: {
    readonly key: string;
    readonly action_id: string;
    readonly result: Json;
    readonly usage: Usage;
    readonly answered_by: string | null;
  },
): void {
  const { step_id } = at.prepared.step;
  run.mark("security.validate_output", { step_id });
  const screened = ask<Screened>(run, "screen", { ask: "screen", result: known.result });
  const { operator_name, ...started } = startOf(run, at, known.key, known.action_id);
  run.log.note(draft("ACTION_STARTED", { operator_name, ...started }, step_id));
  noteScreening(run, step_id, screened);
  const { attempt, action_id, outcome_id } = started;
  const { answered_by, usage } = known;
  const from = answered_by === null ? {} : { answered_by };
  const ended = { operator_name, attempt, action_id, result: screened.result, usage, cached: true, ...from };
  run.log.note(draft("ACTION_SUCCEEDED", { ...ended, late: false, outcome_id }, step_id));
}

/** What another workflow's call was answered with is of no use here either: the failure is this attempt's, without a call. */
function failFromRecord(
  run: Run,
  at: Attempt,
  { key, action_id, error }: { readonly key: string; readonly action_id: string; readonly error: KernelError },
): void {
  const { step_id } = at.prepared.step;
  const end = { action_id, error, usage: {}, pending: false, cached: true };
  run.log.note(draft("ACTION_STARTED", startOf(run, at, key, action_id), step_id));
  run.log.note(failureOf(run, { attempt: at.attempt, stepId: step_id }, end));
  settleAfter(run, step_id, end);
}

/** A key whose call is under way is in progress: the attempt waits for its end, within its own time. */
function joinCall(
  run: Run,
  at: Attempt,
  { key, action_id }: { readonly key: string; readonly action_id: string },
): void {
  const { step_id } = at.prepared.step;
  const started = startOf(run, at, key);
  run.log.note(draft("ACTION_STARTED", started, step_id));
  run.calls.set(step_id, { action_id, key, attempt: at.attempt, made: false });
  const call = { step_id, action_id, attempt: at.attempt, run: stepOf(run, step_id).run, key };
  run.intend({ do: "join", ...call, timeout_ms: started.timeout_ms });
}

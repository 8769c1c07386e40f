/**
 * The key book of one step's attempt: the action ledger, seen from the operator boundary.
 *
 * Owns: which events a key's life writes.
 * B1  A start is committed before the call. An end is noted as soon as it is known.
 */
import type { OperatorResult, Usage } from "../../contract/action.ts";
import type { Reservation } from "../../contract/budget.ts";
import { digest } from "../../contract/digest.ts";
import { isRetryable, type KernelError, raise, toExecutorError } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { draft, type EventDraft } from "../../contract/event.ts";
import type { Json } from "../../contract/json.ts";
import { type ActionEntry, isTerminal } from "../../contract/workflow.ts";
import { askAdmission, releaseHold, standingAdmission, tokenOf } from "./admit-call.ts";
import { invokerRef, type KeyBook, type KeyState } from "./invoke-operator.ts";
import type { Prepared } from "./prepare-step.ts";
import { type Desk, outcomeOfStep, type Run } from "./run.ts";

export interface AttemptOf {
  readonly prepared: Prepared;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly timeoutMs: number;
  /** The previous process died during this attempt and the call may be made again under its key. */
  readonly recovered: boolean;
}

/**
 * Before the start is noted, and again when it is in the ledger: by then the log may be lost to another owner, the
 * workflow ended or its owner stopping. Then no call is made.
 */
function ensureOwn({ log, signal }: Run): void {
  if (log.lost !== null) raise(log.lost);
  if (isTerminal(log.record.state))
    raise(kernelError("T4_WORKFLOW_CONFLICT", "the workflow ended before the call began", invokerRef));
  signal.throwIfAborted();
}

export function createKeyBook(run: Run, at: AttemptOf): KeyBook {
  const { step, operator } = at.prepared;
  const outcomeId = (): string | null =>
    outcomeOfStep(run.log.record, step.applies ?? step.step_id)?.outcome_id ?? null;
  const common = { operator_name: operator.metadata.name, attempt: at.attempt };
  /** What another workflow made of the key; undefined until it was looked up. */
  let shared: SharedKey | null | undefined;
  /** What is set aside for the call that this book began, until it is settled. */
  let charged: Charged | null = null;
  let held: Promise<OperatorResult> | null = null;
  const settle = (usage: Usage): void => {
    if (charged !== null) settleCharge(run, step.step_id, { ...charged, usage });
    charged = null;
  };
  /** What runs side by side begins in the order of the record, where there is one. */
  let inTurn = false;
  return {
    consult(key) {
      if (shared === undefined && mayBeShared(run, key))
        return lookUp(run, key).then((found) => {
          shared = found;
        });
      const turn = inTurn ? null : run.log.turnOf(step.step_id);
      inTurn = true;
      if (turn !== null) return turn;
      if (!makesCall(run, at, key, shared ?? null)) return undefined;
      return standingAdmission(run, step.step_id) === null ? askAdmission(run, at.prepared, at.timeoutMs) : undefined;
    },
    find: (key, payload) => findKey(run, at, { key, payload, shared: shared ?? null }),
    async begin(key, payload, calls) {
      ensureOwn(run);
      const started = {
        ...startOf(run, at, key, payload),
        outcome_id: outcomeId(),
        ...(calls ? { token: tokenOf(run, at.prepared) } : {}),
      };
      const reservation = calls ? standingAdmission(run, step.step_id)?.reservation : null;
      charged = reservation == null ? null : reserve(run, step.step_id, started.action_id, reservation);
      run.log.recordAction(started, step.step_id);
      await commitStart(run, step.step_id);
      return started.action_id;
    },
    succeed(action_id, result, { usage, late, cached }) {
      const ended = { ...common, action_id, result, usage, cached, late, outcome_id: outcomeId() };
      noteEnd(run, draft("ACTION_SUCCEEDED", ended, step.step_id));
      settle(usage);
    },
    fail(action_id, error, { usage, pending, cached }) {
      // A call that was told to stop fails because of that: its key stays running for whoever takes the workflow up.
      if (run.signal.aborted) return isTerminal(run.log.record.state) ? settle(usage) : undefined;
      const judged = judgeFailure(at, error, pending);
      const ended = { ...common, action_id, ...judged, pending, usage, cached, outcome_id: outcomeId() };
      noteEnd(run, draft("ACTION_FAILED", ended, step.step_id));
      if (!pending) settle(usage);
    },
    hold(key, handle) {
      held = handle;
      run.handles.set(key, handle);
    },
    release(key, late) {
      // A person may have had the call made again meanwhile: that one's handle stays.
      if (run.handles.get(key) === held) run.handles.delete(key);
      if (!late) return;
      // The late end is told, and with nothing under way any more the run may rest.
      run.commitSoon();
      run.goOn();
    },
  };
}

/** The start is in the ledger, and what was set aside with it; the call may be made. */
async function commitStart(run: Run, stepId: string): Promise<void> {
  await run.log.commit();
  releaseHold(run, stepId);
  ensureOwn(run);
}

function mayBeShared({ log }: Run, key: string): boolean {
  const { keys, parent_workflow_id } = log.record;
  return !keys.has(key) && (key.startsWith("apply:") || parent_workflow_id !== null);
}

function lookUp({ log, desk }: Run, key: string): Promise<SharedKey | null> {
  const { parent_workflow_id, tenant_id, workflow_id } = log.record;
  return desk.findSharedKey({ tenant_id, key, workflow_id, parent_workflow_id });
}

/** What a failure means for the attempts that are left. */
function judgeFailure({ attempt, maxAttempts }: AttemptOf, error: KernelError, pending: boolean) {
  const retryable = isRetryable(error);
  const final = !pending && !(retryable && attempt < maxAttempts);
  return { error, category: toExecutorError(error).category, retryable, final };
}

/** The start of a key's action; its payload is written down with the first one. */
function startOf(run: Run, at: AttemptOf, key: string, payload: Json) {
  const { keys, actions } = run.log.record;
  const { step, operator } = at.prepared;
  const action_id = keys.get(key) ?? run.log.drawId("action", step.step_id);
  return {
    operator_name: operator.metadata.name,
    attempt: at.attempt,
    action_id,
    key,
    operator_version: operator.metadata.version,
    payload_hash: digest(payload),
    timeout_ms: at.timeoutMs,
    ...(actions.has(action_id) ? {} : { input: payload }),
    ...(at.recovered ? { recovered: true } : {}),
  };
}

/** Whether the key's answer is a call: it was never begun, or it failed and may be begun again. */
function makesCall(run: Run, at: AttemptOf, key: string, shared: SharedKey | null): boolean {
  const entry = run.log.record.actions.get(run.log.record.keys.get(key) ?? "");
  if (entry === undefined) return shared === null;
  return entry.seen === "failed_retryable" || (entry.seen === "running" && at.recovered);
}

/** What was set aside for one call: a key that is called again reserves again. */
interface Charged {
  readonly action_id: string;
  readonly reservation: Reservation;
  /** Epoch ms. */
  readonly started_at: number;
}

function reserve(run: Run, stepId: string, action_id: string, reservation: Reservation): Charged {
  const started_at = run.log.instantOf("BUDGET_RESERVED", stepId);
  run.log.note(draft("BUDGET_RESERVED", { action_id, ...reservation }, stepId));
  return { action_id, reservation, started_at };
}

/**
 * What was set aside for the call becomes what it used, as far as the operator said; what it did not say counts as
 * reserved. A call whose end nobody knows stays charged as reserved.
 */
function settleCharge(
  run: Run,
  stepId: string,
  { action_id, reservation, started_at, usage }: Charged & { readonly usage: Usage },
): void {
  if (run.log.lost !== null) return;
  const { counters, amounts: reserved } = reservation;
  const amounts = {
    tokens: usage.tokens?.total ?? reserved.tokens,
    money: usage.cost?.total ?? reserved.money,
    invocations: reserved.invocations,
    wall_ms: Math.max(0, run.log.instantOf("BUDGET_SETTLED", stepId) - started_at),
  };
  run.log.note(draft("BUDGET_SETTLED", { action_id, counters, reserved, amounts }, stepId));
  // Nobody else commits for a workflow that has ended.
  if (isTerminal(run.log.record.state)) run.commitSoon();
}

/** An end that comes when the step has no ear for it any more is logged, not recorded: final states ignore events. */
function noteEnd(run: Run, ended: EventDraft): void {
  if (run.log.lost === null && run.log.accepts(ended)) return run.log.note(ended);
  run.kit.logger.warn(
    { step_id: ended.step_id, workflow_id: run.log.identity.workflow_id },
    "an operator ended after its step",
  );
}

type SharedKey = NonNullable<Awaited<ReturnType<Desk["findSharedKey"]>>>;

interface Wanted {
  readonly key: string;
  readonly payload: Json;
  /** What another workflow made of the key. */
  readonly shared: SharedKey | null;
}

function findKey(run: Run, at: AttemptOf, { key, payload, shared }: Wanted): KeyState {
  const actionId = run.log.record.keys.get(key);
  const entry = actionId === undefined ? undefined : run.log.record.actions.get(actionId);
  if (entry !== undefined) return readEntry(run, at, { entry, key, payload });
  return shared === null ? { seen: "unseen" } : adoptShared(run, at, { key, shared });
}

function readEntry(
  run: Run,
  at: AttemptOf,
  { entry, key, payload }: Pick<Wanted, "key" | "payload"> & { readonly entry: ActionEntry },
): KeyState {
  const { record, seen } = entry;
  if (record.payload_hash !== digest(payload))
    raise(
      kernelError("T4_IDEMPOTENCY_PAYLOAD_MISMATCH", `key ${key} was used with another payload`, invokerRef, {
        detail: { key },
      }),
    );
  switch (seen) {
    case "succeeded":
      return { seen, action_id: record.action_id, result: record.result_payload, usage: usageOf(entry) };
    case "failed_retryable":
    case "failed_final":
      return { seen, action_id: record.action_id, error: record.error as KernelError };
    case "in_doubt":
      return { seen, action_id: record.action_id };
    default:
      return at.recovered
        ? { seen: "unseen" }
        : { seen: "running", action_id: record.action_id, handle: run.handles.get(key) ?? null };
  }
}

function usageOf({ record: { tokens, cost, trace } }: ActionEntry): Usage {
  return {
    ...(tokens === null ? {} : { tokens }),
    ...(cost === null ? {} : { cost }),
    ...(trace === null ? {} : { trace }),
  };
}

/** An apply key may have been used by another workflow of the same scope: its result answers here too. */
function adoptShared(
  run: Run,
  at: AttemptOf,
  { key, shared }: { readonly key: string; readonly shared: SharedKey },
): KeyState {
  if (!shared.succeeded) return { seen: "running", action_id: shared.action_id, handle: null };
  const { operator_name, attempt, action_id, ...start } = startOf(run, at, key, at.prepared.payload);
  const common = { operator_name, attempt, action_id, outcome_id: null };
  const ended = { ...common, result: shared.result, usage: {}, cached: true, late: false };
  const { step_id } = at.prepared.step;
  run.log.note(draft("ACTION_STARTED", { ...common, ...start }, step_id), draft("ACTION_SUCCEEDED", ended, step_id));
  return { seen: "succeeded", action_id, result: shared.result, usage: {} };
}

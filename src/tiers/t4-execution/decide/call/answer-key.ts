/**
 * The answer of an idempotency key, which alone decides whether an attempt makes a call.
 *
 * 1.  An unseen key makes a call. A succeeded one answers from the record, and a running one names its call. A failed
 *     one gives the same failure, unless a restart or a new plan may call it again. Without a key there is no call.
 * 2.  A key has one allowance of attempts in each plan: steps that share the key wait for one another's calls and get
 *     their answers.
 * 3.  A call without a known end is made again only if it may be repeated.
 */
import { type Usage, undoKey } from "../../../../contract/action.ts";
import { type KernelError, raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import type { Json } from "../../../../contract/json.ts";
import { moduleRef } from "../../../../contract/module-ref.ts";
import type { Operator } from "../../../../contract/operator.ts";
import { type ActionEntry, type StepRecord, stepsOf, type WorkflowRecord } from "../../../../contract/workflow.ts";
import { isRepeatable, type Prepared } from "../payload/prepare-step.ts";
import { type SharedKey, toHost } from "../run/intention.ts";
import { appliedBy, ask, isUnderWay, nameAsked, type Run } from "../run/run.ts";
import { deriveApplyKey } from "./derive-key.ts";
import { findKey } from "./find-work.ts";

export const invokerRef = moduleRef(4, "operator_invoker", "invoke");

/** The known state of a key. */
export type KeyState =
  | {
      readonly seen: "unseen";
      readonly recovered: boolean;
      /** The number of the call under the key; null if no other workflow can make it. */
      readonly claim: number | null;
    }
  | { readonly seen: "running" | "in_doubt"; readonly action_id: string }
  | {
      readonly seen: "succeeded";
      readonly action_id: string;
      readonly result: Json;
      readonly usage: Usage;
      /** The workflow whose record holds the result, if it is another one. */
      readonly answered_by: string | null;
      /** Whether that workflow has left the work, so that this one takes it over. */
      readonly takesOver: boolean;
    }
  /**
   * `spent`: another step's call counts as this attempt: its answer is of no use to another workflow, or that step has
   * made as many attempts already.
   */
  | { readonly seen: "failed_final" | "spent"; readonly action_id: string; readonly error: KernelError };

export function keyOf(run: Run, prepared: Prepared): string {
  const { record } = run.log;
  const { step, gate, key } = prepared;
  if (key !== undefined) return key;
  const undoing = undoKeyOf(record, step.step_id);
  if (undoing !== null) return undoing;
  const target = step.idempotency.strategy === "applies" ? appliedBy(record, step, gate) : null;
  return target === null ? findKey(record, prepared) : deriveApplyKey(record, target);
}

/**
 * Returns the key of the call that undoes a step: that of the undone call, so that all workflows that share this one
 * undo it once. Null if the step undoes nothing, or what it undoes was no call.
 */
function undoKeyOf({ steps, actions }: WorkflowRecord, stepId: string): string | null {
  const { as, of = "", index = 0 } = steps.get(stepId)?.added ?? {};
  const undone = as === "undo" ? actions.get(steps.get(of)?.action_id ?? "") : undefined;
  if (undone === undefined) return null;
  const key = undoKey(undone.record.idempotency_key);
  return index === 0 ? key : `${key}:${index + 1}`;
}

/** An attempt and its key. */
interface Asking {
  readonly prepared: Prepared;
  readonly attempt: number;
  readonly key: string;
}

/**
 * Returns the answer of a key to an attempt. @throws KernelErrorException T4_IDEMPOTENCY_PAYLOAD_MISMATCH,
 * T4_CALL_UNDONE.
 */
export function answerKey(run: Run, at: Asking): KeyState {
  const { prepared, key } = at;
  const entry = entryOf(run, key);
  const own = entry === null ? unseen(false) : readEntry(run, at, entry);
  if (own.seen !== "unseen") return own;
  const shared = sharedKey(run, key);
  if (shared === null) return own;
  const repeats = isRepeatable(prepared.operator);
  if (shared.claim !== null) return { ...own, claim: repeats ? null : shared.claim };
  const { action_id, result, workflow_id, failure } = shared;
  if (shared.undone === true) raise(callUndone(key, workflow_id));
  if (shared.succeeded) {
    requireApproved(prepared, shared.payload_hash, key);
    const takesOver = shared.left === true;
    return { seen: "succeeded", action_id, result, usage: {}, answered_by: workflow_id, takesOver };
  }
  if (failure !== null && !repeats) return { seen: "spent", action_id, error: failure };
  return repeats ? own : { seen: "in_doubt", action_id };
}

/**
 * Requires that the approved payload is the one that took effect. @throws KernelErrorException
 * T4_IDEMPOTENCY_PAYLOAD_MISMATCH.
 */
function requireApproved({ gate, hash }: Prepared, called: string | null, key: string): void {
  if (gate !== null && called !== null && called !== hash) raise(otherPayload(key));
}

const callUndone = (key: string, workflow_id: string): KernelError =>
  kernelError("T4_CALL_UNDONE", `the call under this key was made in ${workflow_id}, and undone there`, invokerRef, {
    detail: { key, workflow_id },
  });

const otherPayload = (key: string): KernelError =>
  kernelError("T4_IDEMPOTENCY_PAYLOAD_MISMATCH", `key ${key} was used with another payload`, invokerRef, {
    detail: { key },
  });

const unseen = (recovered: boolean) => ({ seen: "unseen", recovered, claim: null }) as const;

/** Returns the action of the key, or null if no call was made under it. */
function entryOf({ log: { record } }: Run, key: string): ActionEntry | null {
  const entry = record.actions.get(record.keys.get(key) ?? "") ?? null;
  return entry?.seen === "unseen" ? null : entry;
}

/**
 * Asks for the calls of other workflows under a key: of an apply key, those of any workflow in its scope; of any key,
 * those of the workflow that this one does again, and of others that do it again too. Returns null if there can be
 * none.
 */
function sharedKey(run: Run, key: string): SharedKey | null {
  const { regenerated_from, run: round } = run.log.record;
  const isShared = isApplyKey(key) || regenerated_from !== null || round > 1;
  if (!isShared) return null;
  // A new version of an outcome gives the step another key between two passes, and the question must then be put for
  // that key.
  return ask(run, nameAsked(run, "shared", key), toHost("shared_key", { key }));
}

/**
 * Returns whether no call will be made, so that no person need be asked: another workflow has done the work, or the key
 * refuses it.
 */
export function isCalledNoMore(run: Run, { hash }: Prepared, key: string): boolean {
  const entry = entryOf(run, key);
  if (entry !== null) return failsAlike(run, entry) || entry.record.payload_hash !== hash;
  const shared = sharedKey(run, key);
  return shared !== null && shared.claim === null && shared.succeeded;
}

/**
 * Returns whether a call may have taken effect and is not settled yet; another step's question about it does not settle
 * it.
 */
const isUnsettled = (entry: ActionEntry | null): boolean => entry?.seen === "running" || entry?.seen === "in_doubt";

/** Returns whether the step's newest call may have taken effect and is not settled yet. */
export const hasUnsettledCall = ({ log }: Run, { action_id }: StepRecord): boolean =>
  isUnsettled(log.record.actions.get(action_id ?? "") ?? null);

/**
 * Returns whether a call under the key is running and has no recorded end. A call that a person settled may still hang.
 */
export const isRunning = (run: Run, key: string): boolean => isUnderWay(run, key) && isUnsettled(entryOf(run, key));

/**
 * Returns the action of a key, of this step or of one that shares the key, that may have taken effect and is not
 * running; else null.
 */
export function findDoubted(run: Run, { operator }: Prepared, key: string): string | null {
  const entry = entryOf(run, key);
  if (entry === null || isUnderWay(run, key) || !isUnsettled(entry)) return null;
  return mayRepeat(run, operator, entry) ? null : entry.record.action_id;
}

/**
 * Returns whether a call without a known end may be made again: nobody is asked about it, and both the operator that
 * made it and the one that would repeat it may be repeated. They differ where steps share a key.
 */
function mayRepeat({ settings }: Run, operator: Operator, { seen, record }: ActionEntry): boolean {
  const maker = settings.registry.findOperator(record.operator_name, record.operator_version);
  return seen !== "in_doubt" && isRepeatable(operator) && isRepeatable(maker);
}

/**
 * Returns whether the person or plan that began or restarted this workflow knew that a call's answer cannot be used.
 */
export const isKnownSpent = ({ log: { record } }: Run, actionId: string): boolean =>
  record.spent_calls.includes(actionId) || record.actions.get(actionId)?.seen.startsWith("failed") === true;

function readEntry(run: Run, { prepared, attempt, key }: Asking, entry: ActionEntry): KeyState {
  const { operator, hash } = prepared;
  const { action_id, payload_hash, result_payload, error } = entry.record;
  if (payload_hash !== hash) raise(otherPayload(key));
  switch (entry.seen) {
    case "succeeded":
      return {
        seen: "succeeded",
        action_id,
        result: result_payload,
        usage: usageOf(entry),
        answered_by: null,
        takesOver: false,
      };
    case "failed_retryable":
      return error !== null && callsMade(run, entry) >= attempt ? { seen: "spent", action_id, error } : unseen(false);
    case "failed_final":
      return failsAlike(run, entry) ? { seen: "failed_final", action_id, error: error as KernelError } : unseen(false);
    case "in_doubt":
      return { seen: "in_doubt", action_id };
    default:
      if (isUnderWay(run, key)) return { seen: "running", action_id };
      return mayRepeat(run, operator, entry) ? unseen(true) : { seen: "in_doubt", action_id };
  }
}

/**
 * Returns the number of calls that a key has had in the newest plan: the steps that share it have one allowance. No
 * other step shares the key of an item.
 */
function callsMade({ log: { record } }: Run, { record: { action_id, step_id } }: ActionEntry): number {
  const owner = record.steps.get(step_id);
  const sharing = owner !== undefined && owner.added !== null ? [owner] : stepsOf(record);
  return Math.max(0, ...sharing.map((step) => (step.action_id === action_id ? step.attempt : 0)));
}

/**
 * Returns whether a repeated call gets the recorded failure: within the plan in which it failed. A new plan calls
 * again, except for a call that applies a version: that needs a restart or another version.
 */
const failsAlike = (run: Run, entry: ActionEntry): boolean =>
  entry.seen === "failed_final" && (isApplyKey(entry.record.idempotency_key) || callsMade(run, entry) > 0);

const isApplyKey = (key: string): boolean => key.startsWith("apply:");

function usageOf({ record: { tokens, cost, trace } }: ActionEntry): Usage {
  return {
    ...(tokens === null ? {} : { tokens }),
    ...(cost === null ? {} : { cost }),
    ...(trace === null ? {} : { trace }),
  };
}

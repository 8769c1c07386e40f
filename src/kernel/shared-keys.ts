/**
 * One idempotency key over all workflows that share it: for an apply key those of its scope, and for any key a workflow
 * and those that repeat its work.
 *
 * 1.  Each call that may take effect has a number, counted over all of them; the store gives a number to one workflow
 *     only, with the row of the call's start. The next number is free once the previous call has failed for certain. A
 *     start that made no call, because a hook refused it, uses up its number for all of them, including its own
 *     workflow.
 * 2.  A workflow that could share keys with no other when it ran has no numbers for its calls: its own record answers.
 * 3.  A call that was undone answers nobody: what it did is gone, and the same key would get the same answer outside.
 * 4.  A call that was answered with an unusable result was made: it passes its failure on to all that share the key,
 *     except to workflows that were begun or restarted in knowledge of it.
 */
import { claimedKey, undoKey } from "../contract/action.ts";
import { isAwaited } from "../contract/child.ts";
import { isSpent } from "../contract/spent-call.ts";
import type { WorkflowRecord } from "../contract/workflow.ts";
import type { LedgerReading } from "../engine/follow/ledger-reader.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import { isTakenBack } from "../tiers/t4-execution/decide/plan/compensate.ts";
import type { SharedKey } from "../tiers/t4-execution/decide/run/intention.ts";
import type { Services } from "../tiers/t4-execution/perform/services.ts";

interface Sources {
  readonly store: LedgerStore;
  readonly reading: LedgerReading;
}

type Question = Parameters<Services["findSharedKey"]>[0];

export async function findSharedKey({ store, reading }: Sources, question: Question): Promise<SharedKey> {
  const { tenant_id, key, workflow_id } = question;
  for (let claim = 1; ; claim += 1) {
    const holder = await store.findKey(tenant_id, claimedKey(key, claim));
    if (holder === null) {
      const made = await madeBefore(reading, question);
      return made === null ? { claim } : unlessUndone(store, question, made);
    }
    if (holder.workflow_id === workflow_id) continue;
    const made = await callIn(reading, await reading.readWorkflowState(holder.workflow_id), question);
    if (made !== null) return unlessUndone(store, question, made);
  }
}

/** Returns the call, marked as undone if another workflow that shares it has undone it. */
async function unlessUndone(store: LedgerStore, { tenant_id, key }: Question, made: SharedKey): Promise<SharedKey> {
  const holder = made.claim === null && made.succeeded ? await store.findKey(tenant_id, undoKey(key)) : null;
  return holder === null ? made : ({ ...made, undone: true } as SharedKey);
}

/** Returns the record of a key in the workflows whose work is repeated. */
async function madeBefore(reading: LedgerReading, question: Question): Promise<SharedKey | null> {
  for (let id = question.regenerated_from; id !== null; ) {
    const record = await reading.readWorkflowState(id);
    const made = await callIn(reading, record, question);
    if (made !== null) return made;
    id = record.regenerated_from;
  }
  return null;
}

/** Returns whether a workflow has left its work: it has failed or was cancelled, or the one that waits for it has. */
async function hasLeft(reading: LedgerReading, { state, parent }: WorkflowRecord): Promise<boolean> {
  if (state === "cancelled" || state === "failed") return true;
  return isAwaited(parent) && hasLeft(reading, await reading.readWorkflowState(parent.workflow_id));
}

/** Returns the call of a key that a workflow has made, or may have made; null if another may be made. */
async function callIn(
  reading: LedgerReading,
  record: WorkflowRecord,
  { key, knows }: Question,
): Promise<SharedKey | null> {
  const { workflow_id, actions, keys } = record;
  const entry = actions.get(keys.get(key) ?? "");
  if (entry === undefined || entry.seen === "unseen") return null;
  const { action_id, payload_hash, result_payload: result, error } = entry.record;
  const succeeded = entry.seen === "succeeded";
  const left = (await hasLeft(reading, record)) ? { left: true as const } : {};
  const made = { claim: null, workflow_id, action_id, payload_hash, result, succeeded, failure: null, ...left };
  if (!entry.seen.startsWith("failed")) return isTakenBack(record, action_id) ? { ...made, undone: true } : made;
  return isSpent(error) && !knows(action_id) ? { ...made, failure: error } : null;
}

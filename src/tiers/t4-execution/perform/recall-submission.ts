/**
 * The first answer to a submission key, from the ledger alone: whichever process gave it, and even if that process died
 * before it could answer.
 *
 * Owns: the answer of a repeated submission. Never: writes; the key is written with the workflow's first turn.
 * 1.  A key belongs to one principal of one tenant; the workflow that holds it never changes.
 * 2.  Another payload under a known key is refused, by its digest.
 */
import { raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { payloadOf } from "../../../contract/event.ts";
import { type Intent, requestKey, type SubmitResponse } from "../../../contract/intent.ts";
import type { SubmissionQuery } from "../../../contract/messages/t4.ts";
import { lineOf } from "../../../contract/queue.ts";
import { openTurns } from "../../../contract/turn.ts";
import type { LedgerStore } from "../../../ports/ledger-store.ts";
import { oodaRef } from "../decide/run/run.ts";

export type SubmissionStore = Pick<LedgerStore, "findKey" | "read" | "queueMembers">;

type Accepted = Omit<SubmitResponse, "stream" | "status">;

export function acceptedOf({ workflow_id, intent_id, plan_id, correlation_id }: Accepted): SubmitResponse {
  const stream = (channel: string): string => `/v1/kernel/stream/${workflow_id}/${channel}`;
  return {
    workflow_id,
    intent_id,
    plan_id,
    correlation_id,
    stream: { events: stream("events"), progress: stream("progress"), assistant: stream("assistant") },
    status: "accepted",
  };
}

/**
 * Returns the first answer under a key; null if there is none, or no key. @throws KernelErrorException
 * T4_IDEMPOTENCY_PAYLOAD_MISMATCH.
 */
export async function recallFirst(
  store: SubmissionStore,
  { tenant_id, principal, submission, schedule }: SubmissionQuery,
): Promise<SubmitResponse | null> {
  if (submission === undefined) return null;
  const holder = await store.findKey(tenant_id, requestKey(principal, submission, schedule));
  const first = await readAccepted(store, holder);
  if (first === null) return null;
  if (first.submission?.digest !== submission.digest) {
    const { workflow_id } = first.answer;
    const message = "this key came with another request before";
    raise(kernelError("T4_IDEMPOTENCY_PAYLOAD_MISMATCH", message, oodaRef("recall"), { detail: { workflow_id } }));
  }
  return first.answer;
}

/** Returns the answer to a request whose queue lets one workflow run, with that workflow; null if there is none now. */
export async function recallSingleton(
  store: SubmissionStore,
  tenantId: string | number,
  { queue }: Pick<Intent, "queue">,
): Promise<SubmitResponse | null> {
  if (queue?.singleton !== "return_existing") return null;
  const [holder = null] = await store.queueMembers(tenantId, lineOf(queue));
  const first = await readAccepted(store, holder);
  return first && { ...first.answer, existing: true };
}

/** Returns the answer that the request of a workflow got, and its submission; null if there is none. */
async function readAccepted(store: SubmissionStore, holder: { readonly workflow_id: string } | null) {
  const [received] = holder === null ? [] : openTurns(await store.read(holder.workflow_id, 0, 1));
  if (received === undefined) return null;
  const { intent, plan_id, submission } = payloadOf(received, "INTENT_RECEIVED");
  const { workflow_id, correlation_id } = received;
  const ids = { workflow_id: workflow_id as string, intent_id: intent.intent_id, plan_id, correlation_id };
  return { answer: acceptedOf(ids), submission };
}

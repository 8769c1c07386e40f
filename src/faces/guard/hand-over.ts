/**
 * The handover of a result that people decided: it is given to one request at a time, and recorded once the client's
 * transport has taken it.
 *
 * 1.  A result whose answer did not arrive stays there for the same call, also after a crash.
 * 2.  If the guard dies between the receipt and its record, the same call gets the result a second time. Nothing is
 *     called for that.
 */
import type { RequestId } from "@modelcontextprotocol/server";
import { withoutScopes } from "../../contract/auth-context.ts";
import { KernelErrorException } from "../../contract/kernel-error.ts";
import type { Caller, WorkflowState } from "../../index.ts";
import { handoverIntent } from "./call-package.ts";
import type { GuardContext } from "./guard-context.ts";
import type { GuardSession } from "./session.ts";

/** Returns whether people were asked about the call, so that its client may have been told to call again. */
export const wasDecided = ({ gates }: WorkflowState): boolean => gates.length > 0;

const threadOf = (workflowId: string): string => `guard-result:${workflowId}`;

/** Returns whether the result of a call was received. */
export async function wasReceived({ kernel }: GuardContext, caller: Caller, workflowId: string): Promise<boolean> {
  return (await kernel.workflows({ thread_id: threadOf(workflowId), limit: 1 }, caller)).length > 0;
}

export interface Handing {
  readonly workflow_id: string;
  /** The request that gets the result. */
  readonly id: RequestId;
  readonly session: GuardSession;
  /** Ends the offer of the result to this request. */
  readonly withdraw: () => void;
}

/** Has the handover recorded when the client has taken the answer; until then, or until it broke, it is offered. */
export function expectReceipt(context: GuardContext, { workflow_id, id, session, withdraw }: Handing): void {
  const { calls } = context.guard;
  const onReceived = (): void => {
    // An answer that arrives by a resumed stream is no longer offered to its request.
    const hold = calls.offer(workflow_id) ?? withdraw;
    const recorded = recordReceipt(context, workflow_id).catch((error: unknown) =>
      context.options.logger?.warn({ error, workflow_id }, "a handover could not be recorded"),
    );
    calls.finish(
      recorded.finally(() => {
        hold();
        withdraw();
      }),
    );
  };
  session.receipts.expect(id, { onReceived, onBroken: withdraw });
}

async function recordReceipt({ kernel, caller }: GuardContext, workflow_id: string): Promise<void> {
  const intent_hint = { intent_type: handoverIntent, inputs: { workflow_id, request: crypto.randomUUID() } };
  const as = { ...withoutScopes(caller), thread_id: threadOf(workflow_id) };
  try {
    await kernel.submit({ ...as, intent_hint, idempotency_key: `handover:${workflow_id}` });
  } catch (thrown) {
    // The key stands for another request, whose client received the result as well.
    if (!(thrown instanceof KernelErrorException) || !isKeyConflict(thrown.error.code)) throw thrown;
  }
}

const isKeyConflict = (code: string): boolean => code === "T4_IDEMPOTENCY_PAYLOAD_MISMATCH";

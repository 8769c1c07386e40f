/**
 * subscriptions/listen of 2026-07-28 over stdio: the SDK keeps the subscriptions and routes the server's messages; this
 * file follows the workflows that they name.
 *
 * 1.  A subscription follows only what its caller may read; it ends when it is cancelled, and all end with the
 *     connection.
 */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import { z } from "zod";
import { readAddress } from "./add-resources.ts";
import { type McpContext, requireGranted } from "./mcp-context.ts";
import { errorOf } from "./mcp-error.ts";
import { watchWorkflow } from "./watch-workflow.ts";

const Listen = z.looseObject({
  id: z.union([z.string(), z.number()]),
  method: z.literal("subscriptions/listen"),
  params: z.looseObject({ notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()) }) }),
});
const Cancelled = z.looseObject({
  method: z.literal("notifications/cancelled"),
  params: z.looseObject({ requestId: z.union([z.string(), z.number()]) }),
});

type Tell = (uri: string) => unknown;

/** Observes the messages of a transport that is served already. Returns the function that ends all following. */
export function followListening(transport: Transport, context: McpContext, tell: Tell): () => void {
  const listening = new Map<string | number, AbortController>();
  const { onmessage } = transport;
  const look = (message: JSONRPCMessage): void => {
    const cancelled = Cancelled.safeParse(message).data?.params.requestId;
    if (cancelled !== undefined) stop(listening, cancelled);
    const asked = Listen.safeParse(message).data;
    if (asked === undefined) return;
    // A repeated id belongs to the newer subscription.
    stop(listening, asked.id);
    const { maxSubscriptions } = context.options.limits;
    if (listening.size >= maxSubscriptions) return;
    const end = new AbortController();
    listening.set(asked.id, end);
    for (const uri of [...new Set(asked.params.notifications.resourceSubscriptions)].slice(0, maxSubscriptions))
      void followOne(context, { uri, signal: end.signal, tell });
  };
  transport.onmessage = (message, extra) => {
    onmessage?.(message, extra);
    look(message);
  };
  return () => {
    for (const id of [...listening.keys()]) stop(listening, id);
  };
}

function stop(listening: Map<string | number, AbortController>, id: string | number): void {
  listening.get(id)?.abort();
  listening.delete(id);
}

interface Followed {
  readonly uri: string;
  readonly signal: AbortSignal;
  readonly tell: Tell;
}

/** Follows one workflow. One that may not be read is not followed; the SDK answers the subscription. */
async function followOne(context: McpContext, { uri, signal, tell }: Followed): Promise<void> {
  try {
    const caller = await requireGranted(context, "outcome:read");
    const { workflowId } = readAddress(uri);
    await watchWorkflow({ context, caller, workflowId, signal, tell: () => tell(uri), onEnd: () => undefined });
  } catch (thrown) {
    const { code } = errorOf(thrown, context.options.logger);
    context.options.logger?.debug({ uri, code }, "an address that is listened to is not followed");
  }
}

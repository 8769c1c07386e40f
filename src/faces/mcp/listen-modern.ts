/**
 * subscriptions/listen of 2026-07-28 over HTTP: a stream that reports changes of the named workflows.
 *
 * 1.  Each stream has a bus of its own, with only what its caller may read: nothing of another tenant's workflows is
 *     sent.
 * 2.  Streams are bounded in number, over all callers and of each, and their addresses in each; all ends with the
 *     stream.
 */
import {
  createMcpHandler as createSdkHandler,
  InMemoryServerEventBus,
  type Server,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { ScopedCaller } from "../../contract/auth-context.ts";
import { type ErrorCode, kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Kernel } from "../../index.ts";
import { boundedStream } from "../../protocol/bounded-stream.ts";
import { endingStream } from "../../protocol/ending-stream.ts";
import { readAddress, refuseWatching } from "./add-resources.ts";
import { requireGranted } from "./mcp-context.ts";
import { type McpLimits, ownerOf, type ResolvedMcpOptions } from "./mcp-options.ts";
import { authInfoOf, sdkOptions } from "./sdk-options.ts";
import { watchWorkflow } from "./watch-workflow.ts";

const Listen = z.looseObject({
  method: z.literal("subscriptions/listen"),
  params: z.looseObject({
    notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()).default([]) }).prefault({}),
  }),
});

export interface Listening {
  readonly isAsked: (message: unknown) => boolean;
  readonly answer: (request: Request, caller: ScopedCaller, message: unknown) => Promise<Response>;
  readonly count: () => number;
  readonly close: () => Promise<void>;
}

export function createListening(
  kernel: Kernel,
  options: ResolvedMcpOptions,
  open: (caller: ScopedCaller) => Server,
): Listening {
  const streams = new Map<() => Promise<void>, string>();
  const { maxSubscriptions } = options.limits;
  return {
    isAsked: (message) => Listen.safeParse(message).success,
    async answer(request, caller, message) {
      const uris = new Set(Listen.parse(message).params.notifications.resourceSubscriptions);
      const owner = ownerOf(caller);
      requirePlace([...streams.values()], owner, options.limits);
      if (uris.size > maxSubscriptions) refuseWatching(maxSubscriptions);
      const bus = new InMemoryServerEventBus();
      const stop = new AbortController();
      const handler = createSdkHandler(() => open(caller), { ...sdkOptions(options), bus });
      const end = async (): Promise<void> => {
        if (!streams.delete(end)) return;
        stop.abort();
        await handler.close();
      };
      streams.set(end, owner);
      try {
        const context = { kernel, caller, options };
        const reader = await requireGranted(context, "outcome:read");
        const addresses = [...uris].map((uri) => ({ uri, ...readAddress(uri) }));
        const response = await handler.fetch(request, { parsedBody: message, authInfo: authInfoOf(caller) });
        if (response.body === null || !response.ok) return await endWith(response, end);
        for (const { uri, workflowId } of addresses) {
          const tell = () => bus.publish({ kind: "resource_updated", uri });
          await watchWorkflow({
            context,
            caller: reader,
            workflowId,
            signal: stop.signal,
            tell,
            onEnd: () => undefined,
          });
        }
        return new Response(endingStream(boundedStream(response.body), { onEnd: end }), response);
      } catch (thrown) {
        await end();
        throw thrown;
      }
    },
    count: () => streams.size,
    close: async () => {
      await Promise.all([...streams.keys()].map((end) => end()));
    },
  };
}

/** Checks the number of streams. @throws KernelErrorException T0_HTTP_STREAM_LIMIT, T0_HTTP_CALLER_STREAM_LIMIT. */
function requirePlace(owners: readonly string[], owner: string, { maxStreams, maxStreamsPerCaller }: McpLimits): void {
  const own = owners.filter((one) => one === owner).length;
  if (owners.length >= maxStreams) refuseStream("T0_HTTP_STREAM_LIMIT", { maxStreams });
  if (own >= maxStreamsPerCaller) refuseStream("T0_HTTP_CALLER_STREAM_LIMIT", { maxStreamsPerCaller });
}

const refuseStream = (code: ErrorCode, detail: Readonly<Record<string, number>>): never =>
  raise(kernelError(code, "as many streams are open as may be", moduleRef(0, "mcp", "listen"), { detail }));

async function endWith(response: Response, end: () => Promise<void>): Promise<Response> {
  await end();
  return response;
}

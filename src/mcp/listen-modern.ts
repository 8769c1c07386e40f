/**
 * subscriptions/listen of 2026-07-28 over HTTP: a stream that says which of the named workflows have changed.
 *
 * L1  Each stream has a bus of its own, fed by what its caller may read: nobody hears of another tenant's workflows.
 * L2  There are at most `maxSubscriptions` streams, and as many addresses in one; all of it ends with the stream.
 */
import {
  createMcpHandler as createSdkHandler,
  InMemoryServerEventBus,
  type Server,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { ScopedCaller } from "../contract/auth-context.ts";
import type { Kernel } from "../index.ts";
import { readAddress, refuseWatching } from "./add-resources.ts";
import { endingStream } from "./ending-stream.ts";
import { requireGranted } from "./mcp-desk.ts";
import type { ResolvedMcpOptions } from "./mcp-options.ts";
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
  const streams = new Set<() => Promise<void>>();
  const { maxSubscriptions } = options.limits;
  return {
    isAsked: (message) => Listen.safeParse(message).success,
    async answer(request, caller, message) {
      const uris = new Set(Listen.parse(message).params.notifications.resourceSubscriptions);
      if (streams.size >= maxSubscriptions || uris.size > maxSubscriptions) refuseWatching(maxSubscriptions);
      const bus = new InMemoryServerEventBus();
      const stop = new AbortController();
      const handler = createSdkHandler(() => open(caller), { ...sdkOptions(options), bus });
      const end = async (): Promise<void> => {
        if (!streams.delete(end)) return;
        stop.abort();
        await handler.close();
      };
      streams.add(end);
      try {
        const desk = { kernel, caller, options };
        await requireGranted(desk, "read");
        const addresses = [...uris].map((uri) => ({ uri, ...readAddress(uri) }));
        const response = await handler.fetch(request, { parsedBody: message, authInfo: authInfoOf(caller) });
        if (response.body === null || !response.ok) return await endWith(response, end);
        for (const { uri, workflowId } of addresses) {
          const tell = () => bus.publish({ kind: "resource_updated", uri });
          await watchWorkflow({ desk, caller, workflowId, signal: stop.signal, tell, onEnd: () => undefined });
        }
        return new Response(endingStream(response.body, end), response);
      } catch (thrown) {
        await end();
        throw thrown;
      }
    },
    count: () => streams.size,
    close: async () => {
      await Promise.all([...streams].map((end) => end()));
    },
  };
}

async function endWith(response: Response, end: () => Promise<void>): Promise<Response> {
  await end();
  return response;
}

/**
 * The three streams of a workflow, and the feed of all workflows of a tenant, as server-sent events (seed 003 section 4;
 *
 *
 * T1  A stream goes on after `Last-Event-ID`, or `?after=`, without gap or repeat, whichever process answers.
 * T2  A workflow's stream closes after the terminal event; asked again from its end it answers 204, which ends a client's
 *     reconnecting. The feed never ends.
 * T3  Who may not read, and what is not there, is said before anything is streamed.
 */
import { z } from "zod";
import type { Channels, FeedItem } from "../../index.ts";
import { addRoute, type Route } from "../add-route.ts";
import { type Call, type Edge, workflowOf } from "../edge.ts";
import { readCursor, readFeedFilter, readSequence } from "../read-query.ts";
import { sseStream, type Told, type ToldItems } from "../sse-stream.ts";
import { createStreamPlaces, type StreamPlaces } from "../stream-places.ts";
import { requireReader } from "./reads.ts";

type Channel = keyof Channels;

/** Each channel, the name of its events and what it tells. */
const channels: { readonly [C in Channel]: { readonly event: string; readonly tells: string } } = {
  events: { event: "kernel.event", tells: "The events of a workflow" },
  progress: { event: "kernel.progress", tells: "How far a workflow is" },
  assistant: { event: "kernel.assistant.delta", tells: "What a workflow says to its user" },
};

const cursor = z.string().regex(/^\d{1,15}$/);
const ended = { description: "There is nothing after this cursor, and nothing will come." };
const eventStream = { description: "Server-sent events.", mediaType: "text/event-stream" };

export function addStreams(edge: Edge): void {
  const places = createStreamPlaces(edge.options.limits);
  for (const channel of Object.keys(channels) as Channel[])
    addRoute(edge, channelRoute(channel), async (call) => {
      const caller = await requireReader(call, edge);
      const after = readSequence(call);
      const open = ({ signal, onCaughtUp }: Opening) =>
        edge.kernel.channel(channel, workflowOf(call), { after, signal, onCaughtUp }, caller);
      return answerStream(call, edge, { places, event: channels[channel].event, open });
    });
  addRoute(edge, feedRoute, async (call) => {
    const caller = await requireReader(call, edge);
    const after = readCursor(call);
    const options = { ...readFeedFilter(call), ...(after !== undefined && { after }) };
    const open = (opening: Opening) => numbered(edge.kernel.feed({ ...options, ...opening }, caller));
    return answerStream(call, edge, { places, event: "kernel.feed", open });
  });
}

const channelRoute = (channel: Channel): Route => ({
  method: "get",
  path: `/v1/kernel/stream/:id/${channel}`,
  operation: `stream${channel.charAt(0).toUpperCase()}${channel.slice(1)}`,
  summary: `${channels[channel].tells}, as a stream that goes on after Last-Event-ID.`,
  needs: "outcome:read",
  query: z.object({ after: cursor.optional() }),
  answers: { 200: eventStream, 204: ended },
});

const feedRoute: Route = {
  method: "get",
  path: "/v1/kernel/stream/feed",
  operation: "streamFeed",
  summary: "What changes in the workflows and gates of the tenant: a snapshot first, then live.",
  needs: "outcome:read",
  query: z.object({
    after: cursor.optional(),
    only: z.literal("gates").optional(),
    intent_type: z.string().optional(),
  }),
  answers: { 200: eventStream },
};

interface Opening {
  readonly signal: AbortSignal;
  readonly onCaughtUp: () => void;
}

interface Streaming {
  readonly places: StreamPlaces;
  readonly event: string;
  readonly open: (opening: Opening) => ToldItems;
}

const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

async function answerStream(call: Call, { options }: Edge, { places, event, open }: Streaming): Promise<Response> {
  const free = places.take(call.get("caller"));
  const stop = new AbortController();
  const end = (): void => {
    free();
    stop.abort();
  };
  const { items, isOver } = await begin((onCaughtUp) => open({ signal: stop.signal, onCaughtUp }), end);
  // Nobody would read, or cancel, the body of an answer to HEAD.
  if (isOver || call.req.raw.method === "HEAD") {
    end();
    await items.return();
    return isOver ? new Response(null, { status: 204 }) : new Response(null, { headers: streamHeaders });
  }
  const { clock, heartbeatMs, retryMs, limits, logger } = options;
  const onError = (thrown: unknown): void => logger?.warn({ thrown, event }, "a stream ended early");
  const timing = { clock, heartbeatMs, retryMs, maxStallMs: limits.maxStallMs };
  return new Response(sseStream(items, { ...timing, event, onEnd: end, onError }), { headers: streamHeaders });
}

/**
 * Reads until the first item is there, or all that is committed has been told: then it is known whether the stream is
 * over, and a refusal has been thrown.
 */
async function begin(
  open: (onCaughtUp: () => void) => ToldItems,
  end: () => void,
): Promise<{ readonly items: ToldItems; readonly isOver: boolean }> {
  let caughtUp: () => void = () => undefined;
  const waiting = new Promise<null>((resolve) => {
    caughtUp = () => resolve(null);
  });
  const items = open(() => caughtUp());
  const first = items.next();
  try {
    const got = await Promise.race([first, waiting]);
    return { items: following(first, items), isOver: got?.done === true };
  } catch (thrown) {
    end();
    throw thrown;
  }
}

/** The same items, the first of which has been asked for. */
function following(first: ReturnType<ToldItems["next"]>, items: ToldItems): ToldItems {
  let asked: typeof first | null = first;
  return {
    next() {
      const next = asked ?? items.next();
      asked = null;
      return next;
    },
    return: () => items.return(),
  };
}

/** Items of the feed carry their own position. */
async function* numbered(items: AsyncGenerator<FeedItem, void, void>): AsyncGenerator<Told, void, void> {
  for await (const item of items) yield { sequence: item.position, item };
}

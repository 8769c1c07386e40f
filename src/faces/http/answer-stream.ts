/**
 * Answers a request with a stream of server-sent events, of a followed channel or of running work.
 *
 * 1.  Refusals come before anything is streamed.
 * 2.  A stream takes one of the available places, and gives it back however it ends.
 */
import type { Call, Edge } from "./edge.ts";
import { type ItemSource, messagesOf, type SseMessages } from "./sse-messages.ts";
import { sseStream } from "./sse-stream.ts";
import { nextTurn } from "./write-json.ts";

export interface Opening {
  readonly signal: AbortSignal;
  readonly onCaughtUp: () => void;
}

interface Streaming {
  readonly event: string;
  readonly open: (opening: Opening) => ItemSource;
}

const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

export async function answerStream(
  call: Call,
  { options, places, unreadMessages }: Edge,
  { event, open }: Streaming,
): Promise<Response> {
  const { clock, heartbeatMs, retryMs, limits, logger } = options;
  const caller = call.get("caller");
  const free = places.take(caller);
  const stop = new AbortController();
  const end = (): void => {
    free();
    stop.abort();
  };
  const hold = (message: Uint8Array): (() => void) => unreadMessages.hold(caller, message);
  const making = { event, hold, maxBytes: limits.maxStreamMessageBytes };
  const follow = (onCaughtUp: () => void): SseMessages => messagesOf(open({ signal: stop.signal, onCaughtUp }), making);
  const { messages, isOver } = await begin(follow, end);
  // The body of an answer to HEAD would never be read or cancelled.
  if (isOver || call.req.raw.method === "HEAD") {
    end();
    await messages.return();
    return isOver ? new Response(null, { status: 204 }) : new Response(null, { headers: streamHeaders });
  }
  const onError = (thrown: unknown): void => logger?.warn({ thrown, event }, "a stream ended early");
  const timing = { clock, heartbeatMs, retryMs, maxStallMs: limits.maxStallMs };
  return new Response(sseStream(messages, { ...timing, onEnd: end, onError }), { headers: streamHeaders });
}

/**
 * Reads until the first message is available, or all committed items have been delivered: it is then known whether the
 * stream is over, and any refusal has been thrown.
 */
async function begin(
  follow: (onCaughtUp: () => void) => SseMessages,
  end: () => void,
): Promise<{ readonly messages: SseMessages; readonly isOver: boolean }> {
  let caughtUp: () => void = () => undefined;
  const waiting = new Promise<"later">((resolve) => {
    // A first message that is there by now has been made within this turn of the event loop.
    caughtUp = () => void nextTurn().then(() => resolve("later"));
  });
  try {
    const messages = follow(() => caughtUp());
    const first = messages.next();
    const got = await Promise.race([first, waiting]);
    return { messages: beginning(first, messages), isOver: got === null };
  } catch (thrown) {
    end();
    throw thrown;
  }
}

/** Returns the same messages, the first of which has been asked for. */
function beginning(first: ReturnType<SseMessages["next"]>, messages: SseMessages): SseMessages {
  let asked: typeof first | null = first;
  return {
    next() {
      const next = asked ?? messages.next();
      asked = null;
      return next;
    },
    return: () => messages.return(),
  };
}

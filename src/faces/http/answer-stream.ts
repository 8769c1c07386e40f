/**
 * A stream as the answer to a request: server-sent events, of a channel that is followed or of work that goes on.
 *
 * S1  What is refused is refused before anything is streamed.
 * S2  A stream takes one of the places that there are, and gives it back however it ends.
 */
import type { Call, Edge } from "./edge.ts";
import { sseStream, type ToldItems } from "./sse-stream.ts";

export interface Opening {
  readonly signal: AbortSignal;
  readonly onCaughtUp: () => void;
}

interface Streaming {
  readonly event: string;
  readonly open: (opening: Opening) => ToldItems;
}

const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

export async function answerStream(
  call: Call,
  { options, places }: Edge,
  { event, open }: Streaming,
): Promise<Response> {
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
  try {
    const items = open(() => caughtUp());
    const first = items.next();
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

/**
 * Answers with server-sent events: one line of JSON each, as the client reads.
 *
 * 1.  A stream takes a place, and gives it back however it ends; its source ends with it.
 * 2.  A message that is larger than the limit ends the stream.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { sseStream } from "../http/sse-stream.ts";
import type { AgentContext } from "./agent-context.ts";

const streamRef = moduleRef(0, "protocols", "stream_answer");
const encoder = new TextEncoder();
const headers = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  "x-accel-buffering": "no",
} as const;
const retryMs = 1_000;

/** Returns the answer. @throws KernelErrorException T0_HTTP_STREAM_LIMIT and its like, if no place is left. */
export function streamAnswer(
  { options, places, caller }: AgentContext,
  open: (signal: AbortSignal) => AsyncGenerator<object, void, void>,
): Response {
  const { clock, heartbeatMs, limits, logger } = options;
  const free = places.take(caller);
  const stop = new AbortController();
  const items = open(stop.signal);
  const messages = {
    async next() {
      const { done, value } = await items.next();
      return done === true ? null : encode(value, limits.maxStreamMessageBytes);
    },
    return: () => items.return(),
  };
  const onEnd = (): void => {
    free();
    stop.abort();
  };
  const onError = (thrown: unknown): void => logger?.warn({ thrown }, "a stream to an agent ended early");
  const timing = { clock, heartbeatMs, retryMs, maxStallMs: limits.maxStallMs };
  return new Response(sseStream(messages, { ...timing, onEnd, onError }), { headers });
}

function encode(item: object, maxStreamMessageBytes: number): Uint8Array {
  const bytes = encoder.encode(`data: ${JSON.stringify(item)}\n\n`);
  if (bytes.length <= maxStreamMessageBytes) return bytes;
  const message = `a message has more than limits.maxStreamMessageBytes = ${maxStreamMessageBytes} bytes`;
  return raise(kernelError("T0_HTTP_MESSAGE_TOO_LARGE", message, streamRef, { detail: { maxStreamMessageBytes } }));
}

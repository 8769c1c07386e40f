/**
 * Server-sent events over a numbered channel: one message an item, read from the channel only as the client reads.
 *
 * 1.  A message is handed to the client in pieces, and others are served between two of them.
 * 2.  Nothing is taken from the channel before the client has room for it: a slow reader holds at most one message
 *     here, and no heartbeat waits behind another.
 * 3.  However a stream ends, its channel and its timers end with it.
 * 4.  A client that takes nothing for `maxStallMs` although something is available is cut off; it continues elsewhere,
 *     or later, from the last id that it read.
 * 5.  A failing channel ends the stream; the client reconnects and receives the reason as an answer.
 */
import type { Clock } from "../../index.ts";
import { pieceBytes, type SseMessages } from "./sse-messages.ts";
import { nextTurn } from "./write-json.ts";

interface SseOptions {
  readonly heartbeatMs: number;
  readonly retryMs: number;
  readonly maxStallMs: number;
  readonly clock: Clock;
  /** Runs once, however the stream ends. */
  readonly onEnd: () => void;
  /** The channel failed, a message was refused, or the client was cut off. */
  readonly onError?: (thrown: unknown) => void;
}

const encoder = new TextEncoder();
const heartbeat = encoder.encode(": heartbeat\n\n");

export function sseStream(messages: SseMessages, options: SseOptions): ReadableStream<Uint8Array> {
  const { clock, retryMs, maxStallMs, onError } = options;
  let next: PendingMessage | null = null;
  /** The part of the last message that is still to be sent. */
  let rest: Uint8Array = new Uint8Array();
  let cancelStall = (): void => undefined;
  const end = once(() => {
    cancelStall();
    options.onEnd();
    messages.return().catch(() => undefined);
  });
  const hand = (controller: ReadableStreamDefaultController<Uint8Array>, bytes: Uint8Array): void => {
    cancelStall = clock.setTimer(clock.now() + maxStallMs, () => cutOff(controller), true);
    rest = bytes.subarray(pieceBytes);
    controller.enqueue(bytes.subarray(0, pieceBytes));
  };
  const cutOff = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    const thrown = stalled(maxStallMs);
    end();
    onError?.(thrown);
    controller.error(thrown);
  };
  return new ReadableStream({
    start: (controller) => hand(controller, encoder.encode(`retry: ${retryMs}\n\n`)),
    async pull(controller) {
      cancelStall();
      if (rest.length > 0) {
        await nextTurn();
        if (!end.isDone()) hand(controller, rest);
        return;
      }
      next ??= pend(messages.next());
      const bytes = await orHeartbeat(next, options).catch((thrown: unknown) => {
        if (!end.isDone()) onError?.(thrown);
        return null;
      });
      if (end.isDone()) return;
      if (bytes !== heartbeat) next = null;
      if (bytes !== null) return hand(controller, bytes);
      end();
      controller.close();
    },
    cancel: () => end(),
  });
}

/**
 * Returns the error of a stream that the server closes because of a stalled client. It may reach the client as a
 * message.
 */
function stalled(maxStallMs: number): Error {
  const error = new Error(`a stream was cut off: its reader took nothing for ${maxStallMs} ms`);
  error.stack = `${error.name}: ${error.message}`;
  return error;
}

interface PendingMessage {
  readonly message: Promise<Uint8Array | null>;
  /** Notifies when the message is available or has failed; an earlier listener is replaced. */
  readonly whenSettled: (tell: () => void) => void;
}

/** Listens once to a message that may take long: each heartbeat would otherwise leave a listener behind. */
function pend(message: PendingMessage["message"]): PendingMessage {
  let isSettled = false;
  let tell = (): void => undefined;
  const settle = (): void => {
    isSettled = true;
    tell();
  };
  message.then(settle, settle);
  return {
    message,
    whenSettled(next) {
      tell = next;
      if (isSettled) tell();
    },
  };
}

/** Returns the message, or a heartbeat if it takes longer than the interval. */
function orHeartbeat(
  { message, whenSettled }: PendingMessage,
  { clock, heartbeatMs }: Pick<SseOptions, "clock" | "heartbeatMs">,
): Promise<Uint8Array | null> {
  return new Promise((resolve) => {
    const cancel = clock.setTimer(clock.now() + heartbeatMs, () => resolve(heartbeat), true);
    whenSettled(() => {
      cancel();
      resolve(message);
    });
  });
}

function once(work: () => void): (() => void) & { readonly isDone: () => boolean } {
  let done = false;
  const run = (): void => {
    if (done) return;
    done = true;
    work();
  };
  return Object.assign(run, { isDone: () => done });
}

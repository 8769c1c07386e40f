/**
 * Server-sent events over a numbered channel: one message an item, read from the channel only as the client reads.
 *
 * S1  A message is one `id:` where following can go on after it, one `event:` and one `data:` line of JSON.
 * S2  Nothing is taken from the channel before the client has room for it: a slow reader holds at most one message here,
 *     and no heartbeat waits behind another.
 * S3  However a stream ends, its channel and its timers end with it.
 * S4  A client that takes nothing for `maxStallMs` while something is there for it is cut off; it goes on elsewhere, or
 *     later, from the last id that it read.
 * S5  A channel that fails ends the stream; the client comes back and is told why by an answer.
 */
import type { Clock, Numbered } from "../../index.ts";

interface SseOptions {
  readonly event: string;
  readonly heartbeatMs: number;
  readonly retryMs: number;
  readonly maxStallMs: number;
  readonly clock: Clock;
  /** Runs once, however the stream ends. */
  readonly onEnd: () => void;
  /** The channel failed, or the client was cut off. */
  readonly onError?: (thrown: unknown) => void;
}

/** An item, and the number that following goes on after; null where nobody can go on from there. */
export type Told = Omit<Numbered<unknown>, "sequence"> & { readonly sequence: number | null };
export interface ToldItems {
  readonly next: () => Promise<IteratorResult<Told, unknown>>;
  readonly return: () => Promise<unknown>;
}

const encoder = new TextEncoder();
const heartbeat = encoder.encode(": heartbeat\n\n");

export function sseStream(items: ToldItems, options: SseOptions): ReadableStream<Uint8Array> {
  const { clock, retryMs, maxStallMs, onError } = options;
  let next: PendingMessage | null = null;
  let cancelStall = (): void => undefined;
  const end = once(() => {
    cancelStall();
    options.onEnd();
    items.return().catch(() => undefined);
  });
  const hand = (controller: ReadableStreamDefaultController<Uint8Array>, bytes: Uint8Array): void => {
    cancelStall = clock.setTimer(clock.now() + maxStallMs, () => cutOff(controller), true);
    controller.enqueue(bytes);
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
      next ??= pend(readMessage(items, options.event));
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

/** What a server is told of a stream that it is to close. Its message may reach the client. */
function stalled(maxStallMs: number): Error {
  const error = new Error(`a stream was cut off: its reader took nothing for ${maxStallMs} ms`);
  error.stack = `${error.name}: ${error.message}`;
  return error;
}

/** The next message; null when there are no more. */
async function readMessage(items: ToldItems, event: string): Promise<Uint8Array | null> {
  const { done, value } = await items.next();
  return done === true ? null : encodeMessage(value, event);
}

/** Readers of one channel are given the same frozen items, whose message is made once. */
const messages = new WeakMap<object, Uint8Array>();

function encodeMessage({ sequence, item }: Told, event: string): Uint8Array {
  const shared = typeof item === "object" && item !== null && Object.isFrozen(item) ? item : null;
  const made = shared === null ? undefined : messages.get(shared);
  if (made !== undefined) return made;
  const id = sequence === null ? "" : `id: ${sequence}\n`;
  const bytes = encoder.encode(`${id}event: ${event}\ndata: ${JSON.stringify(item)}\n\n`);
  if (shared !== null) messages.set(shared, bytes);
  return bytes;
}

interface PendingMessage {
  readonly message: Promise<Uint8Array | null>;
  /** Tells when it is there or has failed; who asked before is told no more. */
  readonly whenSettled: (tell: () => void) => void;
}

/** A message that may be long in coming is listened to once: each heartbeat would leave a listener behind. */
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

/** The message, or a heartbeat where it takes longer than that. */
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

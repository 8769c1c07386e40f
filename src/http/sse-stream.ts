/**
 * Server-sent events over a numbered channel: one message an item, read from the channel only as the client reads.
 *
 * S1  A message is one `id:` (the ledger's sequence), one `event:` and one `data:` line of JSON.
 * S2  Nothing is taken from the channel before the client has room for it: a slow reader holds at most one message here.
 * S3  However a stream ends, its channel and its timer end with it.
 */
import type { Clock, Numbered } from "../index.ts";

interface SseOptions {
  readonly event: string;
  readonly heartbeatMs: number;
  readonly retryMs: number;
  readonly clock: Clock;
  /** Runs once, however the stream ends. */
  readonly onEnd: () => void;
}

type NumberedItems = AsyncGenerator<Numbered<unknown>, void, void>;

const heartbeat = ": heartbeat\n\n";

export function sseStream(items: NumberedItems, options: SseOptions): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let next: Promise<string | null> | null = null;
  const end = once(options.onEnd);
  return new ReadableStream({
    start: (controller) => controller.enqueue(encoder.encode(`retry: ${options.retryMs}\n\n`)),
    async pull(controller) {
      next ??= readMessage(items, options.event);
      try {
        const text = await orHeartbeat(next, options);
        if (text !== heartbeat) next = null;
        if (text !== null) return controller.enqueue(encoder.encode(text));
        end();
        controller.close();
      } catch (thrown) {
        end();
        controller.error(thrown);
      }
    },
    cancel: end,
  });
}

/** The next message; null when there are no more. */
async function readMessage(items: NumberedItems, event: string): Promise<string | null> {
  const { done, value } = await items.next();
  return done === true ? null : `id: ${value.sequence}\nevent: ${event}\ndata: ${JSON.stringify(value.item)}\n\n`;
}

/** The message, or a heartbeat where it takes longer than that. */
function orHeartbeat(
  message: Promise<string | null>,
  { clock, heartbeatMs }: Pick<SseOptions, "clock" | "heartbeatMs">,
): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(clock.now() + heartbeatMs, () => resolve(heartbeat), true);
    message.then(resolve, reject).finally(cancel);
  });
}

function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (!done) work();
    done = true;
  };
}

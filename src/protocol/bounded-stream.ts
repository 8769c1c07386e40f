/**
 * A stream whose source writes without asking whether the reader keeps up, such as a server's notifications, with a
 * bound on the bytes that wait for the reader.
 *
 * 1.  Once more than the bound waits, the source is cancelled and the reader is cut off. One chunk may be longer.
 */

/** The bytes that may wait for the client of a stream. */
const defaultMaxUnread = 5_000_000;

/** Returns the same bytes, cut off where the reader does not keep up. */
export function boundedStream(
  body: ReadableStream<Uint8Array>,
  maxUnread = defaultMaxUnread,
): ReadableStream<Uint8Array> {
  const source = body.getReader();
  const pump = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    for (;;) {
      const got = await source.read();
      if (got.done) return controller.close();
      if (-(controller.desiredSize ?? 0) > maxUnread)
        throw new Error(`the reader of a stream has left more than ${maxUnread} bytes unread`);
      controller.enqueue(got.value);
    }
  };
  let isCancelled = false;
  const queue: QueuingStrategy<Uint8Array> = new ByteLengthQueuingStrategy({ highWaterMark: 0 });
  return new ReadableStream(
    {
      start(controller) {
        pump(controller).catch((thrown: unknown) => {
          // The queue of a stream that its reader has left takes nothing any more.
          if (isCancelled) return;
          controller.error(thrown);
          source.cancel(thrown).catch(() => undefined);
        });
      },
      cancel(reason) {
        isCancelled = true;
        return source.cancel(reason);
      },
    },
    queue,
  );
}

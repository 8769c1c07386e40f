/**
 * The body of an answer, and a word when it is over: for what has to know how long somebody reads.
 *
 * E1  `end` runs once, however the stream ends: at its end, by its failure, or because nobody reads it any more.
 */

/** The same bytes; `end` runs once they are over or nobody reads them any more. */
export function endingStream(body: ReadableStream<Uint8Array>, end: () => unknown): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let over = false;
  const endOnce = async (): Promise<void> => {
    if (over) return;
    over = true;
    await end();
  };
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (over) return;
        if (!done) return controller.enqueue(value);
        controller.close();
      } catch (thrown) {
        controller.error(thrown);
      }
      await endOnce();
    },
    async cancel(reason) {
      await endOnce();
      await reader.cancel(reason);
    },
  });
}

/**
 * The body of an answer that is read for a long time: a callback for its end, and a way to end it from outside.
 *
 * 1.  `onEnd` runs once, however the stream ends: at its end, by its failure, because its reader leaves, or by `until`.
 * 2.  Nothing is taken from the body before its reader asks: a slow reader causes no buffering.
 * 3.  A stream that is ended from outside closes normally if its reader waits; a reader that takes nothing is cut off.
 */

export interface Ending {
  /** Called at the end; `isWhole` says whether the reader took the stream to its own end. */
  readonly onEnd?: (isWhole: boolean) => unknown;
  /**
   * Receives the function that ends the stream, which may be called at once; returns the function that unsubscribes.
   */
  readonly until?: (end: () => void) => () => void;
}

type Controller = ReadableStreamDefaultController<Uint8Array>;

/** Returns the same bytes, with callbacks at their end. */
export function endingStream(body: ReadableStream<Uint8Array>, ending: Ending): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let over = false;
  let isAsked = false;
  let forget = (): void => undefined;
  const finish = async (isWhole = false): Promise<void> => {
    if (over) return;
    over = true;
    forget();
    await ending.onEnd?.(isWhole);
  };
  const fail = (controller: Controller, thrown: unknown): void => {
    if (!over) controller.error(thrown);
    void finish();
  };
  const cut = (controller: Controller): void => {
    if (over) return;
    if (isAsked) controller.close();
    else controller.error(new Error("the stream was ended before its reader had taken it"));
    void finish();
    reader.cancel().catch(() => undefined);
  };
  return new ReadableStream(
    {
      start(controller) {
        reader.closed.catch((thrown: unknown) => fail(controller, thrown));
        forget = ending.until?.(() => cut(controller)) ?? forget;
        if (over) forget();
      },
      async pull(controller) {
        isAsked = true;
        const got = await reader.read().catch(() => null);
        isAsked = false;
        if (over || got === null) return;
        if (!got.done) return controller.enqueue(got.value);
        controller.close();
        await finish(true);
      },
      async cancel(reason) {
        await finish();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

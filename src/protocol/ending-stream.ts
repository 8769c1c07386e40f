/**
 * The body of an answer that is read for long: what has to know when it is over, and what may end it from outside.
 *
 * 1.  `onEnd` runs once, however the stream ends: at its end, by its failure, because nobody reads it any more, or by `until`.
 * 2.  Nothing is taken from the body before its reader asks: a slow reader holds nothing more than it did.
 * 3.  What is ended from outside closes as at its end if its reader waits; a reader that takes nothing is cut off.
 */

export interface Ending {
  readonly onEnd?: () => unknown;
  /** Is given what ends the stream, which may be called at once; gives what forgets it. */
  readonly until?: (end: () => void) => () => void;
}

type Controller = ReadableStreamDefaultController<Uint8Array>;

/** The same bytes, until they are over. */
export function endingStream(body: ReadableStream<Uint8Array>, ending: Ending): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let over = false;
  let isAsked = false;
  let forget = (): void => undefined;
  const finish = async (): Promise<void> => {
    if (over) return;
    over = true;
    forget();
    await ending.onEnd?.();
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
        await finish();
      },
      async cancel(reason) {
        await finish();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

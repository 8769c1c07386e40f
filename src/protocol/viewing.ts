/**
 * A live view of one reader: an iterator that can be left at any time, also while it waits for the next item.
 *
 * 1.  Nothing is opened before the first item is requested; everything that was opened is closed with the reader.
 */
export type Viewing<T> = AsyncIterableIterator<T, void, void> & AsyncGenerator<T, void, void>;

/** Makes a view. `open` receives the signal that ends its work. `onLeave` runs once. */
export function viewing<T>(
  open: (signal: AbortSignal) => AsyncGenerator<T, void, void>,
  { signal, onLeave = () => undefined }: { readonly signal?: AbortSignal; readonly onLeave?: () => void } = {},
): Viewing<T> {
  const stop = new AbortController();
  const reported = open(signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]));
  const leave = (): void => {
    if (stop.signal.aborted) return;
    stop.abort();
    onLeave();
  };
  const ending = async (asked: Promise<IteratorResult<T, void>>): Promise<IteratorResult<T, void>> => {
    try {
      const result = await asked;
      if (result.done === true) leave();
      return result;
    } catch (thrown) {
      leave();
      throw thrown;
    }
  };
  const viewer: Viewing<T> = {
    next: () => ending(reported.next()),
    return() {
      leave();
      return reported.return();
    },
    throw(thrown) {
      leave();
      return reported.throw(thrown);
    },
    [Symbol.asyncIterator]: () => viewer,
    async [Symbol.asyncDispose]() {
      await viewer.return();
    },
  };
  return viewer;
}

/**
 * What one reader follows live: an iterator that can be left at any time, also while it waits for what comes next.
 *
 * 1.  Nothing is opened before the first item is asked for; with the reader everything goes that was opened for it.
 */
export type Viewing<T> = AsyncIterableIterator<T, void, void> & AsyncGenerator<T, void, void>;

/** `open` is given the signal that ends what it opens. `onLeave` runs once. */
export function viewing<T>(
  open: (signal: AbortSignal) => AsyncGenerator<T, void, void>,
  { signal, onLeave = () => undefined }: { readonly signal?: AbortSignal; readonly onLeave?: () => void } = {},
): Viewing<T> {
  const stop = new AbortController();
  const told = open(signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]));
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
    next: () => ending(told.next()),
    return() {
      leave();
      return told.return();
    },
    throw(thrown) {
      leave();
      return told.throw(thrown);
    },
    [Symbol.asyncIterator]: () => viewer,
    async [Symbol.asyncDispose]() {
      await viewer.return();
    },
  };
  return viewer;
}

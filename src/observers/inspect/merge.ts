/**
 * Merges several sources into one, in the order in which their items arrive.
 *
 * 1.  At most one item of each source is held here: a slow reader makes them wait.
 * 2.  It ends when the sources that are read to their end have ended; the others are then closed.
 * 3.  A queue holds a limited number of items; further ones are counted, not kept.
 */
export interface Source<T> {
  readonly next: () => Promise<IteratorResult<T, unknown>>;
  readonly return: () => Promise<unknown>;
}

export async function* merge<T>(
  main: readonly Source<T>[],
  beside: readonly Source<T>[],
): AsyncGenerator<T, void, void> {
  const came: (() => T | undefined)[] = [];
  let open = main.length;
  let wake = (): void => undefined;
  const tell = (take: () => T | undefined): void => {
    came.push(take);
    wake();
  };
  const pull = (source: Source<T>): void =>
    void source.next().then(
      (result) => tell(() => take(source, result)),
      (thrown: unknown) =>
        tell(() => {
          throw thrown;
        }),
    );
  const take = (source: Source<T>, { done, value }: IteratorResult<T, unknown>): T | undefined => {
    if (done !== true) {
      pull(source);
      return value;
    }
    if (main.includes(source)) open -= 1;
    return undefined;
  };
  for (const source of [...main, ...beside]) pull(source);
  try {
    while (open > 0 || came.length > 0) {
      const item = came.shift()?.();
      if (item !== undefined) yield item;
      else if (came.length === 0 && open > 0)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    for (const source of [...main, ...beside]) source.return().catch(() => undefined);
  }
}

export interface Queue<T> extends Source<T> {
  readonly push: (item: T) => void;
}

/** Creates a queue. `skipped` makes the item that represents dropped ones. `onEnd` runs once. */
export function createQueue<T>(most: number, skipped: (count: number) => T, onEnd: () => void): Queue<T> {
  const items: T[] = [];
  let left = 0;
  let waiting: ((result: IteratorResult<T, unknown>) => void) | null = null;
  let ended = false;
  const take = (): IteratorResult<T, unknown> | null => {
    const item = items.shift();
    if (item !== undefined) return { done: false, value: item };
    if (left > 0) {
      const value = skipped(left);
      left = 0;
      return { done: false, value };
    }
    return ended ? { done: true, value: undefined } : null;
  };
  const settle = (): void => {
    const result = waiting === null ? null : take();
    if (result === null) return;
    const resolve = waiting;
    waiting = null;
    resolve?.(result);
  };
  return {
    push(item) {
      if (ended) return;
      if (items.length < most && left === 0) items.push(item);
      else left += 1;
      settle();
    },
    next: () => {
      const result = take();
      if (result !== null) return Promise.resolve(result);
      return new Promise((resolve) => {
        waiting = resolve;
      });
    },
    return() {
      if (!ended) onEnd();
      ended = true;
      settle();
      return Promise.resolve();
    },
  };
}

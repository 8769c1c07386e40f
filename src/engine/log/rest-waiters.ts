/**
 * Waiters for a workflow to park: each is resumed once. A wait has a time limit, after which the waiter looks again by
 * itself: another process may run the workflow, or host code that never ends may keep it awake here.
 */
import type { Timers } from "../actors/timers.ts";

export interface Wait {
  /** The instant at which to look again; epoch ms. */
  readonly until: number;
  /**
   * Whether the wait's own timer keeps no process alive, because a workflow that is awake here has timers of its own.
   */
  readonly background: boolean;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
}

export interface RestWaiters {
  /** Resolves to true if there is reason to look again, to false if no waiter will be resumed any more. */
  readonly next: (workflowId: string, wait?: Wait) => Promise<boolean>;
  readonly tell: (workflowId: string) => void;
  readonly isAwaited: (workflowId: string) => boolean;
  /** Returns how many workflows somebody waits for. */
  readonly count: () => number;
  readonly close: () => void;
}

export function createRestWaiters(timers: Timers): RestWaiters {
  const waiting = new Map<string, Set<() => void>>();
  let waits = 0;
  let closed = false;
  const tell = (workflowId: string): void => {
    const resolvers = waiting.get(workflowId) ?? [];
    waiting.delete(workflowId);
    for (const resolve of resolvers) resolve();
  };
  const addWaiter = (workflowId: string) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const resolvers = waiting.get(workflowId) ?? new Set();
    waiting.set(workflowId, resolvers.add(resolve));
    const forget = (): void => {
      resolvers.delete(resolve);
      if (resolvers.size === 0 && waiting.get(workflowId) === resolvers) waiting.delete(workflowId);
    };
    return { promise, resolve, forget };
  };
  return {
    tell,
    async next(workflowId, wait) {
      if (closed) return false;
      const { promise, resolve, forget } = addWaiter(workflowId);
      waits += 1;
      const alarm = `rest:${waits}`;
      const end = (): void => resolve();
      if (wait !== undefined) timers.upkeep(alarm, wait.until, resolve, wait.background);
      wait?.signal?.addEventListener("abort", end);
      await promise;
      wait?.signal?.removeEventListener("abort", end);
      timers.alarm(alarm, null, resolve);
      forget();
      return !closed;
    },
    isAwaited: (workflowId) => waiting.has(workflowId),
    count: () => waiting.size,
    close: () => {
      closed = true;
      for (const id of [...waiting.keys()]) tell(id);
    },
  };
}

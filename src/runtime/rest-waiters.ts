/**
 * Who waits for a workflow to rest: told once, then forgotten. A wait with an end looks again by itself, for a workflow
 * that another process runs.
 */
import type { Timers } from "./timers.ts";

export interface RestWaiters {
  readonly next: (workflowId: string, until?: number) => Promise<void>;
  readonly tell: (workflowId: string) => void;
  readonly close: () => void;
}

export function createRestWaiters(timers: Timers): RestWaiters {
  const waiting = new Map<string, Set<() => void>>();
  const tell = (workflowId: string): void => {
    const resolvers = waiting.get(workflowId) ?? [];
    waiting.delete(workflowId);
    for (const resolve of resolvers) resolve();
  };
  const told = (workflowId: string): { readonly promise: Promise<void>; readonly forget: () => void } => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const resolvers = waiting.get(workflowId) ?? new Set();
    waiting.set(workflowId, resolvers.add(resolve));
    return { promise, forget: () => void resolvers.delete(resolve) };
  };
  return {
    tell,
    async next(workflowId, until) {
      const { promise, forget } = told(workflowId);
      if (until === undefined) return promise;
      const over = new AbortController();
      await Promise.race([promise, timers.until(until, over.signal)]);
      over.abort();
      forget();
    },
    close: () => {
      for (const id of [...waiting.keys()]) tell(id);
    },
  };
}

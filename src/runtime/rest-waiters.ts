/** Who waits for a workflow to rest: told once, then forgotten. */
export interface RestWaiters {
  readonly next: (workflowId: string) => Promise<void>;
  readonly tell: (workflowId: string) => void;
  readonly close: () => void;
}

export function createRestWaiters(): RestWaiters {
  const waiting = new Map<string, (() => void)[]>();
  const tell = (workflowId: string): void => {
    const resolvers = waiting.get(workflowId) ?? [];
    waiting.delete(workflowId);
    for (const resolve of resolvers) resolve();
  };
  return {
    tell,
    next: (workflowId) =>
      new Promise((resolve) => waiting.set(workflowId, [...(waiting.get(workflowId) ?? []), resolve])),
    close: () => [...waiting.keys()].forEach(tell),
  };
}

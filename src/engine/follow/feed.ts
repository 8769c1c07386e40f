/**
 * The feed: notifies listeners that a workflow's log has grown. It carries no events; readers read the log.
 *
 * 1.  A listener that throws stays subscribed and affects no other.
 */
export interface Feed {
  /** Notifies the listeners of this workflow, and of all workflows, of a commit. */
  readonly announce: (workflowId: string) => void;
  readonly listen: (workflowId: string | null, listener: (workflowId: string) => void) => () => void;
  /** Returns whether somebody listens for commits of this very workflow. */
  readonly isFollowed: (workflowId: string) => boolean;
  readonly listeners: () => number;
  readonly close: () => void;
}

export function createFeed(onError: (error: unknown) => void): Feed {
  const byWorkflow = new Map<string | null, Set<(workflowId: string) => void>>();
  const tell = (key: string | null, workflowId: string): void => {
    for (const listener of byWorkflow.get(key) ?? []) {
      try {
        listener(workflowId);
      } catch (error) {
        onError(error);
      }
    }
  };
  return {
    announce(workflowId) {
      if (byWorkflow.size === 0) return;
      tell(workflowId, workflowId);
      tell(null, workflowId);
    },
    listen(workflowId, listener) {
      const listeners = byWorkflow.get(workflowId) ?? new Set();
      byWorkflow.set(workflowId, listeners.add(listener));
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0 && byWorkflow.get(workflowId) === listeners) byWorkflow.delete(workflowId);
      };
    },
    isFollowed: (workflowId) => byWorkflow.has(workflowId),
    listeners: () => [...byWorkflow.values()].reduce((sum, set) => sum + set.size, 0),
    close: () => byWorkflow.clear(),
  };
}

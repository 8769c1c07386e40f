/**
 * Logs of workflows that wait for a person, folded as they were left, for who decides soon: the last few.
 *
 * Owns: which are kept. Never: says whether the ledger still stands where one of them does; who takes one asks the store.
 * R1  What is kept has at most `maxEvents` events in all; the longest untouched goes first. A workflow that rests for long
 *     costs no memory.
 */
import type { WorkflowLog } from "./workflow-log.ts";

export class RestingLogs {
  readonly #maxEvents: number;
  readonly #kept = new Map<string, WorkflowLog>();
  #events = 0;

  constructor(maxEvents: number) {
    this.#maxEvents = maxEvents;
  }

  keep(log: WorkflowLog): void {
    this.take(log.identity.workflow_id);
    this.#kept.set(log.identity.workflow_id, log);
    this.#events += log.confirmed;
    for (const id of this.#kept.keys()) {
      if (this.#events <= this.#maxEvents) return;
      this.take(id);
    }
  }

  /** The log, which is not kept any more; null where there is none. */
  take(workflowId: string): WorkflowLog | null {
    const log = this.#kept.get(workflowId);
    if (log === undefined) return null;
    this.#kept.delete(workflowId);
    this.#events -= log.confirmed;
    return log;
  }

  clear(): void {
    this.#kept.clear();
    this.#events = 0;
  }
}

/**
 * Logs of workflows that wait for a person, folded as they were left, for who decides soon: the last few.
 *
 * Owns: which are kept. Never: says whether the ledger still stands where one of them does; who takes one asks the store.
 * 1.  What is kept has at most `maxEvents` events in all; the longest untouched goes first. A workflow that rests for long
 *     costs no memory.
 * 2.  Once somebody else has written to the store nothing is believed of what was folded before, nor of what was awake then.
 */
import type { WorkflowLog } from "./workflow-log.ts";

export class RestingLogs {
  readonly #maxEvents: number;
  readonly #kept = new Map<string, WorkflowLog>();
  /** The store's data version as of when each log was woken. */
  readonly #since = new WeakMap<WorkflowLog, number>();
  /** As of the last look at it. */
  #version = Number.NaN;
  #events = 0;

  constructor(maxEvents: number) {
    this.#maxEvents = maxEvents;
  }

  /** A log is awake. `version`: the store's before it was read; as last seen where nothing was. */
  follow(log: WorkflowLog, version = this.#version): void {
    this.#since.set(log, version);
  }

  /** `version`: the store's of now. */
  keep(log: WorkflowLog, version: number): void {
    this.#look(version);
    this.#drop(log.identity.workflow_id);
    if (this.#since.get(log) !== version) return;
    this.#kept.set(log.identity.workflow_id, log);
    this.#events += log.confirmed;
    for (const id of this.#kept.keys()) {
      if (this.#events <= this.#maxEvents) return;
      this.#drop(id);
    }
  }

  /** The log, which is not kept any more; null where there is none. */
  take(workflowId: string, version: number): WorkflowLog | null {
    this.#look(version);
    return this.#drop(workflowId);
  }

  clear(): void {
    this.#kept.clear();
    this.#events = 0;
  }

  #look(version: number): void {
    if (version !== this.#version) this.clear();
    this.#version = version;
  }

  #drop(workflowId: string): WorkflowLog | null {
    const log = this.#kept.get(workflowId);
    if (log === undefined) return null;
    this.#kept.delete(workflowId);
    this.#events -= log.confirmed;
    return log;
  }
}

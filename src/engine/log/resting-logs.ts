/**
 * Logs of the last workflows that wait for a person, kept folded for an early decision.
 *
 * Owns: the kept logs. Never: decides whether the ledger still has the state of one; a taker asks the store.
 * 1.  The kept logs have at most `maxEvents` events in all; the least recently used one is dropped first. A workflow
 *     that is parked for long costs no memory.
 * 2.  Once another process has written to the store, no earlier fold is used, nor that of a workflow that was awake
 *     then.
 */
import type { WorkflowLog } from "./workflow-log.ts";

export class RestingLogs {
  readonly #maxEvents: number;
  readonly #kept = new Map<string, WorkflowLog>();
  /** The store's data version as of when each log was woken. */
  readonly #since = new WeakMap<WorkflowLog, number>();
  /** The store's version at the last look. */
  #version = Number.NaN;
  #events = 0;

  constructor(maxEvents: number) {
    this.#maxEvents = maxEvents;
  }

  /** Tracks a log that is awake. `version`: the store's before it was read; the last known one if nothing was read. */
  follow(log: WorkflowLog, version = this.#version): void {
    this.#since.set(log, version);
  }

  /** Keeps a log. `version`: the store's present one. */
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

  /** Takes a log, which is no longer kept; null if there is none. */
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

/**
 * What a kernel tells those who watch it, and where it logs. Nothing here is asked for anything: what throws is ignored.
 */
import type { LedgerEvent } from "../contract/event.ts";
import type { WorkflowRecord } from "../contract/workflow.ts";

/** One row of a workflow's log that is in the ledger now. */
export interface Commit {
  readonly events: readonly LedgerEvent[];
  /**
   * What the log folds to, with these events and at times a few to come; to be read at once and not kept. Null: a
   * refusal.
   */
  readonly record: WorkflowRecord | null;
  /** False: another process appended it, and this one has taken it in. */
  readonly own: boolean;
}

/** The receiver of what a kernel reports of its work; the kernel never waits for it. */
export interface Telemetry {
  /** Stage marks in order, never truth; absent where nobody listens to them. */
  readonly mark?: (stage: string, detail: { readonly workflow_id?: string; readonly [key: string]: unknown }) => void;
  /** Told of each commit, in the order of its log, before anything that rests on it is done. */
  readonly committed?: (commit: Commit) => void;
}

/** A logger such as pino or console. */
export interface Logger {
  /** Logs what helps to look for a fault. */
  readonly debug: (detail: object, message?: string) => void;
  /** Logs what is worth knowing. */
  readonly info: (detail: object, message?: string) => void;
  /** Logs what may need a person. */
  readonly warn: (detail: object, message?: string) => void;
  /** Logs what went wrong. */
  readonly error: (detail: object, message?: string) => void;
}

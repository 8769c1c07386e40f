/** The reports of a kernel to its observers, and its log. No report is answered: errors are ignored. */
import type { LedgerEvent } from "../contract/event.ts";
import type { WorkflowRecord } from "../contract/workflow.ts";

/** One row of a workflow's log that is in the ledger now. */
export interface Commit {
  readonly events: readonly LedgerEvent[];
  /**
   * The record that the log folds to, with these events and at times a few later ones; read it at once and do not keep
   * it. Null: a refusal.
   */
  readonly record: WorkflowRecord | null;
  /** False: another process appended it, and this one has taken it in. */
  readonly own: boolean;
}

/** The receiver of a kernel's reports; the kernel never waits for it. */
export interface Telemetry {
  /** Receives stage marks in order; they are not authoritative. Absent if nobody receives them. */
  readonly mark?: (stage: string, detail: { readonly workflow_id?: string; readonly [key: string]: unknown }) => void;
  /** Receives each commit, in the order of its log, before anything that depends on it is done. */
  readonly committed?: (commit: Commit) => void;
}

/** A logger such as pino or console. */
export interface Logger {
  /** Logs details that help to find a fault. */
  readonly debug: (detail: object, message?: string) => void;
  /** Logs notable events. */
  readonly info: (detail: object, message?: string) => void;
  /** Logs conditions that may need a person. */
  readonly warn: (detail: object, message?: string) => void;
  /** Logs failures. */
  readonly error: (detail: object, message?: string) => void;
}

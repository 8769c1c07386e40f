/** The dependencies of a workflow's log: its identity, its recorded past, and the services that it uses. */
import type { EventDraft, LedgerEvent } from "../../contract/event.ts";
import type { StreamEnd, TurnRow } from "../../contract/turn.ts";
import type { TurnCause } from "../../contract/turn-input.ts";
import type { WorkflowRecord } from "../../contract/workflow.ts";
import type { WorkflowHead } from "../../ports/ledger-store.ts";
import type { Runtime } from "../actors/runtime.ts";
import type { HaltRegistry } from "./halt-registry.ts";
import type { KernelRegistration } from "./kernel-registration.ts";
import type { LedgerWriter } from "./ledger-writer.ts";
import type { WorkflowLog } from "./workflow-log.ts";

/** Identity of a workflow before its first event. */
export interface NewWorkflow {
  readonly tenant_id: string | number;
  readonly workflow_id: string;
  readonly thread_id: string | number | null;
  readonly intent_id: string;
  readonly plan_id: string;
  readonly correlation_id: string;
}

export interface LogServices {
  readonly runtime: Runtime;
  readonly writer: LedgerWriter;
  readonly read: (workflowId: string, after: number) => Promise<readonly TurnRow[]>;
  /** The registration of this process, in whose name workflows are held. */
  readonly registration: KernelRegistration;
  readonly halts: Pick<HaltRegistry, "of" | "refresh">;
  /** Whether rows on which nothing outside depends may be committed without a sync. */
  readonly mayBeLazy: boolean;
  /** Called after each commit, with the events that are now durable. */
  readonly onCommitted: (log: WorkflowLog, events: readonly LedgerEvent[]) => void;
  /** Called with the events that another process appended, once they are folded. */
  readonly onForeign: (log: WorkflowLog, events: readonly LedgerEvent[]) => void;
}

/** A log as read from the ledger: its folded record, its end, and its head in the index. */
export interface FoldedLog {
  readonly record: WorkflowRecord;
  readonly end: StreamEnd;
  readonly head: WorkflowHead;
}

/** Receives the result of a row; it is called outside the transaction. */
export interface LogListener {
  /** A row of these events is sealed now; returns the inputs that led to it. */
  readonly sealing: (now: number, drafts: readonly EventDraft[]) => TurnCause;
  readonly committed: () => void;
  /** All that is committed is durable. */
  readonly synced: () => void;
  /** Returns whether nothing outside, and nobody, waits for the row that is sealed now. */
  readonly mayBeLazy: () => boolean;
  /** The log has been reset to the ledger's state; events that were appended to it after this sequence are dropped. */
  readonly overtaken: (confirmed: number) => void;
  readonly lost: () => void;
}

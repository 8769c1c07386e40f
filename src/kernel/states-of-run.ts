/**
 * The states of a workflow after each of its events, from the events alone: an export is read like a ledger.
 *
 * Never: reads a ledger, or knows the packages of a kernel. A gate has no schema of what may be edited here.
 */
import { foldWorkflow } from "../../machines/fold.ts";
import type { LedgerEvent } from "../contract/event.ts";
import type { WorkflowRecord } from "../contract/workflow.ts";
import type { WorkflowState } from "../contract/workflow-state.ts";
import { viewWorkflow } from "../tiers/t4-execution/build-trace.ts";
import { progressOf } from "../tiers/t6-metacognition/project-progress.ts";
import { completeGates } from "./complete-gate.ts";

/** An event of a workflow, and the state after it; null before the request is on record, or if it was refused. */
export interface StateAfter {
  readonly event: LedgerEvent;
  readonly state: WorkflowState | null;
}

const noPackages = { findOperator: () => null, capabilities: () => [] };

/** Yields the states of one workflow, from its first event on. */
export function* statesOfRun(events: Iterable<LedgerEvent>): Generator<StateAfter, void, void> {
  let record: WorkflowRecord | null = null;
  for (const event of events) {
    record = foldWorkflow(record, event);
    const state =
      record === null
        ? null
        : completeGates(viewWorkflow(record, progressOf(record)), { known: noPackages, read: null });
    yield { event, state };
  }
}

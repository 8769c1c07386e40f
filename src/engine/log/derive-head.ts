/** The head of a workflow in the index: its first content, and its content as the writer knows it. */
import { percentOf, type WorkflowRecord } from "../../contract/workflow.ts";
import { titleOf } from "../../contract/workflow-summary.ts";
import type { AppendIndexes } from "../../ports/ledger-store.ts";

/** The content of the workflow's head as the writer knows it; null and undefined: not known. */
export interface KnownHead {
  readonly state: string | null;
  readonly percent: number | null;
  readonly due_at: number | null | undefined;
}

/** Returns the content of the head once these changes are in. */
export const headAfter = (known: KnownHead, { state, percent, due_at }: AppendIndexes): KnownHead => ({
  state: state ?? known.state,
  percent: percent ?? known.percent,
  due_at: due_at === undefined ? known.due_at : due_at,
});

/** Returns the head of a new workflow. */
export function headOf(record: WorkflowRecord, now: number): NonNullable<AppendIndexes["create"]> {
  const { tenant_id, workflow_id, thread_id, correlation_id, intent, state } = record;
  return {
    tenant_id,
    workflow_id,
    thread_id,
    correlation_id,
    principal_id: intent.actor.id,
    principal_type: intent.actor.type,
    title: titleOf(intent),
    percent: percentOf(record),
    intent_id: intent.intent_id,
    intent_type: intent.type,
    state,
    compensated: record.compensated,
    created_at: now,
    updated_at: now,
    schedule: intent.schedule?.name ?? null,
    due_at: null,
  };
}

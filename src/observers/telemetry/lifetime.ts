/**
 * A life: a part of a workflow with a beginning and an end. Its names are derived from the ledger alone, so that every
 * process gives the same life the same name.
 */

import type { LedgerEvent } from "../../contract/event.ts";
import type { Gate } from "../../contract/gate.ts";
import type { WorkflowRecord } from "../../contract/workflow.ts";

export type LifetimeKind = "workflow" | "step" | "attempt" | "gate";

export interface Lifetime {
  readonly kind: LifetimeKind;
  readonly workflowId: string;
  /** Its name among the lives of its workflow. */
  readonly key: string;
  readonly parent: Lifetime | null;
  /** The instant in the ledger, epoch ms. */
  readonly began: number;
  /** The intent's type; for all else the operator's name. */
  readonly subject: string;
  readonly stepId: string | null;
  /** The run of a workflow or step, the number of an attempt; 1 for a gate. */
  readonly number: number;
  readonly gateId: string | null;
}

export interface LifetimeEnd {
  /** The instant in the ledger, epoch ms. */
  readonly at: number;
  readonly outcome: string;
  /** The code of a failure; null if nothing failed. */
  readonly error: string | null;
  /** The event that ended it; null if it ended with its parent. */
  readonly event: LedgerEvent | null;
  readonly own: boolean;
  readonly record: WorkflowRecord;
}

export const keyOfRun = ({ run }: WorkflowRecord): string => `workflow/${run}`;
export const keyOfStep = ({ steps }: WorkflowRecord, stepId: string): string =>
  `step/${stepId}/${steps.get(stepId)?.run ?? 1}`;

export function lifeOfRun(record: WorkflowRecord): Lifetime {
  const { workflow_id, run, run_began_at, intent } = record;
  return {
    kind: "workflow",
    workflowId: workflow_id,
    key: keyOfRun(record),
    parent: null,
    began: Date.parse(run_began_at),
    subject: intent.type,
    stepId: null,
    number: run,
    gateId: null,
  };
}

/** Returns the life of a step's run; `at` is its beginning if the record has none. */
export function lifeOfStep(
  parent: Lifetime,
  stepId: string,
  { record, at }: { readonly record: WorkflowRecord; readonly at: number },
): Lifetime {
  const step = record.steps.get(stepId);
  const began = step?.started_at ?? null;
  return {
    ...parent,
    kind: "step",
    key: keyOfStep(record, stepId),
    parent,
    began: began === null ? at : Date.parse(began),
    subject: step?.step.operator ?? "",
    stepId,
    number: step?.run ?? 1,
  };
}

export const lifeOfAttempt = (parent: Lifetime, number: number, began: number): Lifetime => ({
  ...parent,
  kind: "attempt",
  key: `attempt/${parent.key}/${number}`,
  parent,
  began,
  number,
});

export const lifeOfGate = (parent: Lifetime, gate: Pick<Gate, "gate_id">, began: number): Lifetime => ({
  ...parent,
  kind: "gate",
  key: `gate/${gate.gate_id}/${parent.number}`,
  parent,
  began,
  number: 1,
  gateId: gate.gate_id,
});

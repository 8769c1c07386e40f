/** The head of a workflow: its row in the index of workflows. */
import type { Compensated } from "../contract/compensation.ts";
import type { WorkflowStateName } from "../contract/progress.ts";

type Id = string | number;

/** The index row of a workflow. */
export interface WorkflowHead {
  readonly workflow_id: string;
  readonly tenant_id: Id;
  readonly thread_id: Id | null;
  readonly principal_id: Id;
  readonly principal_type: string;
  /** The title of the work in lists. */
  readonly title: string;
  /** The share of the plan that is done. */
  readonly percent: number;
  readonly intent_id: string;
  readonly intent_type: string;
  readonly correlation_id: string;
  readonly state: WorkflowStateName;
  /** The part of its work that was undone; null if that was not begun. */
  readonly compensated: Compensated | null;
  readonly created_at: number;
  readonly updated_at: number;
  /** The name of the schedule that began it; null if a request did. */
  readonly schedule: string | null;
  /** The instant at which something of a resting workflow falls due (a retry, a gate's expiry); epoch ms. */
  readonly due_at: number | null;
  /** The process that holds the workflow; one that has died holds it until another process looks. */
  readonly owner: string | null;
  readonly epoch: number;
}

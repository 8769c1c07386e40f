/** What the doctor tells a host: workflows that what is registered here cannot run, and what can be done about each. */
import type { ErrorCode } from "../contract/error-codes.ts";
import type { WorkflowStateName } from "../contract/progress.ts";

/** Which workflows are looked at: of these, what has not ended. */
export interface DoctorQuestion {
  /** This workflow alone. */
  readonly workflow_id?: string;
  /** Workflows of this intent type alone. */
  readonly intent_type?: string;
}

/** One thing that stands in the way. `code` is the error that the workflow, or a decision on it, would meet. */
export interface Obstacle {
  readonly what: "package" | "operator" | "payload" | "ledger";
  readonly code: ErrorCode;
  /** Of what is missing, or of what no longer takes what waits. */
  readonly name: string;
  readonly version: string;
  /** The versions of that name that are registered. */
  readonly registered: readonly string[];
  readonly step_id: string | null;
  readonly gate_id: string | null;
  readonly reason: string;
}

/**
 * What can be done: `pin` registers what is missing beside what is there; `migrate` begins the work again under `version`
 * (retry, mode migrate); `edit` changes the payload at its gate; `end` cancels.
 */
export interface Remedy {
  readonly kind: "pin" | "migrate" | "edit" | "end";
  readonly version: string | null;
  readonly what: string;
}

/** A call of it that took effect: under another version of its operator a migration would make it again. */
export interface EffectDone {
  readonly step_id: string;
  readonly operator: string;
  readonly operator_version: string;
}

/** A workflow that cannot run here, why, and what can be done. */
export interface DoctorFinding {
  readonly workflow_id: string;
  readonly tenant_id: string | number;
  readonly intent_type: string;
  readonly version: string;
  readonly state: WorkflowStateName;
  readonly obstacles: readonly Obstacle[];
  readonly done: readonly EffectDone[];
  readonly remedies: readonly Remedy[];
}

/** How many workflows the doctor looked at, and how many are stranded. */
export interface DoctorReport {
  readonly ok: boolean;
  /** Workflows that have not ended. */
  readonly workflows: number;
  /** Of these, what cannot run here. */
  readonly stranded: number;
}

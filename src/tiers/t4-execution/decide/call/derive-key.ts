/**
 * Idempotency keys.
 *
 * 1.  Same intent, step and inputs give one key, whatever the order of members; anything else gives another.
 * 2.  Inputs are those before a policy's TRANSFORM, so that a later rule cannot mint a new key.
 * 3.  An apply key binds to the outcome version it makes final.
 */
import { canonicalJson, sha256 } from "../../../../contract/digest.ts";
import type { Outcome } from "../../../../contract/outcome.ts";
import type { WorkflowRecord } from "../../../../contract/workflow.ts";

export interface KeyMaterial {
  readonly operator: string;
  readonly version: string;
  readonly tenantId: string | number;
  readonly intentId: string;
  /** Whose work it is. */
  readonly stepId: string;
  /** As canonical JSON. */
  readonly inputs: string;
  readonly draftVersion: number;
  /** The workflow that began the draft version; absent where no other workflow can have begun one by this number. */
  readonly draftOf?: string | undefined;
}

/** `{operator}:{tenant}:{hash}:v{draft_version}`; what is hashed is canonical JSON, in which the inputs come first. */
export function deriveKey(of: KeyMaterial): string {
  const { operator, tenantId: tenant, intentId: intent_id, stepId: step_id, version: operator_version } = of;
  const begun = of.draftOf === undefined ? {} : { draft_of: of.draftOf };
  const others = canonicalJson({ ...begun, intent_id, operator_version, step_id, tenant });
  return `${operator}:${tenant}:${sha256(`{"inputs":${of.inputs},${others.slice(1)}`)}:v${of.draftVersion}`;
}

/** `apply:{tenant}:{scope id, or the id of the workflow that made the version}:{outcome}@{version}` */
export function deriveApplyKey(record: WorkflowRecord, outcome: Outcome): string {
  const scope = record.intent.scope?.scope_id ?? outcome.workflow_id;
  return `apply:${record.tenant_id}:${scope}:${outcome.outcome_id}@${outcome.version}`;
}

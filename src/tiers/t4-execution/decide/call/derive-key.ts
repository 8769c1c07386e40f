/**
 * Idempotency keys.
 *
 * 1.  The same intent, step and inputs give one key, whatever the order of members; any other value gives another key.
 * 2.  The inputs are those before a policy's TRANSFORM, so that a later rule cannot create a new key.
 * 3.  An apply key is bound to the outcome version that it makes final.
 */
import { canonicalJson, sha256 } from "../../../../contract/digest.ts";
import type { Outcome } from "../../../../contract/outcome.ts";
import type { WorkflowRecord } from "../../../../contract/workflow.ts";

export interface KeyMaterial {
  readonly operator: string;
  readonly version: string;
  readonly tenantId: string | number;
  readonly intentId: string;
  /** The step whose work it is. */
  readonly stepId: string;
  /** The inputs as canonical JSON. */
  readonly inputs: string;
  readonly draftVersion: number;
  /** The workflow that began the draft version; absent if no other workflow can have begun a version of this number. */
  readonly draftOf?: string | undefined;
}

/**
 * Returns the key `{operator}:{tenant}:{hash}:v{draft_version}`. The hash covers canonical JSON in which the inputs
 * come first.
 */
export function deriveKey(of: KeyMaterial): string {
  const { operator, tenantId: tenant, intentId: intent_id, stepId: step_id, version: operator_version } = of;
  const begun = of.draftOf === undefined ? {} : { draft_of: of.draftOf };
  const others = canonicalJson({ ...begun, intent_id, operator_version, step_id, tenant });
  return `${operator}:${tenant}:${sha256(`{"inputs":${of.inputs},${others.slice(1)}`)}:v${of.draftVersion}`;
}

/**
 * Returns the key `apply:{tenant}:{scope}:{outcome}@{version}`; the scope is the scope's id, or the id of the workflow
 * that made the version.
 */
export function deriveApplyKey(record: WorkflowRecord, outcome: Outcome): string {
  const scope = record.intent.scope?.scope_id ?? outcome.workflow_id;
  return `apply:${record.tenant_id}:${scope}:${outcome.outcome_id}@${outcome.version}`;
}

/**
 * Idempotency keys (seed 003 section 7.2; C-26, C-27).
 *
 * K1  Same intent, step and inputs give one key, whatever the order of members; anything else gives another.
 * K2  Inputs are those before a policy's TRANSFORM, so that a later rule cannot mint a new key.
 * K3  An apply key binds to the outcome version it makes final.
 */
import { digest } from "../../../contract/digest.ts";
import type { Json } from "../../../contract/json.ts";
import type { Outcome } from "../../../contract/outcome.ts";
import type { WorkflowRecord } from "../../../contract/workflow.ts";

export interface KeyMaterial {
  readonly operator: string;
  readonly version: string;
  readonly tenantId: string | number;
  readonly intentId: string;
  readonly stepId: string;
  readonly inputs: Json;
  readonly draftVersion: number;
}

/** `{operator}:{tenant}:{hash}:v{draft_version}` */
export function deriveKey({ operator, tenantId: tenant, draftVersion, ...of }: KeyMaterial): string {
  const { version: operator_version, intentId: intent_id, stepId: step_id, inputs } = of;
  return `${operator}:${tenant}:${digest({ inputs, intent_id, operator_version, step_id, tenant })}:v${draftVersion}`;
}

/** `apply:{tenant}:{scope id, or the id of the workflow that made the version}:{outcome}@{version}` */
export function deriveApplyKey(record: WorkflowRecord, outcome: Outcome): string {
  const scope = record.intent.scope?.scope_id ?? outcome.workflow_id;
  return `apply:${record.tenant_id}:${scope}:${outcome.outcome_id}@${outcome.version}`;
}

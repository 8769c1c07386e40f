/**
 * The human gate: what a plan may ask for, the record a person decides on, and the decision that comes back.
 * Source: seed 003 sections 2.5, 3.2, C-12.
 *
 * INV-1  A gate is `gate-<step_id>`; an in-doubt action's is `gate-<step_id>_doubt<n>`.
 * INV-2  An approval binds to gate, outcome id and version, payload digest and policy version.
 */
import { z } from "zod";
import { CorrelationId, GateId, OutcomeId, StepId, TenantId, WorkflowId } from "./ids.ts";
import { Principal } from "./intent.ts";
import { JsonObject, JsonValue } from "./json.ts";

/** What happens when nobody decides in time; without it a gate waits for ever. */
export const GateExpiry = z.object({
  after_ms: z.int().positive(),
  action: z.enum(["deny", "allow", "suspend", "escalate"]),
  role: z.string().optional(),
});
export type GateExpiry = z.infer<typeof GateExpiry>;

/** A gate as a plan declares it. `roles` restricts who may decide. */
export const GateSpec = z.object({
  reason: z.string().default("the plan asks for a decision"),
  roles: z.array(z.string()).optional(),
  expiry: GateExpiry.optional(),
});
export type GateSpec = z.infer<typeof GateSpec>;

/** A button for the host's user interface; its meaning is the host's. */
export const UiAction = z.object({ action: z.string(), label: z.string(), payload: JsonObject.optional() });
export type UiAction = z.infer<typeof UiAction>;

export const gateStatuses = ["declared", "open", "suspended", "approved", "rejected", "expired", "voided"] as const;
export type GateStatus = (typeof gateStatuses)[number];

/** Who or what asked for the gate. */
export const GateReason = z.object({
  source: z.enum(["policy", "plan", "operator", "recovery"]),
  rule: z.string(),
  reason: z.string(),
});
export type GateReason = z.infer<typeof GateReason>;

/** All that a person needs to decide, and what they decided. `payload` is exactly what runs after approval. */
export const Gate = z.object({
  gate_id: GateId,
  tenant_id: TenantId,
  workflow_id: WorkflowId,
  step_id: StepId,
  kind: z.enum(["approval", "in_doubt"]),
  status: z.enum(gateStatuses),
  title: z.string(),
  operator: z.string(),
  reasons: z.array(GateReason),
  target: z.object({ type: z.string(), outcome_id: OutcomeId, version: z.int().positive() }).nullable(),
  payload: JsonValue,
  payload_digest: z.string(),
  policy_version: z.string(),
  preview: z.string(),
  diff: z.string().nullable(),
  risk_level: z.enum(["low", "medium", "high"]),
  estimated_cost: z.number(),
  effect: z.string(),
  consequences: z.object({ approve: z.string(), reject: z.string(), edit: z.string() }),
  ui_actions: z.array(UiAction),
  roles: z.array(z.string()).nullable(),
  opened_at: z.string(),
  due_at: z.string().nullable(),
  expiry_action: z.enum(["deny", "allow", "suspend", "escalate"]).nullable(),
  escalate_to: z.string().nullable().default(null),
  decision: z
    .object({
      decision: z.enum(["approve", "reject"]),
      principal: Principal.nullable(),
      at: z.string(),
      edited: z.boolean(),
      resolution: z.enum(["done", "retry", "failed"]).nullable(),
      apply_targets: z.array(z.string()),
      comment: z.string().nullable(),
    })
    .nullable(),
});
export type Gate = z.infer<typeof Gate>;

/** A person's decision. `edit` replaces the payload first; `resolution` answers an in-doubt gate. */
export const GateRequest = z.object({
  tenant_id: TenantId,
  principal: Principal,
  gate_id: GateId.optional(),
  decision: z.enum(["approve", "reject"]),
  payload: z
    .object({
      target: z.object({ type: z.string(), outcome_id: z.string() }).optional(),
      apply_targets: z.array(z.string()).default([]),
      edit: JsonObject.optional(),
      resolution: z.enum(["done", "retry"]).optional(),
      result: JsonValue.optional(),
      payload_digest: z.string().optional(),
      comment: z.string().max(4096).optional(),
    })
    .prefault({}),
});
export type GateRequest = z.input<typeof GateRequest>;
export type ParsedGateRequest = z.output<typeof GateRequest>;

export const GateResponse = z.object({
  workflow_id: WorkflowId,
  status: z.enum(["resumed", "rejected", "kept"]),
  correlation_id: CorrelationId,
});
export type GateResponse = z.infer<typeof GateResponse>;

export const gateIdOf = (stepId: string): string => `gate-${stepId}`;
export const doubtGateIdOf = (stepId: string, n: number): string => `gate-${stepId}_doubt${n}`;

/**
 * The human gate: the record that people decide on, and what they say to it. What a plan may ask for: gate-spec.ts.
 *
 *
 * 1.  A gate is `gate-<step_id>`; an in-doubt action's is `gate-<step_id>_doubt<n>`.
 * 2.  An approval binds to gate, outcome id and version, payload digest, basis and policy version.
 */
import { z } from "zod";
import { Basis } from "./basis.ts";
import { kernelError } from "./error-codes.ts";
import { GateDoubt } from "./gate-doubt.ts";
import { GateEdit } from "./gate-edit.ts";
import { Approver, GateExpiry } from "./gate-spec.ts";
import { gateStatuses } from "./gate-status.ts";
import { GateDelegation, GateQuorum, GateSeat, GateSignature, GateTally, GateVote, PrincipalRef } from "./gate-vote.ts";
import { CorrelationId, GateId, OutcomeId, StepId, TenantId, WorkflowId } from "./ids.ts";
import { IdempotencyKey, Principal } from "./intent.ts";
import { JsonObject, JsonValue } from "./json.ts";
import { raise } from "./kernel-error.ts";
import type { ModuleRef } from "./module-ref.ts";

export { type GateStatus, gateStatuses, isOpenGate } from "./gate-status.ts";

/** A button for the host's user interface; its meaning is the host's. */
export const UiAction = z.strictObject({
  /** The host's own word for what the button does. */
  action: z.string(),
  /** The words on the button. */
  label: z.string(),
  /** Data that the host's interface is given with it. */
  payload: JsonObject.optional(),
});
export type UiAction = z.infer<typeof UiAction>;

/** The source that asked for the gate, and its reason. */
export const GateReason = z.object({
  source: z.enum(["policy", "plan", "operator", "recovery"]),
  rule: z.string(),
  reason: z.string(),
});
export type GateReason = z.infer<typeof GateReason>;

/** One of those whose votes decided a gate. */
export const GateCarrier = z.object({ principal: PrincipalRef, on_behalf_of: PrincipalRef.nullable() });
export type GateCarrier = z.infer<typeof GateCarrier>;

/** With a quorum: all whose votes carried a decision, in words that follow who completed it. */
export const describeCarriers = (carriers: readonly GateCarrier[]): string =>
  carriers.length === 0 ? "" : `, with the votes of ${carriers.map(describeCarrier).join(", ")}`;

const describeCarrier = ({ principal: { type, id }, on_behalf_of: seat }: GateCarrier): string =>
  `${type} ${id}${seat === null ? "" : ` in the place of ${seat.type} ${seat.id}`}`;

/**
 * What a person may change before they approve, and how: an edit gives members that replace those of `value`. At a gate whose
 * step applies an outcome it is the outcome: its new version is what the call gets.
 */
export const GateEditable = z.object({
  target: z.enum(["payload", "outcome"]),
  /** The definer: the operator whose input it is, or the capability whose outcome it is. */
  defined_by: z.object({ name: z.string(), version: z.string() }),
  /** As it stands now. */
  value: JsonValue,
  /** JSON Schema of `value`; null where the process that is asked has not registered who defines it. */
  schema: JsonObject.nullable(),
});
export type GateEditable = z.infer<typeof GateEditable>;

/** All that a person needs to decide, and what they decided. `payload` is exactly what runs after approval. */
export const Gate = z.object({
  /** Unique in its workflow. */
  gate_id: GateId,
  /** The tenant of the workflow. */
  tenant_id: TenantId,
  /** Of which workflow. */
  workflow_id: WorkflowId,
  /** The step that waits. */
  step_id: StepId,
  /** Whether a call may be made, or what became of one. */
  kind: z.enum(["approval", "in_doubt"]),
  /** Open, or how it ended. */
  status: z.enum(gateStatuses),
  /** The step's name; of an edited gate that somebody reads, the operator and the values that the edits left. */
  title: z.string(),
  /** The step's name, where edits made `title` another. No event holds it: who reads the gate is told. */
  planned_title: z.string().optional(),
  /** The operator that would be called. */
  operator: z.string(),
  /** The sources that ask for the gate, with their reasons. */
  reasons: z.array(GateReason),
  /** The outcome that the call would make final. */
  target: z.object({ type: z.string(), outcome_id: OutcomeId, version: z.int().positive() }).nullable(),
  /** Exactly what runs after an approval. */
  payload: JsonValue,
  /** SHA-256 of its canonical JSON. */
  payload_digest: z.string(),
  /** Under which rules it was opened. */
  policy_version: z.string(),
  /** The preview of the call, in the operator's words. */
  preview: z.string(),
  /** The difference that the call would make. */
  diff: z.string().nullable(),
  /** The basis of preview and diff, if the operator names one: part of what is approved. */
  basis: Basis.optional(),
  /** SHA-256 of the basis. */
  basis_digest: z.string().optional(),
  /**
   * The gate rested on something else when it was first opened: an approval must name `basis_digest`. The fold adds it.
   */
  basis_changed: z.boolean().optional(),
  /**
   * Null where nothing may be edited. No event holds it: the fold says what, and who reads the gate gets value and
   * schema.
   */
  editable: GateEditable.nullable().optional(),
  /** The step's risk. */
  risk_level: z.enum(["low", "medium", "high"]),
  /** The step's estimated cost. */
  estimated_cost: z.number(),
  /** The effect that the call may have outside. */
  effect: z.string(),
  /**
   * The consequence of each answer: as read, for its reader and at that moment; in an event, for the answer that
   * decides.
   */
  consequences: z.object({ approve: z.string(), reject: z.string(), edit: z.string() }),
  /** Buttons for the host's interface. */
  ui_actions: z.array(UiAction),
  /** Only these roles may decide; null: any that may approve. */
  roles: z.array(z.string()).nullable(),
  /** The instant at which it was opened. */
  opened_at: z.string(),
  /** The instant at which the kernel acts if nobody has decided. */
  due_at: z.string().nullable(),
  /** The action that the kernel then takes. */
  expiry_action: z.enum(["deny", "allow", "suspend", "escalate"]).nullable(),
  /** The role that it then goes to. */
  escalate_to: z.string().nullable().default(null),
  /** The actions that are still to come while nobody decides: the rung that falls due at `due_at` first. */
  ladder: z.array(GateExpiry).default([]),
  /** The instant at which the expiry behind the rungs of the ladder falls due; absent if there are no rungs. */
  expires_at: z.string().optional(),
  /** Roles that an escalation has added: they may decide beside those whom `roles` and `approvers` name. */
  added_roles: z.array(z.string()).optional(),
  /** Reminders while nobody decides: after how many milliseconds, and when the next falls due. */
  reminder: z.object({ every: z.int().positive(), due_at: z.string() }).optional(),
  /** How many votes close it; null: one decision does. */
  quorum: GateQuorum.nullable().default(null),
  /** Only these people; null: not named. */
  approvers: z.array(Approver).nullable().default(null),
  /** Only principals of these types may decide; absent: of any. */
  principal_types: z.array(z.string()).optional(),
  /** Roles whose votes are not counted. */
  advisors: z.array(z.string()).default([]),
  /** Whether those who asked may not decide. */
  separation: z.boolean().default(false),
  /** Whether seats may be lent. */
  delegation: z.boolean().default(true),
  /** Whether votes need a signature. */
  signed: z.boolean().default(false),
  /** The round of drafting that its step was in; the fold adds it. What is regenerated is shown anew. */
  draft_version: z.int().optional(),
  /** Digests of what it showed before it was revised, oldest first; the fold adds it. */
  revised_from: z.array(z.string()).optional(),
  /** Of an in-doubt gate: what is on record of the call; the fold adds it. */
  doubt: GateDoubt.optional(),
  /**
   * All who asked for what it shows: who submitted, regenerated, retried or edited, here and in linked workflows; the
   * fold adds it.
   */
  requesters: z.array(PrincipalRef).optional(),
  /** The principal who submitted the work. */
  requester: PrincipalRef.nullable().default(null),
  /** Standing votes on what the gate now shows. */
  votes: z.array(GateVote).default([]),
  /** Seats that are lent. */
  delegations: z.array(GateDelegation).default([]),
  /** A person changed what the gate shows. */
  edited: z.boolean().default(false),
  /** The edits of what the gate shows, with author, instant and changes; oldest first. The fold adds it. */
  edits: z.array(GateEdit).optional(),
  /** Of whoever reads the gate; null once it is decided, absent where nobody in particular reads. */
  seat: GateSeat.nullable().optional(),
  /** The signatures that were used at this gate before; a signature is used once. */
  spent_signatures: z.array(z.string()).default([]),
  /** How it ended; null while it is open. */
  decision: z
    .object({
      decision: z.enum(["approve", "reject"]),
      principal: Principal.nullable(),
      at: z.string(),
      edited: z.boolean(),
      resolution: z.enum(["done", "retry", "failed"]).nullable(),
      /** Of a call that is told to be done: SHA-256 of what it gave. */
      result_digest: z.string().optional(),
      apply_targets: z.array(z.string()),
      comment: z.string().nullable(),
      /** The votes that carried it; none where one decision was enough. */
      carried_by: z.array(GateCarrier).default([]),
      signature: GateSignature.nullable().default(null),
    })
    .nullable(),
});
export type Gate = z.infer<typeof Gate>;

/** A gate that nothing is said about yet and that one person decides, in their own time. */
export const plainGate = Object.freeze({
  roles: null,
  due_at: null,
  expiry_action: null,
  escalate_to: null,
  ladder: [],
  quorum: null,
  approvers: null,
  advisors: [],
  separation: false,
  delegation: true,
  signed: false,
  requester: null,
  votes: [],
  delegations: [],
  edited: false,
  spent_signatures: [],
  decision: null,
} satisfies Partial<Gate>);

/** Returns whether a gate asks this role by name, from its opening on or since an escalation. */
export const asksRole = ({ roles, added_roles = [] }: Pick<Gate, "roles" | "added_roles">, role: string): boolean =>
  roles?.includes(role) === true || added_roles.includes(role);

/** The roles that a gate asks by name; null where it asks people by name alone, or anybody. */
export function rolesAsked({ roles, approvers, added_roles = [] }: Gate): string[] | null {
  const named = [...new Set([...(roles ?? []), ...added_roles])];
  return named.length === 0 || (roles === null && approvers === null) ? null : named;
}

/** Refuses a decision that names no gate. @throws KernelErrorException T5_GATE_UNNAMED. */
export const refuseUnnamed = (source: ModuleRef): never =>
  raise(kernelError("T5_GATE_UNNAMED", "the request names neither a gate nor what one shows", source));

/**
 * A person's decision. It names its gate, or what the gate shows; in process the one open gate need not be named.
 * `edit` replaces the payload first; `resolution` answers an in-doubt gate.
 */
export const GateRequest = z.strictObject({
  /** The tenant of the workflow. */
  tenant_id: TenantId,
  /** The principal who decides. */
  principal: Principal,
  /** The gate; alternatively name its `payload_digest`. */
  gate_id: GateId.optional(),
  /** The decision. */
  decision: z.enum(["approve", "reject"]),
  /**
   * Names this decision among those of its sender: sent again, it reaches the gate that it reached first. Kept in the
   * ledger.
   */
  idempotency_key: IdempotencyKey.optional(),
  /** The digests that the decision rests on, and what it brings. */
  payload: z
    .strictObject({
      /** Only if the gate still applies this outcome. */
      target: z
        .strictObject({
          /** The kind of the outcome. */
          type: z.string(),
          /** The outcome's id, as the gate shows it. */
          outcome_id: z.string(),
        })
        .optional(),
      /** The places where an outcome is to be applied; the operator reads them. */
      apply_targets: z.array(z.string()).default([]),
      /** Members that replace those of what the gate names as editable. */
      edit: JsonObject.optional(),
      /** Of a call in doubt: what became of it. */
      resolution: z.enum(["done", "retry"]).optional(),
      /** With `done`: what the call gave. */
      result: JsonValue.optional(),
      /** Only if the gate still shows this payload. */
      payload_digest: z.string().optional(),
      /** The gate's `basis_digest`, as it was shown; an approval needs it where the gate says `basis_changed`. */
      basis_digest: z.string().optional(),
      /** Kept with the decision. */
      comment: z.string().max(4096).optional(),
      /** A compact JWS (EdDSA) over `signingInput` of the gate. */
      signature: z.string().max(8192).optional(),
    })
    .prefault({}),
});
export type GateRequest = z.input<typeof GateRequest>;
export type ParsedGateRequest = z.output<typeof GateRequest>;

/** Takes one's vote back while the gate is open. */
export const WithdrawalRequest = z.strictObject({
  /** The tenant of the workflow. */
  tenant_id: TenantId,
  /** The principal whose vote it is. */
  principal: Principal,
  /** The gate. */
  gate_id: GateId.optional(),
});
export type WithdrawalRequest = z.infer<typeof WithdrawalRequest>;

/** Lends one's seat at a gate to somebody else until `expires_at` (ISO 8601, UTC). */
export const DelegationRequest = WithdrawalRequest.extend({
  /** The principal who votes in the owner's place. */
  to: z.strictObject({
    /** The principal's type; `user` by default. */
    type: z.string().min(1).max(64).default("user"),
    /** The principal's id. */
    id: PrincipalRef.shape.id,
  }),
  /** Until when they may, ISO 8601 in UTC. */
  expires_at: z.iso.datetime(),
});
export type DelegationRequest = z.input<typeof DelegationRequest>;
export type ParsedDelegationRequest = z.output<typeof DelegationRequest>;

/** The result of a decision, a vote or a loan of a seat. */
export const GateResponse = z.object({
  workflow_id: WorkflowId,
  /**
   * `revised`: an edit made a new version that nobody has signed yet, at a gate that asks for it, or that rests on something
   * nobody was shown yet, or of which policy made something else than was said.
   */
  status: z.enum(["resumed", "rejected", "kept", "voted", "withdrawn", "delegated", "revised"]),
  correlation_id: CorrelationId,
  /** The count of the votes, at a gate that takes several or has an adviser's vote. */
  tally: GateTally.optional(),
});
export type GateResponse = z.infer<typeof GateResponse>;

export const gateIdOf = (stepId: string): string => `gate-${stepId}`;
/** The gates that a plan of these steps names. */
export const gatesIn = (steps: readonly { readonly step_id: string; readonly gate: unknown }[]): string[] =>
  steps.filter(({ gate }) => gate !== null).map(({ step_id }) => gateIdOf(step_id));
export const doubtGateIdOf = (stepId: string, n: number): string => `gate-${stepId}_doubt${n}`;
/** Returns whether a gate is a step's own, or asks about a call of it. */
export const isGateOf = (stepId: string, gateId: string): boolean =>
  gateId === gateIdOf(stepId) || gateId.startsWith(`${gateIdOf(stepId)}_doubt`);

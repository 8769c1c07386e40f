/**
 * The human gate: the record that people decide on, and the requests that answer it. The declaration in a plan:
 * gate-spec.ts.
 *
 *
 * 1.  A gate is `gate-<step_id>`; an in-doubt action's is `gate-<step_id>_doubt<n>`.
 * 2.  An approval binds to gate, outcome id and version, payload digest, basis and policy version.
 */
import { z } from "zod";
import { Basis } from "./basis.ts";
import { RunningStep } from "./child.ts";
import { kernelError } from "./error-codes.ts";
import { GateConversation } from "./gate-conversation.ts";
import { GateDoubt } from "./gate-doubt.ts";
import { GateEdit } from "./gate-edit.ts";
import { GateQuorum, GateStage, QuorumPart } from "./gate-quorum.ts";
import { Approver, GateExpiry } from "./gate-spec.ts";
import { gateConfirms, gateKinds, gateStatuses } from "./gate-status.ts";
import { GateDelegation, GateSeat, GateSignature, GateTally, GateVote, PrincipalRef } from "./gate-vote.ts";
import { GrantUse } from "./grant-use.ts";
import { CorrelationId, GateId, OutcomeId, RecordedStepId, TenantId, WorkflowId } from "./ids.ts";
import { IdempotencyKey, Principal } from "./intent.ts";
import { JsonObject, JsonValue } from "./json.ts";
import { raise } from "./kernel-error.ts";
import type { ModuleRef } from "./module-ref.ts";
import { PresentedFact } from "./present.ts";
import { RiskLevel } from "./risk-level.ts";
import { AwayAtGate } from "./stand-in.ts";

export { type GateStatus, gateKinds, gateStatuses, isOpenGate } from "./gate-status.ts";

/** The purposes of a gate. */
export const GateKind = z.enum(gateKinds);
export type GateKind = z.infer<typeof GateKind>;

/** A button for the host's user interface; its meaning is the host's. */
export const UiAction = z.strictObject({
  /** The host's own name for the action of the button. */
  action: z.string(),
  /** The label of the button. */
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
  /** The care that this source asks of faces before an approval is sent. */
  confirm: z.enum(gateConfirms).optional(),
});
export type GateReason = z.infer<typeof GateReason>;

/** The denial of a call that a gate shows: the rule, its reason, and when it was asked (ISO instant). */
export const GateDenial = z.object({ rule: z.string(), reason: z.string(), at: z.string() });
export type GateDenial = z.infer<typeof GateDenial>;

/** One of the principals whose votes decided a gate. */
export const GateCarrier = z.object({
  principal: PrincipalRef,
  on_behalf_of: PrincipalRef.nullable(),
  /** The role for whose part of the quorum the vote counted; absent at a gate without parts. */
  part: z.string().optional(),
  /** The number of the stage that the vote helped to fill; absent at a gate without stages. */
  stage: z.int().positive().optional(),
});
export type GateCarrier = z.infer<typeof GateCarrier>;

/** Returns the principals whose votes carried a decision, as text that follows the one who completed it. */
export const describeCarriers = (carriers: readonly GateCarrier[]): string =>
  carriers.length === 0 ? "" : `, with the votes of ${carriers.map(describeCarrier).join(", ")}`;

const describeCarrier = ({ principal: { type, id }, on_behalf_of: seat, part, stage }: GateCarrier): string =>
  [
    `${type} ${id}`,
    ...(seat === null ? [] : [`in the place of ${seat.type} ${seat.id}`]),
    ...(part === undefined ? [] : [`for ${part}`]),
    ...(stage === undefined ? [] : [`in stage ${stage}`]),
  ].join(" ");

/**
 * The part of a gate that a person may edit before approval: an edit gives members that replace those of `value`. At a
 * gate whose step applies an outcome it is the outcome, and the call gets its new version.
 */
export const GateEditable = z.object({
  target: z.enum(["payload", "outcome"]),
  /**
   * The definition that the value belongs to: the operator if it is an input, or the capability if it is an outcome.
   */
  defined_by: z.object({ name: z.string(), version: z.string() }),
  /** The present value. */
  value: JsonValue,
  /** The JSON Schema of `value`; null if the process that answers has not registered its definition. */
  schema: JsonObject.nullable(),
});
export type GateEditable = z.infer<typeof GateEditable>;

/** All that a person needs to decide, and the decision. `payload` is exactly what runs after approval. */
export const Gate = z.object({
  /** Unique in its workflow. */
  gate_id: GateId,
  /** The tenant of the workflow. */
  tenant_id: TenantId,
  /** The workflow that the gate belongs to. */
  workflow_id: WorkflowId,
  /** The step that waits. */
  step_id: RecordedStepId,
  /**
   * The steps that lead to the gate's workflow where it is a child, the root's first; absent at a gate of a root. The
   * fold adds it.
   */
  path: z.array(RunningStep).readonly().optional(),
  /** `approval`: whether a call may be made; `in_doubt`: how a call ended; `ask`: a question that wants an answer. */
  kind: GateKind,
  /** Open, or how it ended. */
  status: z.enum(gateStatuses),
  /**
   * The title that the operator presents, or the step's name; of an edited gate without a presented title, the operator
   * and the values that the edits left.
   */
  title: z.string(),
  /** The planned name of the step, where the operator presents `title`, or edits changed it. */
  planned_title: z.string().optional(),
  /** One line that says what the call is, as its operator presents it. */
  summary: z.string().optional(),
  /**
   * The facts that people decide by: as the operator presents them, or of the payload by the titles of its schema. An
   * event holds only those that the operator presents.
   */
  facts: z.array(PresentedFact).readonly().optional(),
  /** The operator that would be called. */
  operator: z.string(),
  /** The sources that ask for the gate, with their reasons. */
  reasons: z.array(GateReason),
  /** The outcome that the call would make final. */
  target: z.object({ type: z.string(), outcome_id: OutcomeId, version: z.int().positive() }).nullable(),
  /** Exactly what runs after an approval; of a question: `question`, `show`, `form` and `otherwise`. */
  payload: JsonValue,
  /** SHA-256 of its canonical JSON. */
  payload_digest: z.string(),
  /** Under which rules it was opened. */
  policy_version: z.string(),
  /** The preview of the call, in the operator's words. */
  preview: z.string(),
  /** The difference that the call would make. */
  diff: z.string().nullable(),
  /** The basis of preview and diff, if the operator names one. It is part of what is approved. */
  basis: Basis.optional(),
  /** SHA-256 of the basis. */
  basis_digest: z.string().optional(),
  /**
   * The gate rested on something else when it was first opened: an approval must name `basis_digest`. The fold adds it.
   */
  basis_changed: z.boolean().optional(),
  /**
   * The editable part; null if nothing may be edited. No event holds it: the fold names it, and readers of the gate get
   * value and schema.
   */
  editable: GateEditable.nullable().optional(),
  /** The step's risk. */
  risk_level: RiskLevel,
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
  /** Only these roles may decide, at a gate with stages those of the present one; null: any that may approve. */
  roles: z.array(z.string()).nullable(),
  /** The instant at which it was opened. */
  opened_at: z.string(),
  /** The instant at which the kernel acts if nobody has decided. */
  due_at: z.string().nullable(),
  /** The action that the kernel then takes. */
  expiry_action: z.enum(["deny", "allow", "suspend", "escalate"]).nullable(),
  /** The role that it then goes to. */
  escalate_to: z.string().nullable().default(null),
  /** The escalations that are still to come while nobody decides; the first is the one due at `due_at`. */
  ladder: z.array(GateExpiry).default([]),
  /** The instant at which the expiry behind the rungs of the ladder falls due; absent if there are no rungs. */
  expires_at: z.string().optional(),
  /** Roles that an escalation has added: they may decide in addition to `roles` and `approvers`. */
  added_roles: z.array(z.string()).optional(),
  /** The reminders while nobody decides: the interval in milliseconds, and the instant of the next. */
  reminder: z.object({ every: z.int().positive(), due_at: z.string() }).optional(),
  /** The stages that are filled one after another, in order; absent if all people are asked at once. */
  stages: z.array(GateStage).optional(),
  /** The number of the present stage, from 1; of a decided gate, of the stage in which it was decided. */
  stage: z.int().positive().optional(),
  /** The number of votes that close the gate, or fill its present stage; null if one decision does. */
  quorum: GateQuorum.nullable().default(null),
  /**
   * The approvals that are still to come, by role; absent at a gate without parts. No event holds it: it is computed
   * for readers.
   */
  missing: z.array(QuorumPart).readonly().optional(),
  /** Only these people; null: not named. */
  approvers: z.array(Approver).nullable().default(null),
  /** Only principals of these types may decide; absent: of any. */
  principal_types: z.array(z.string()).optional(),
  /** Roles whose votes are not counted. */
  advisors: z.array(z.string()).default([]),
  /** Whether those who requested the work are barred from deciding. */
  separation: z.boolean().default(false),
  /** Whether seats may be delegated. */
  delegation: z.boolean().default(true),
  /** Whether votes need a signature. */
  signed: z.boolean().default(false),
  /** The care of faces before an approval, the strictest of plan and rules: to `type` `approve`, or a `second_step`. */
  confirm: z.enum(gateConfirms).optional(),
  /** The round of drafting that the step was in; the fold adds it. A regenerated step is shown anew. */
  draft_version: z.int().optional(),
  /** Digests of the payloads that the gate showed before it was revised, oldest first; the fold adds it. */
  revised_from: z.array(z.string()).optional(),
  /** The recorded facts of the call at an in-doubt gate; the fold adds it. */
  doubt: GateDoubt.optional(),
  /**
   * All who requested the shown work: who submitted, regenerated, retried or edited it, here and in linked workflows;
   * the fold adds it.
   */
  requesters: z.array(PrincipalRef).optional(),
  /** The principal who submitted the work. */
  requester: PrincipalRef.nullable().default(null),
  /** Standing votes on what the gate shows now. */
  votes: z.array(GateVote).default([]),
  /** Seats that are lent. */
  delegations: z.array(GateDelegation).default([]),
  /**
   * The denial of the call by policy when it was last asked, while the gate was open: an approval is refused for as
   * long as policy denies. Absent if policy did not deny. The fold adds it.
   */
  denied: GateDenial.optional(),
  /** The conversation of people at the gate; absent if there was none. The fold adds it. */
  conversation: GateConversation.optional(),
  /** Whether a person changed what the gate shows. */
  edited: z.boolean().default(false),
  /** The edits of what the gate shows, with author, instant and changes; oldest first. The fold adds it. */
  edits: z.array(GateEdit).optional(),
  /** The seat of the reader; null once the gate is decided, absent if the read has no particular reader. */
  seat: GateSeat.nullable().optional(),
  /**
   * People who would have a seat and are away at the time of the read, with who stands in for them: the 50 oldest
   * orders. No event holds it; absent if there are none.
   */
  away: z.array(AwayAtGate).readonly().optional(),
  /** The signatures that were used at this gate before; a signature is used once. */
  spent_signatures: z.array(z.string()).default([]),
  /** The decision; null while the gate is open. */
  decision: z
    .object({
      decision: z.enum(["approve", "reject"]),
      principal: Principal.nullable(),
      at: z.string(),
      edited: z.boolean(),
      resolution: z.enum(["done", "retry", "failed"]).nullable(),
      /** SHA-256 of the result of a call that is settled as done. */
      result_digest: z.string().optional(),
      /** The answer to a question, as its form read it. */
      answer: JsonObject.optional(),
      apply_targets: z.array(z.string()),
      comment: z.string().nullable(),
      /** The votes that carried the decision; none if one decision was enough. */
      carried_by: z.array(GateCarrier).default([]),
      signature: GateSignature.nullable().default(null),
      /** The grant by which the principal approved ahead; absent of a decision that was given at the gate. */
      grant: GrantUse.optional(),
      /** The principal for whom the decider stood in at a gate that one decision closes; with `stand_in`. */
      on_behalf_of: PrincipalRef.optional(),
      /** The order by which; absent if none was needed. */
      stand_in: z.string().optional(),
    })
    .nullable(),
});
export type Gate = z.infer<typeof Gate>;

/** Returns whether a gate asks this role by name, from its opening on or since an escalation. */
export const asksRole = ({ roles, added_roles = [] }: Pick<Gate, "roles" | "added_roles">, role: string): boolean =>
  roles?.includes(role) === true || added_roles.includes(role);

/** Returns the roles that a gate names; null if it names only people, or nobody. */
export function rolesAsked({ roles, approvers, added_roles = [] }: Gate): string[] | null {
  const named = [...new Set([...(roles ?? []), ...added_roles])];
  return named.length === 0 || (roles === null && approvers === null) ? null : named;
}

/** Refuses a decision that names no gate. @throws KernelErrorException T5_GATE_UNNAMED. */
export const refuseUnnamed = (source: ModuleRef): never =>
  raise(kernelError("T5_GATE_UNNAMED", "the request names neither a gate nor what one shows", source));

/**
 * A person's decision. It names its gate, or the payload that the gate shows; in process the name may be left out if
 * only one gate is open. `edit` replaces the payload first; `resolution` answers an in-doubt gate.
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
  /** The digests that the decision rests on, and the content of the decision. */
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
      /** Members that replace those of the gate's editable value. */
      edit: JsonObject.optional(),
      /** The stated end of a call in doubt. */
      resolution: z.enum(["done", "retry"]).optional(),
      /** The result of the call; only with `done`. */
      result: JsonValue.optional(),
      /** The answer to a question; an approval of a gate of kind `ask` needs it. */
      answer: JsonObject.optional(),
      /** Only if the gate still shows this payload. */
      payload_digest: z.string().optional(),
      /** The `basis_digest` that the gate showed; an approval needs it if the gate has `basis_changed`. */
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
  /** The voter whose vote is withdrawn. */
  principal: Principal,
  /** The gate. */
  gate_id: GateId.optional(),
});
export type WithdrawalRequest = z.infer<typeof WithdrawalRequest>;

/** Lends one's seat at a gate to somebody else until `expires_at` (ISO 8601, UTC). */
export const DelegationRequest = WithdrawalRequest.extend({
  /** The principal who receives the seat. */
  to: z.strictObject({
    /** The principal's type; `user` by default. */
    type: z.string().min(1).max(64).default("user"),
    /** The principal's id. */
    id: PrincipalRef.shape.id,
  }),
  /** The end of the delegation, ISO 8601 in UTC. */
  expires_at: z.iso.datetime(),
});
export type DelegationRequest = z.input<typeof DelegationRequest>;
export type ParsedDelegationRequest = z.output<typeof DelegationRequest>;

/** The result of a decision, a vote or a loan of a seat. */
export const GateResponse = z.object({
  workflow_id: WorkflowId,
  /**
   * The result of the request. `revised`: the edit made a new version that needs another decision, because it is
   * unsigned at a gate that requires signatures, because its basis was not shown to anybody, or because policy changed
   * the edit.
   */
  status: z.enum(["resumed", "rejected", "kept", "voted", "withdrawn", "delegated", "noted", "revised"]),
  correlation_id: CorrelationId,
  /** The count of the votes, at a gate that takes several or has an adviser's vote. */
  tally: GateTally.optional(),
});
export type GateResponse = z.infer<typeof GateResponse>;

export const gateIdOf = (stepId: string): string => `gate-${stepId}`;
/** Returns the gates that a plan of these steps declares. */
export const gatesIn = (steps: readonly { readonly step_id: string; readonly gate: unknown }[]): string[] =>
  steps.filter(({ gate }) => gate !== null).map(({ step_id }) => gateIdOf(step_id));
export const doubtGateIdOf = (stepId: string, n: number): string => `gate-${stepId}_doubt${n}`;
/** Returns whether a gate is a step's own, or asks about a call of it. */
export const isGateOf = (stepId: string, gateId: string): boolean =>
  gateId === gateIdOf(stepId) || gateId.startsWith(`${gateIdOf(stepId)}_doubt`);

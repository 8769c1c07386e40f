/**
 * The conversation at a gate: comments without a decision, the person who looks after the gate, and who wants to hear
 * of it later or of all that happens at it.
 *
 * 1.  None of it decides or moves a gate, and none of it gives anybody a right at it.
 */
import { z } from "zod";
import { PrincipalRef } from "./gate-vote.ts";
import { GateId, PrincipalId, TenantId } from "./ids.ts";
import { IdempotencyKey, Principal } from "./intent.ts";

/** A comment at a gate. */
export const GateComment = z.object({
  /** Unique in its workflow. */
  comment_id: z.string(),
  at: z.string(),
  by: PrincipalRef,
  text: z.string(),
  /** The people who are told of it. */
  mentions: z.array(PrincipalRef).default([]),
  /** Whether it is a question to those who asked for the work. */
  asks: z.literal(true).optional(),
});
export type GateComment = z.infer<typeof GateComment>;

/** The conversation of people at a gate, beside deciding it. */
export const GateConversation = z.object({
  /** Oldest first. */
  comments: z.array(GateComment).default([]),
  /** The person who looks after the gate; null if it is nobody's. */
  assigned_to: PrincipalRef.nullable().default(null),
  /** Those who do not want to see the gate before an instant. */
  snoozed: z.array(z.object({ by: PrincipalRef, until: z.string() })).default([]),
  /** Those who are told of all that happens at the gate. */
  watchers: z.array(PrincipalRef).default([]),
});
export type GateConversation = z.infer<typeof GateConversation>;

/** A principal who is named: of type `user` unless a type is given. */
const Named = z.strictObject({
  /** The principal's type; `user` by default. */
  type: z.string().min(1).max(64).default("user"),
  /** The principal's id. */
  id: PrincipalId,
});

/** A note at an open gate, which decides nothing: at least one of its members is given. */
export const GateNoteRequest = z.strictObject({
  /** The tenant of the workflow. */
  tenant_id: TenantId,
  /** The principal whose note it is. */
  principal: Principal,
  /** The gate; in process it may be left out if only one is open. */
  gate_id: GateId.optional(),
  /** A comment. */
  comment: z
    .strictObject({
      /** The text of the comment. */
      text: z.string().trim().min(1).max(4096),
      /** The people who are told of it. */
      mentions: z.array(Named).max(20).default([]),
      /** Whether it is a question to those who asked for the work. */
      asks: z.boolean().default(false),
    })
    .optional(),
  /** The person who looks after the gate from now on; null for nobody. Naming oneself claims the gate. */
  assign: Named.nullable().optional(),
  /** The instant before which the principal does not want to see the gate, ISO 8601 in UTC; null to see it again. */
  snooze: z.iso.datetime().nullable().optional(),
  /** Whether the principal is told of all that happens at the gate. */
  watch: z.boolean().optional(),
  /** A comment with a key that the same principal has used at the gate is noted once. */
  idempotency_key: IdempotencyKey.optional(),
});
export type GateNoteRequest = z.input<typeof GateNoteRequest>;
export type ParsedGateNote = z.output<typeof GateNoteRequest>;

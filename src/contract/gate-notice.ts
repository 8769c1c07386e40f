/**
 * Notices about a gate: it was opened, shows something else, is due soon, was escalated, still waits, asks its next
 * stage, or was decided; and about a wait: its event has not arrived, and people are reminded of it.
 *
 * 1.  `notice_id` is derived from the content: a notice that is repeated after a crash has the same id.
 */
import { z } from "zod";
import { Gate } from "./gate.ts";
import { StepId, TenantId, WorkflowId } from "./ids.ts";
import { Principal } from "./intent.ts";

/** The kinds of notices about a gate. */
export const gateNoticeKinds = [
  "opened",
  "revised",
  "due_soon",
  "escalated",
  "reminded",
  "next_stage",
  "commented",
  "assigned",
  "decided",
] as const;
export type GateNoticeKind = (typeof gateNoticeKinds)[number];
/** The kinds of notices: those about a gate, and the reminder of an event that has not arrived. */
export const noticeKinds = [...gateNoticeKinds, "wait_reminded"] as const;
/** The kind of a notice. */
export const NoticeKind = z.enum(noticeKinds);
export type NoticeKind = (typeof noticeKinds)[number];

/** A notice about one gate. */
export const GateNotice = z.object({
  notice_id: z.string(),
  kind: z.enum(gateNoticeKinds),
  /** The instant of the change. */
  at: z.iso.datetime(),
  tenant_id: TenantId,
  workflow_id: WorkflowId,
  intent_type: z.string(),
  /** The whole gate at the time of the event. */
  gate: Gate,
  /** The gate at the time of delivery: a late notice may concern a gate that is decided by now. */
  gate_now: Gate,
  /** The principal who cancelled the workflow, if the gate was closed for that reason. */
  cancelled: z.object({ principal: Principal, reason: z.string(), at: z.iso.datetime() }).nullable(),
});
export type GateNotice = z.infer<typeof GateNotice>;

/** A reminder of an event that has not arrived. `notice_id` is derived from the content, as that of a gate's notice. */
export const WaitNotice = z.object({
  notice_id: z.string(),
  kind: z.literal("wait_reminded"),
  /** The instant of the reminder. */
  at: z.iso.datetime(),
  tenant_id: TenantId,
  workflow_id: WorkflowId,
  intent_type: z.string(),
  /** The step that waits, and its name for people. */
  step_id: StepId,
  title: z.string(),
  /** The kind of event that it waits for, and its subject. */
  event: z.string(),
  key: z.string(),
  /** The role that is reminded. */
  role: z.string(),
  /** The number of this reminder, from 1. */
  sent: z.int().positive(),
  /** The ISO instant at which the wait is over; null if it has no end. */
  due_at: z.string().nullable(),
});
export type WaitNotice = z.infer<typeof WaitNotice>;

/** Returns the id under which deliveries keep the notices of a wait, beside those of gates. */
export const waitNoticesId = (stepId: string): string => `wait-${stepId}`;

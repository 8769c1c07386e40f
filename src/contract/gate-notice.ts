/**
 * Notices about a gate: it was opened, shows something else, is due soon, was escalated, still waits,
 * asks its next stage, or was decided.
 *
 * 1.  `notice_id` is derived from the content: a notice that is repeated after a crash has the same id.
 */
import { z } from "zod";
import { Gate } from "./gate.ts";
import { TenantId, WorkflowId } from "./ids.ts";
import { Principal } from "./intent.ts";

/** The kinds of notices about a gate. */
export const gateNoticeKinds = [
  "opened",
  "revised",
  "due_soon",
  "escalated",
  "reminded",
  "next_stage",
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

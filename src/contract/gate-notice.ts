/**
 * What people are told of a gate: that it was opened, shows something else, is due soon, was escalated, still waits or was decided.
 *
 * 1.  `notice_id` follows from what is told: whoever is told twice after a crash is told under the same id.
 */
import { z } from "zod";
import { Gate } from "./gate.ts";
import { TenantId, WorkflowId } from "./ids.ts";
import { Principal } from "./intent.ts";

/** The kinds of notices. */
export const noticeKinds = ["opened", "revised", "due_soon", "escalated", "reminded", "decided"] as const;
/** The kind of a notice. */
export const NoticeKind = z.enum(noticeKinds);
export type NoticeKind = (typeof noticeKinds)[number];

/** A notice about one gate. */
export const GateNotice = z.object({
  notice_id: z.string(),
  kind: NoticeKind,
  /** The instant of the change. */
  at: z.iso.datetime(),
  tenant_id: TenantId,
  workflow_id: WorkflowId,
  intent_type: z.string(),
  /** As it stood then, whole. */
  gate: Gate,
  /** As it stands while this is told: a notice that comes late may ask for what is decided already. */
  gate_now: Gate,
  /** The principal who cancelled the workflow, if that is why nobody decides any more. */
  cancelled: z.object({ principal: Principal, reason: z.string(), at: z.iso.datetime() }).nullable(),
});
export type GateNotice = z.infer<typeof GateNotice>;

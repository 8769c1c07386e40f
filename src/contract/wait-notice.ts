/** Notices about a wait: the event that a step waits for has not arrived, and people are reminded of it. */
import { z } from "zod";
import { StepId, TenantId, WorkflowId } from "./ids.ts";

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

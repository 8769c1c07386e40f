/**
 * Pages of lists, in the order of ids: `next` is the cursor of the page after this one, null when this was the last.
 */
import { z } from "zod";
import { LedgerEvent } from "./event.ts";
import { Gate } from "./gate.ts";
import { WorkflowId } from "./ids.ts";
import { WorkflowState } from "./workflow-state.ts";

export const WorkflowPage = z.object({ workflows: z.array(WorkflowState), next: z.string().nullable() });
export type WorkflowPage = z.infer<typeof WorkflowPage>;

export const GatePage = z.object({ gates: z.array(Gate), next: z.string().nullable() });
export type GatePage = z.infer<typeof GatePage>;

/** Events of one workflow; their cursor is a sequence. */
export const EventPage = z.object({
  workflow_id: WorkflowId,
  events: z.array(LedgerEvent),
  next: z.int().positive().nullable(),
});
export type EventPage = z.infer<typeof EventPage>;

/**
 * Pages of lists. Workflows and gates are newest first: `next` is the cursor of the page after this one (of older
 * items), null on the last page; `total` counts all matches of the filter, if it was requested.
 */
import { z } from "zod";
import { LedgerEvent } from "./event.ts";
import { WorkflowId } from "./ids.ts";
import { ListedGate } from "./listed-gate.ts";
import { WorkflowSummary } from "./workflow-summary.ts";

const cursor = z.string().nullable();
const total = z.int().nonnegative().optional();

/** A page of workflows. */
export const WorkflowPage = z.object({ workflows: z.array(WorkflowSummary), next: cursor, total });
export type WorkflowPage = z.infer<typeof WorkflowPage>;

/** A page of gates. */
export const GatePage = z.object({ gates: z.array(ListedGate), next: cursor, total });
export type GatePage = z.infer<typeof GatePage>;

/** Events of one workflow; their cursor is a sequence. */
export const EventPage = z.object({
  workflow_id: WorkflowId,
  events: z.array(LedgerEvent),
  next: z.int().positive().nullable(),
});
export type EventPage = z.infer<typeof EventPage>;

/** Returns the cursor of a gate in a list: its workflow and itself. */
export const gateCursor = ({ workflow_id, gate_id }: { readonly workflow_id: string; readonly gate_id: string }) =>
  `${workflow_id}/${gate_id}`;

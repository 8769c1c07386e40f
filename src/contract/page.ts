/**
 * Pages of lists, in the order that is asked for: `next` is the cursor of the page after this one, null on the last
 * page; `total` counts all matches of the filter, if it was requested.
 */
import { z } from "zod";
import { LedgerEvent } from "./event.ts";
import { WorkflowId } from "./ids.ts";
import { neverDue } from "./instant.ts";
import type { GateSort } from "./list-filter.ts";
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

type CursorGate = Pick<ListedGate, "workflow_id" | "gate_id" | "opened_at" | "due_at">;

/** Returns the cursor of a gate in a list: its workflow and itself, after the instant that the list is ordered by. */
export function gateCursor({ workflow_id, gate_id, opened_at, due_at }: CursorGate, sort?: GateSort): string {
  const place = `${workflow_id}/${gate_id}`;
  if (sort === undefined) return place;
  const at = sort === "due" ? (due_at === null ? neverDue : Date.parse(due_at)) : Date.parse(opened_at);
  return `${at}/${place}`;
}

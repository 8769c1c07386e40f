/**
 * The filters of lists: which workflows and which gates a page shows. Every face reads the same members.
 */
import { z } from "zod";
import { PrincipalId, ThreadId, WorkflowId } from "./ids.ts";
import { WorkflowStateName } from "./progress.ts";

/** ISO 8601: an instant with its offset, or a day, which begins in UTC. */
export const Instant = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);

const paging = {
  /** At most this many; 50 by default. */
  limit: z.int().positive().default(50),
  /** Whether the answer has `total`: how many there are, whatever the page. */
  total: z.boolean().default(false),
};

/** The filter of a list of workflows. Times are ISO 8601: an instant or a day (UTC). */
export const WorkflowFilter = z.strictObject({
  /** In one of these states. */
  states: z.array(WorkflowStateName).readonly().optional(),
  /** Of one thread of requests. */
  thread_id: ThreadId.optional(),
  /** Of one intent type. */
  intent_type: z.string().optional(),
  /** The id of who asked for the work. */
  principal: PrincipalId.optional().describe("The id of who asked for the work."),
  /** In title, intent type or id, whatever the case. */
  text: z.string().max(200).optional().describe("In title, intent type or id."),
  /** Created at this time or later. */
  since: Instant.optional(),
  /** Created before this time. */
  until: Instant.optional(),
  /** The cursor: items after this one, which are older. The cursor of the next page is the last item of this one. */
  after: WorkflowId.optional(),
  /** The cursor back: items before this one; without `after`, the nearest to it. */
  before: WorkflowId.optional(),
  ...paging,
});
export type WorkflowFilter = z.input<typeof WorkflowFilter>;

/** The filter of a list of open gates. A cursor of gates is `<workflow_id>/<gate_id>`. */
export const GateFilter = z.strictObject({
  /** Of one workflow: whole. */
  workflow_id: z.string().optional(),
  /** Those that wait for the caller: they have a seat there, by role, by name or lent, and no vote of it stands. */
  mine: z.boolean().optional().describe("Those that the caller may decide."),
  /** Those that name this role. */
  role: z.string().optional(),
  /** The operator that would run. */
  operator: z.string().optional(),
  /** Due before this time. */
  due_before: Instant.optional(),
  /** The cursor: items after this one, which are older. The cursor of the next page is the last item of this one. */
  after: z.string().optional(),
  /** The cursor back: items before this one; without `after`, the nearest to it. */
  before: z.string().optional(),
  ...paging,
});
export type GateFilter = z.input<typeof GateFilter>;

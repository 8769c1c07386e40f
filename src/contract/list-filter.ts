/**
 * The filters of lists: which workflows and which gates a page shows. Every face reads the same members.
 */
import { z } from "zod";
import { PrincipalId, ThreadId, WorkflowId } from "./ids.ts";
import { IdempotencyKey } from "./intent.ts";
import { WorkflowStateName } from "./progress.ts";
import { RiskLevel } from "./risk-level.ts";

/** ISO 8601: an instant with its offset, or a day, which begins in UTC. */
export const Instant = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);

export const paging = {
  /** The maximum number of items on a page; 50 by default. */
  limit: z.int().positive().default(50),
  /** Whether the answer has `total`: the number of matches on all pages. */
  total: z.boolean().default(false),
};

/** Returns the last item of a full page, after which the next page begins; undefined if this page is the last. */
export const lastOfPage = <T>(items: readonly T[], limit: number): T | undefined =>
  items.length < limit ? undefined : items.at(-1);

/** The orders of a list by age: of workflows, and of decisions. */
export const ageSorts = ["newest", "oldest"] as const;

/**
 * The orders of a list of gates, by the instant of opening or by the due time. Gates that are never due come last. A
 * list without an order shows the gates of the newest workflow first.
 */
export const gateSorts = ["newest", "oldest", "due"] as const;
export type GateSort = (typeof gateSorts)[number];

/** The persons by whom a list of gates may be limited to those that they look after. */
export const assignments = ["me", "nobody"] as const;

/** The filter of a list of workflows. Times are ISO 8601: an instant or a day (UTC). */
export const WorkflowFilter = z.strictObject({
  /** The states that a listed workflow may have. */
  states: z.array(WorkflowStateName).readonly().optional(),
  /** The thread of requests that a listed workflow belongs to. */
  thread_id: ThreadId.optional(),
  /** The key under which the caller asked for the work: at most one workflow has it. */
  idempotency_key: IdempotencyKey.optional().describe("The key of the caller's own request: one workflow at most."),
  /** The intent type of a listed workflow. */
  intent_type: z.string().optional(),
  /** The name of the schedule that began a listed workflow. */
  schedule: z.string().max(100).optional(),
  /** The id of the requesting principal. */
  principal: PrincipalId.optional().describe("The id of who asked for the work."),
  /** A text in the title, the intent type or the id, in any case. */
  text: z.string().max(200).optional().describe("In title, intent type or id."),
  /** Created at this time or later. */
  since: Instant.optional(),
  /** Created before this time. */
  until: Instant.optional(),
  /** The order of the list: the newest first by default. */
  sort: z.enum(ageSorts).optional().describe("The order: newest (the default) or oldest first."),
  /** The cursor: items after this one, which are older. The cursor of the next page is the last item of this one. */
  after: WorkflowId.optional(),
  /** The cursor back: items before this one; without `after`, the nearest to it. */
  before: WorkflowId.optional(),
  ...paging,
});
export type WorkflowFilter = z.input<typeof WorkflowFilter>;

/**
 * The filter of a list of open gates. A cursor of gates is `<workflow_id>/<gate_id>`; in a list with an order its
 * instant of opening, or its due time, stands before that: `<epoch ms>/<workflow_id>/<gate_id>`.
 */
export const GateFilter = z.strictObject({
  /** The id of the workflow, whole. */
  workflow_id: z.string().optional(),
  /** Limits the list to the gates of this workflow and of its children at every level. */
  under: z.string().optional().describe("A workflow: its gates and those of its children at every level."),
  /**
   * Limits the list to gates that wait for the caller: the caller has a seat, by role, by name or by delegation, and
   * has not voted.
   */
  mine: z.boolean().optional().describe("Those that the caller may decide."),
  /** True: the gates at which the caller has voted. False: those at which the caller has not. */
  voted: z.boolean().optional().describe("Those at which the caller has voted, or (false) has not."),
  /** The gates that the caller looks after, or those that nobody looks after. */
  assigned: z.enum(assignments).optional().describe("Those that the caller (me) or nobody looks after."),
  /** True: the gates that the caller has snoozed until a later time. False: those that the caller has not. */
  snoozed: z.boolean().optional().describe("Those that the caller has snoozed until later, or (false) has not."),
  /** Those that name this role. */
  role: z.string().optional(),
  /** The intent type of the workflow that waits. */
  intent_type: z.string().optional(),
  /** The id of the principal who asked for the work. */
  principal: PrincipalId.optional().describe("The id of who asked for the work."),
  /** The risk of the step. */
  risk: RiskLevel.optional(),
  /** A text in the gate's title, operator, intent type or workflow id, or in the title of the workflow, in any case. */
  text: z.string().max(200).optional().describe("In titles of gate or workflow, operator, intent type or id."),
  /** Opened at this time or later. */
  since: Instant.optional().describe("Opened at this time or later."),
  /** Opened before this time. */
  until: Instant.optional().describe("Opened before this time."),
  /** The operator that would run. */
  operator: z.string().optional(),
  /** Due before this time. */
  due_before: Instant.optional(),
  /** The order of the list; without it the gates of the newest workflow come first. */
  sort: z.enum(gateSorts).optional().describe("The order: newest or oldest first, or what falls due first."),
  /** The cursor: items after this one, which are older. The cursor of the next page is the last item of this one. */
  after: z.string().optional(),
  /** The cursor back: items before this one; without `after`, the nearest to it. */
  before: z.string().optional(),
  ...paging,
});
export type GateFilter = z.input<typeof GateFilter>;

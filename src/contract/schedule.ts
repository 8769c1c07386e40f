/**
 * Schedules: work that begins at instants which a cron expression or an interval names.
 *
 * Owns: the requests, the definition as the ledger keeps it, the standing after each event, and what readers are shown.
 * Never: computes an instant.
 */
import { z } from "zod";
import { PrincipalId, TenantId, WorkflowId } from "./ids.ts";
import { Principal } from "./intent.ts";
import { JsonObject } from "./json.ts";
import { maxSleepMs } from "./step-kinds.ts";

/** The name of a schedule, unique in its tenant. */
export const ScheduleName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, "1 to 100 letters, digits, dots, dashes and underscores");

/** The treatment of an instant at which the workflow of an earlier one has not ended. */
export const OverlapPolicy = z.enum(["skip", "queue", "allow", "cancel_previous"]);
export type OverlapPolicy = z.infer<typeof OverlapPolicy>;

/** The instants that are begun afterwards, of those that nobody looked at in time. */
export const CatchUpPolicy = z.enum(["none", "last", "all"]);
export type CatchUpPolicy = z.infer<typeof CatchUpPolicy>;

const instant = z.iso.datetime({ offset: true });
const dayMs = 86_400_000;

/** The members of a schedule that its author chooses. */
const chosen = {
  /** A cron expression of five fields, or of six with seconds first; in place of `every_ms`. */
  cron: z.string().min(1).max(200).optional(),
  /** The IANA time zone in which `cron` is read, such as `Europe/Berlin`. */
  time_zone: z.string().min(1).max(64).default("UTC"),
  /** The interval in ms, from one second to ten years, counted from 1970-01-01T00:00:00Z; in place of `cron`. */
  every_ms: z.int().min(1_000).max(maxSleepMs).optional(),
  /** The intent type of the work, which is registered in this process. */
  intent_type: z.string().min(1).max(256),
  /** The inputs of the work; the package's schema reads them at each instant. */
  inputs: JsonObject.default({}),
  /**
   * The treatment of an instant at which earlier work has not ended: it is skipped, waits until that work has ended
   * (100 instants at most), begins beside it, or cancels it and begins once it has ended.
   */
  overlap: OverlapPolicy.default("skip"),
  /** The missed instants that are begun: none, the last one, or all of them in their order. */
  catch_up: CatchUpPolicy.default("last"),
  /** The age in ms beyond which a missed instant is not begun any more: at most ten years, by default a day. */
  catch_up_window_ms: z.int().min(0).max(maxSleepMs).default(dayMs),
  /** The longest delay in ms of a beginning; it follows from the name and the instant alone. */
  jitter_ms: z.int().min(0).max(dayMs).default(0),
};

const asked = {
  /** The tenant of the schedule. */
  tenant_id: TenantId,
  /** The principal who asks for it. */
  principal: Principal,
  /** The name of the schedule. */
  name: ScheduleName,
};

/** Makes or changes a schedule. The work begins on behalf of the principal, who is accountable for it. */
export const ScheduleRequest = z.strictObject({ ...asked, ...chosen });
export type ScheduleRequest = z.input<typeof ScheduleRequest>;
export type ParsedScheduleRequest = z.output<typeof ScheduleRequest>;

/** Names a schedule that is to be resumed, triggered or deleted. */
export const ScheduleCommand = z.strictObject(asked);
export type ScheduleCommand = z.input<typeof ScheduleCommand>;

/** Pauses a schedule: none of its instants begins until it is resumed, and those of that time are left out. */
export const SchedulePause = z.strictObject({
  ...asked,
  /** The reason, for its history. */
  reason: z.string().max(1024).default("paused by request"),
});
export type SchedulePause = z.input<typeof SchedulePause>;

/** Begins the instants of a span, one after another, each at most once. */
export const ScheduleBackfill = z.strictObject({
  ...asked,
  /** The first instant that may be begun. */
  from: instant,
  /** The last instant that may be begun; it is not in the future. */
  until: instant,
});
export type ScheduleBackfill = z.input<typeof ScheduleBackfill>;

/** The definition of a schedule as the ledger keeps it. */
export const ScheduleDefinition = z.object({
  cron: z.string().nullable(),
  time_zone: z.string(),
  every_ms: z.int().nullable(),
  intent_type: z.string(),
  inputs: JsonObject,
  /** The principal on whose behalf the work begins: who made or changed it last. */
  principal: Principal,
  overlap: OverlapPolicy,
  catch_up: CatchUpPolicy,
  catch_up_window_ms: z.int(),
  jitter_ms: z.int(),
});
export type ScheduleDefinition = z.infer<typeof ScheduleDefinition>;

/** The cause of an instant that waits: its time came, a person triggered it, or a backfill named it. */
export const InstantCause = z.enum(["time", "trigger", "backfill"]);
export type InstantCause = z.infer<typeof InstantCause>;

/** The reason why an instant was left out: earlier work ran, a later instant took its place, or too many waited. */
export const SkipReason = z.enum(["overlap", "replaced", "queue_full"]);
export type SkipReason = z.infer<typeof SkipReason>;

const refused = z.object({ instant: z.string(), code: z.string(), message: z.string() });

/** The standing of a schedule after an event. Each event carries it: the index is a copy of the last one. */
export const ScheduleStanding = z.object({
  state: z.enum(["active", "paused"]),
  /** Each instant up to this one has been decided on. */
  seen: z.string(),
  /** The next instant; null if there is none. */
  next: z.string().nullable(),
  /** The time of the next look: its next instant with its jitter, or the take-over of a beginning. */
  due_at: z.string().nullable(),
  /** The instant whose work is being submitted, since when, and for the how-manieth time. */
  begun: z.object({ instant: z.string(), cause: InstantCause, at: z.string(), tries: z.int() }).nullable(),
  /** Instants that wait for their turn, in their order. */
  waiting: z.array(z.object({ instant: z.string(), cause: InstantCause })),
  /** The span of a backfill that is not through: its next instant, and its last. */
  backfill: z.object({ next: z.string(), until: z.string() }).nullable(),
  /** The newest work. */
  last: z
    .object({
      instant: z.string(),
      workflow_id: WorkflowId,
      at: z.string(),
      /** Whether it was cancelled to make way for a later instant. */
      cancelled: z.boolean(),
    })
    .nullable(),
  /** The newest refusal. */
  refusal: refused.nullable(),
  /** The refusals since work was begun last. */
  refused_in_row: z.int(),
  fired: z.int(),
  missed: z.int(),
  skipped: z.int(),
  refused: z.int(),
});
export type ScheduleStanding = z.infer<typeof ScheduleStanding>;

/** A schedule as the index keeps it. */
export interface StoredSchedule {
  readonly tenant_id: string | number;
  readonly name: string;
  readonly definition: ScheduleDefinition;
  readonly standing: ScheduleStanding;
}

/** The number of refusals in a row from which a schedule is shown as failing. */
export const failingAfter = 3;

/** Returns whether something of the schedule waits and may begin in its state. */
export const hasWaiting = ({ state, waiting, backfill }: ScheduleStanding): boolean =>
  backfill !== null || waiting.some(({ cause }) => state === "active" || cause !== "time");

/** Returns the workflow whose end a schedule waits for; null if it waits for none. */
export const awaitedBy = (standing: ScheduleStanding): string | null =>
  standing.begun === null && hasWaiting(standing) ? (standing.last?.workflow_id ?? null) : null;

/** A schedule as it is shown: its definition, and where it stands. */
export const ScheduleView = z.object({
  name: z.string(),
  tenant_id: TenantId,
  ...ScheduleDefinition.shape,
  /** `failing`: active, and the last three of its submits or more were refused. */
  state: z.enum(["active", "paused", "failing"]),
  /** The next instant; null if there is none. A paused schedule has one, which it will pass over. */
  next: z.string().nullable(),
  /** The number of instants that wait for their turn, without those of a backfill. */
  waiting: z.int(),
  backfill: ScheduleStanding.shape.backfill,
  last: ScheduleStanding.shape.last,
  refusal: ScheduleStanding.shape.refusal,
  refused_in_row: z.int(),
  fired: z.int(),
  missed: z.int(),
  skipped: z.int(),
  refused: z.int(),
  /** Whether its capability is registered in the process that answers; a process without it does not begin the work. */
  fires_here: z.boolean(),
});
export type ScheduleView = z.infer<typeof ScheduleView>;

/** One entry of a schedule's history: an event of the tenant's log. */
export const ScheduleEntry = z.object({
  /** The sequence of the event in the tenant's log; the cursor of a page. */
  sequence: z.int(),
  event_type: z.string(),
  at: z.string(),
  /** The principal who did it; null for the kernel itself. */
  by: z.object({ type: z.string(), id: PrincipalId }).nullable(),
  /** The facts of the event, without the standing. */
  detail: JsonObject,
});
export type ScheduleEntry = z.infer<typeof ScheduleEntry>;

/** A question for one schedule and a page of its history, newest first. */
export const ScheduleQuestion = z.strictObject({
  /** The tenant of the schedule; of a caller it is the caller's own. */
  tenant_id: TenantId.optional(),
  /** The name of the schedule. */
  name: ScheduleName,
  /** The cursor: entries before this one, which are older. */
  before: z.int().positive().optional(),
  /** The number of entries; 50 by default. */
  limit: z.int().min(1).max(1_000).default(50),
});
export type ScheduleQuestion = z.input<typeof ScheduleQuestion>;

/** A schedule with a page of its history, newest first. */
export const ScheduleHistory = z.object({
  schedule: ScheduleView.nullable().describe("Null for a schedule that was deleted."),
  history: z.array(ScheduleEntry),
  next: z.int().nullable().describe("The cursor of the older entries; null at the end."),
});
export type ScheduleHistory = z.infer<typeof ScheduleHistory>;

/** The filter of a list of schedules, which is in the order of their names. */
export const ScheduleFilter = z.strictObject({
  /** The tenant of the schedules; of a caller it is the caller's own. */
  tenant_id: TenantId.optional(),
  /** The intent type of the work. */
  intent_type: z.string().max(256).optional(),
  /** The cursor: schedules after this name. */
  after: z.string().max(100).optional(),
  /** The maximum number of items on a page; 50 by default. */
  limit: z.int().positive().default(50),
});
export type ScheduleFilter = z.input<typeof ScheduleFilter>;

/** A page of schedules; `next` is the cursor of the following page, null on the last one. */
export const SchedulePage = z.object({ schedules: z.array(ScheduleView), next: z.string().nullable() });
export type SchedulePage = z.infer<typeof SchedulePage>;

/** The answer to a change of a schedule: where it stands now. */
export const ScheduleAnswer = z.object({ schedule: ScheduleView });
export type ScheduleAnswer = z.infer<typeof ScheduleAnswer>;

/** The answer to a deletion. */
export const ScheduleDeleted = z.object({ name: z.string(), status: z.literal("deleted") });
export type ScheduleDeleted = z.infer<typeof ScheduleDeleted>;

/** The answer to a trigger: the workflow that it began; null where the work waits for its turn, or was refused. */
export const ScheduleTriggered = z.object({
  name: z.string(),
  instant: z.string(),
  status: z.enum(["fired", "waiting", "refused"]),
  workflow_id: WorkflowId.nullable(),
  refusal: ScheduleStanding.shape.refusal,
});
export type ScheduleTriggered = z.infer<typeof ScheduleTriggered>;

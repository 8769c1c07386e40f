/** Events of schedules, in the log of their tenant. Each carries where the schedule stands after it. */
import type { KernelError } from "../error.ts";
import type { PrincipalRef } from "../gate-vote.ts";
import type { InstantCause, ScheduleDefinition, ScheduleStanding, SkipReason } from "../schedule.ts";
import { event } from "./event-row.ts";

/** The members of every event of a schedule. */
export interface OfSchedule {
  readonly name: string;
  readonly standing: ScheduleStanding;
}

/** A change by a person, who is accountable for it. */
export interface ByPerson extends OfSchedule {
  readonly by: PrincipalRef;
}

/** Instants that were looked at: those that were begun, that wait, and that were left out. */
export interface ScheduleDue extends OfSchedule {
  /** The instant whose work is submitted now. */
  readonly begun?: { readonly instant: string; readonly cause: InstantCause };
  readonly queued?: readonly string[];
  readonly skipped?: readonly { readonly instant: string; readonly reason: SkipReason }[];
  /** Instants that nobody looked at in time and that are not begun; `count` is a lower bound where `more` is true. */
  readonly missed?: { readonly from: string; readonly until: string; readonly count: number; readonly more?: true };
  /** The workflow that is cancelled to make way. */
  readonly cancels?: string;
}

const row = { from: "t7", to: "workflow" } as const;
const personal = { from: "person", to: "t7" } as const;

export const scheduleEvents = {
  SCHEDULE_SET: event<ByPerson & { readonly definition: ScheduleDefinition }>(personal),
  SCHEDULE_PAUSED: event<ByPerson & { readonly reason: string }>(personal),
  SCHEDULE_RESUMED: event<ByPerson>(personal),
  SCHEDULE_TRIGGERED: event<ByPerson & { readonly instant: string }>(personal),
  SCHEDULE_BACKFILLED: event<ByPerson & { readonly from: string; readonly until: string; readonly count: number }>(
    personal,
  ),
  SCHEDULE_DELETED: event<{ readonly name: string; readonly by: PrincipalRef }>(personal),
  SCHEDULE_DUE: event<ScheduleDue>(row),
  /** The work of an instant was accepted. */
  SCHEDULE_FIRED: event<OfSchedule & { readonly instant: string; readonly workflow_id: string }>(row),
  /** The work of an instant was refused; the schedule goes on with its next one. */
  SCHEDULE_REFUSED: event<OfSchedule & { readonly instant: string; readonly error: KernelError }>(row),
} as const;

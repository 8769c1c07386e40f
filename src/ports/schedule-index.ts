/**
 * The part of the ledger port that keeps schedules: where each stands, which are due, and their histories. It is an
 * index, written in the transaction of the event that changes it.
 */
import type { ScheduleDefinition, ScheduleEntry, ScheduleStanding, StoredSchedule } from "../contract/schedule.ts";

type Id = string | number;

/** The change of a schedule by one event, which is an entry of its history. */
export interface IndexedSchedule {
  readonly name: string;
  /** The new definition; absent if it stays. */
  readonly definition?: ScheduleDefinition;
  /** Its standing; null if it was deleted. */
  readonly standing: ScheduleStanding | null;
  /** The event's place in its row, from 0. */
  readonly ordinal: number;
  readonly entry: Pick<ScheduleEntry, "event_type" | "by" | "detail">;
}

/** A page of the schedules of a tenant, in the order of their names. */
export interface SchedulePageQuery {
  readonly tenant_id: Id;
  readonly intent_type?: string;
  /** Schedules after this name. */
  readonly after?: string;
  readonly limit: number;
}

/** A page of a schedule's history, newest first: entries before a sequence of the tenant's log. */
export interface ScheduleEntryQuery {
  readonly tenant_id: Id;
  readonly name: string;
  readonly before?: number;
  readonly limit: number;
}

/** The index of schedules, as a store keeps it. */
export interface ScheduleIndex {
  /** Returns schedules of a tenant by name, or a page of them. */
  schedules(
    query: SchedulePageQuery | { readonly tenant_id: Id; readonly names: readonly string[] },
  ): Promise<readonly StoredSchedule[]>;
  /**
   * Returns schedules of these intent types that must be looked at: those whose due time is not after `now`, the
   * earliest first, and those that wait for a workflow that has ended.
   */
  dueSchedules(intentTypes: readonly string[], now: number, limit: number): Promise<readonly StoredSchedule[]>;
  /** Returns the earliest due time of the schedules of these intent types, epoch ms; null if there is none. */
  nextScheduleDue(intentTypes: readonly string[]): Promise<number | null>;
  /** Returns entries of a schedule's history, newest first. */
  scheduleEntries(query: ScheduleEntryQuery): Promise<readonly ScheduleEntry[]>;
}

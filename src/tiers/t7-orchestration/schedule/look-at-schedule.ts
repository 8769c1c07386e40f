/**
 * Decides what follows from the time for one schedule: which instants begin, which wait, and which are left out.
 *
 * Owns: overlap, catching up, the order of instants. It is pure: the time and the state of earlier work are passed in.
 * Never: reads the ledger, submits.
 * 1.  Instants are decided on in their order, each once: `seen` only rises, whatever the clock does.
 * 2.  The work of one instant is submitted at a time; the next one follows once it has been accepted or refused.
 */
import type { EventPayloads } from "../../../contract/event.ts";
import { instantText } from "../../../contract/instant.ts";
import { hasWaiting, type ScheduleStanding, type StoredSchedule } from "../../../contract/schedule.ts";
import { type Instants, type InstantsOf, jitterOf } from "../../../protocol/schedule-instants.ts";

export interface Looking {
  /** Epoch ms. */
  readonly now: number;
  /** Whether the newest work of the schedule has not ended. */
  readonly isRunning: boolean;
  /** The age in ms up to which an instant is begun whatever `catch_up` says. */
  readonly missedAfterMs: number;
  /** The time in ms after which another process submits what one has begun to submit. */
  readonly takeOverMs: number;
  readonly instantsOf: InstantsOf;
}

/** The part of a schedule that is looked at. */
export type Looked = Pick<StoredSchedule, "name" | "definition" | "standing">;

type Due = EventPayloads["SCHEDULE_DUE"];
type Skipped = NonNullable<Due["skipped"]>[number];
type Begun = NonNullable<Due["begun"]>;

/** The instants that wait at once; further ones are left out. */
export const maxWaiting = 100;
/** The missed instants that are counted; beyond them the count is a lower bound. */
const maxCounted = 1_000;

/** Returns the event that follows from the time; null if nothing does. */
export const lookAt = (schedule: Looked, looking: Looking): Due | null => new Look(schedule, looking).decide();

/** Returns a standing with its next instant, and the time at which it must be looked at. */
export function withDue(
  schedule: Looked,
  { takeOverMs, instantsOf }: Pick<Looking, "takeOverMs" | "instantsOf">,
): ScheduleStanding {
  const { name, definition, standing } = schedule;
  const next = instantsOf(definition).after(Date.parse(standing.seen));
  const times: number[] = [];
  if (next !== null && standing.state === "active") times.push(next + jitterOf(name, next, definition.jitter_ms));
  if (standing.begun !== null) times.push(Date.parse(standing.begun.at) + takeOverMs);
  return {
    ...standing,
    next: next === null ? null : instantText(next),
    due_at: times.length === 0 ? null : instantText(Math.min(...times)),
  };
}

class Look {
  readonly #schedule: Looked;
  readonly #at: Looking;
  readonly #instants: Instants;
  readonly #skipped: Skipped[] = [];
  readonly #queued: string[] = [];
  #standing: ScheduleStanding;
  #missed: Due["missed"];
  /** Whether an instant came that takes the place of earlier ones. */
  #takesPlace = false;

  constructor(schedule: Looked, at: Looking) {
    this.#schedule = schedule;
    this.#at = at;
    this.#standing = schedule.standing;
    this.#instants = at.instantsOf(schedule.definition);
  }

  decide(): Due | null {
    if (this.#standing.state === "active") {
      this.#passMissed();
      for (const instant of this.#takeDue()) this.#queue(instant);
    }
    const begun = this.#begin();
    const cancels = this.#cancel();
    const changes: Omit<Due, "name" | "standing"> = {
      ...(begun !== null && { begun }),
      ...(this.#queued.length > 0 && { queued: this.#queued }),
      ...(this.#skipped.length > 0 && { skipped: this.#skipped }),
      ...(this.#missed !== undefined && { missed: this.#missed }),
      ...(cancels !== null && { cancels }),
    };
    if (Object.keys(changes).length === 0) return null;
    const { skipped, missed } = this.#standing;
    const standing = {
      ...this.#standing,
      skipped: skipped + this.#skipped.length,
      missed: missed + (this.#missed?.count ?? 0),
    };
    return {
      name: this.#schedule.name,
      ...changes,
      standing: withDue({ ...this.#schedule, standing }, this.#at),
    };
  }

  get #seen(): number {
    return Date.parse(this.#standing.seen);
  }

  #see(instant: number): void {
    this.#standing = { ...this.#standing, seen: instantText(instant) };
  }

  /** Passes over the missed instants that `catch_up` does not ask for. */
  #passMissed(): void {
    const until = this.#missedUntil();
    const first = this.#instants.after(this.#seen);
    if (first === null || first > until) return;
    let [last, count] = [first, 1];
    for (let next = this.#instants.after(first); next !== null && next <= until && count < maxCounted; count += 1) {
      last = next;
      next = this.#instants.after(next);
    }
    const end = this.#instants.until(until) ?? last;
    const more = end > last ? { more: true as const } : {};
    this.#missed = { from: instantText(first), until: instantText(end), count, ...more };
    this.#see(end);
  }

  /** Returns the time up to which missed instants are left out; epoch ms. */
  #missedUntil(): number {
    const { now, missedAfterMs } = this.#at;
    const { catch_up, catch_up_window_ms, jitter_ms } = this.#schedule.definition;
    const late = now - missedAfterMs - jitter_ms;
    const expired = Math.min(late, now - catch_up_window_ms);
    if (catch_up === "all") return expired;
    const last = catch_up === "last" ? this.#instants.until(late) : null;
    return last === null || last <= expired ? late : last - 1;
  }

  /** Returns the instants that are due now, in their order. */
  #takeDue(): readonly number[] {
    const { now } = this.#at;
    const { name, definition } = this.#schedule;
    const room = definition.overlap === "allow" ? maxWaiting - this.#standing.waiting.length : maxWaiting;
    const due: number[] = [];
    while (due.length < room) {
      const next = this.#instants.after(this.#seen);
      if (next === null || next + jitterOf(name, next, definition.jitter_ms) > now) break;
      due.push(next);
      this.#see(next);
    }
    return due;
  }

  #queue(at: number): void {
    const instant = instantText(at);
    const { waiting, begun } = this.#standing;
    const { overlap } = this.#schedule.definition;
    const isBusy = begun !== null || this.#at.isRunning || waiting.length > 0;
    if (overlap === "skip" && isBusy) this.#skipped.push({ instant, reason: "overlap" });
    else if (waiting.length >= maxWaiting) this.#skipped.push({ instant, reason: "queue_full" });
    else {
      const kept = overlap === "cancel_previous" ? this.#replaced(waiting) : waiting;
      this.#takesPlace = overlap === "cancel_previous";
      if (overlap === "queue" && isBusy) this.#queued.push(instant);
      this.#standing = { ...this.#standing, waiting: [...kept, { instant, cause: "time" }] };
    }
  }

  /** Returns what waits without the instants whose place a later one takes. */
  #replaced(waiting: ScheduleStanding["waiting"]): ScheduleStanding["waiting"] {
    for (const { instant, cause } of waiting) if (cause === "time") this.#skipped.push({ instant, reason: "replaced" });
    return waiting.filter(({ cause }) => cause !== "time");
  }

  /** Begins the next instant that may begin, or takes over the beginning of a process that has not ended it in time. */
  #begin(): Begun | null {
    const { begun } = this.#standing;
    if (begun !== null) {
      if (this.#at.now < Date.parse(begun.at) + this.#at.takeOverMs) return null;
      return this.#submit(begun, begun.tries + 1);
    }
    if (this.#at.isRunning && this.#schedule.definition.overlap !== "allow") return null;
    const { state, waiting } = this.#standing;
    const at = waiting.findIndex(({ cause }) => state === "active" || cause !== "time");
    const next = waiting[at];
    if (next === undefined) return this.#beginBackfill();
    this.#standing = { ...this.#standing, waiting: waiting.toSpliced(at, 1) };
    return this.#submit(next);
  }

  #beginBackfill(): Begun | null {
    const { backfill } = this.#standing;
    if (backfill === null) return null;
    const next = this.#instants.after(Date.parse(backfill.next));
    const isOver = next === null || next > Date.parse(backfill.until);
    this.#standing = { ...this.#standing, backfill: isOver ? null : { ...backfill, next: instantText(next) } };
    return this.#submit({ instant: backfill.next, cause: "backfill" });
  }

  #submit({ instant, cause }: Begun, tries = 1): Begun {
    this.#standing = { ...this.#standing, begun: { instant, cause, at: instantText(this.#at.now), tries } };
    return { instant, cause };
  }

  /**
   * Returns the work that has to make way: once, and again with each later instant, because the process that was to
   * cancel it may have died.
   */
  #cancel(): string | null {
    const { begun, last } = this.#standing;
    const { overlap } = this.#schedule.definition;
    if (overlap !== "cancel_previous" || begun !== null || !this.#at.isRunning || !hasWaiting(this.#standing))
      return null;
    if (last === null || (last.cancelled && !this.#takesPlace)) return null;
    this.#standing = { ...this.#standing, last: { ...last, cancelled: true } };
    return last.workflow_id;
  }
}

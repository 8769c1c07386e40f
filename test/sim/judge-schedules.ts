/**
 * Judges schedules against the ledger.
 *
 * 1.  An instant begins one workflow at most, over all processes, and none that the tenant's log does not name first.
 * 2.  None begins by time while its schedule is paused, of the instants of a pause, or after its schedule was deleted.
 * 3.  Unless work may overlap, none begins while another one runs; the submit of one ends before that of the next.
 * 4.  With `catch_up` all and overlap allowed, each instant from the setting to the end of the story begins or waits,
 *     but for those of a pause, and those older than the window, which the log says were missed.
 * 5.  Each submit has its end in the log once nothing moves any more.
 */
import { type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import type { ScheduleDue } from "../../src/contract/events/schedule-events.ts";
import type { ScheduleDefinition, ScheduleStanding } from "../../src/contract/schedule.ts";
import { type Instants, loadInstants } from "../../src/protocol/schedule-instants.ts";
import type { OutsideWorld } from "./outside-world.ts";
import { storyIsOver } from "./story-schedules.ts";

const ends: ReadonlySet<string> = new Set(["WORKFLOW_COMPLETED", "WORKFLOW_FAILED", "WORKFLOW_CANCELLED"]);

/** A time in which instants are to begin: behind `from`, up to `until`; epoch ms. */
interface Span {
  readonly from: number;
  readonly until: number;
  readonly instants: Instants;
}

/** A schedule as the ledger has it so far, since it was set for the first time or after a deletion. */
interface Schedule {
  definition: ScheduleDefinition;
  standing: ScheduleStanding;
  instants: Instants;
  /** The time behind which its instants are decided on; epoch ms. */
  from: number;
  /** The time of the pause, and what waited then; null if it is not paused. */
  paused: number | null;
  readonly pauses: { readonly from: number; readonly until: number; readonly waited: ReadonlySet<string> }[];
  readonly spans: Span[];
  /** The instants that began, or that the log says were left out. */
  readonly decided: Set<string>;
  readonly missed: { readonly from: number; readonly until: number }[];
  /** Its workflows that have not ended for the first time. */
  readonly running: Set<string>;
}

type Load = Awaited<ReturnType<typeof loadInstants>>;

/** Returns whether the submit of an instant has no end in the log yet. */
export function isUnsettled({ durable }: Pick<OutsideWorld, "durable">): boolean {
  const begun = new Map<string, boolean>();
  for (const { event } of durable)
    if (event.event_type.startsWith("SCHEDULE_")) {
      const standing = event.payload["standing"] as ScheduleStanding | undefined;
      begun.set(String(event.payload["name"]), standing !== undefined && standing.begun !== null);
    }
  return [...begun.values()].includes(true);
}

export async function judgeSchedules(world: Pick<OutsideWorld, "durable">): Promise<readonly string[]> {
  const judge = new ScheduleJudge(await loadInstants());
  for (const { event } of world.durable) judge.hear(event);
  judge.end();
  if (isUnsettled(world)) judge.failures.push("schedule: a submit has no end");
  return judge.failures;
}

class ScheduleJudge {
  readonly failures: string[] = [];
  readonly #load: Load;
  readonly #schedules = new Map<string, Schedule>();
  /** What the tenant's log has begun, by name and instant; the workflow once there is one. */
  readonly #begun = new Map<string, string | null>();
  /** The schedule that began each of them. A schedule that was deleted may have a successor of its name. */
  readonly #beginners = new Map<string, Schedule>();
  /** The workflows of queues that answer a request with the one that runs. */
  readonly #existing = new Set<string>();

  constructor(load: Load) {
    this.#load = load;
  }

  hear(event: LedgerEvent): void {
    if (event.event_type === "INTENT_RECEIVED") this.#receive(event);
    if (event.workflow_id !== null && ends.has(event.event_type))
      for (const { running } of this.#schedules.values()) running.delete(event.workflow_id);
    if (!event.event_type.startsWith("SCHEDULE_")) return;
    const name = String(event.payload["name"]);
    const one = this.#schedules.get(name);
    if (event.event_type === "SCHEDULE_SET") return this.#set(event, one);
    if (one === undefined) return this.#fail(name, `${event.event_type} of no schedule`);
    this.#change(event, one);
    const standing = event.payload["standing"] as ScheduleStanding | undefined;
    if (standing !== undefined) one.standing = standing;
  }

  /** Holds each schedule that is left to its instants. */
  end(): void {
    for (const [name, one] of this.#schedules) this.#account(name, one);
  }

  #fail(name: string, why: string): void {
    this.failures.push(`schedule: ${name}: ${why}`);
  }

  #receive(event: LedgerEvent): void {
    const { intent, regenerated_from, parent, fork } = payloadOf(event, "INTENT_RECEIVED");
    const { workflow_id } = event;
    const { schedule } = intent;
    if (intent.queue?.singleton === "return_existing" && workflow_id !== null) this.#existing.add(workflow_id);
    // What repeats or continues the work of a schedule was asked for by a person.
    const isAsked = regenerated_from !== null || parent !== undefined || fork !== undefined;
    if (schedule === undefined || isAsked || workflow_id === null) return;
    const { name, instant } = schedule;
    const key = `${name} ${instant}`;
    const other = this.#begun.get(key);
    if (other === undefined) this.#fail(name, `${workflow_id} began for ${instant}, which the log does not begin`);
    if (other != null) this.#fail(name, `${instant} began ${other} and ${workflow_id}`);
    this.#begun.set(key, workflow_id);
    this.#beginners.get(key)?.running.add(workflow_id);
  }

  #set(event: LedgerEvent, before: Schedule | undefined): void {
    const { name, definition, standing } = payloadOf(event, "SCHEDULE_SET");
    const instants = this.#load(definition);
    const from = Date.parse(standing.seen);
    if (before !== undefined) {
      closeSpan(before);
      Object.assign(before, { definition, standing, instants, from });
      return;
    }
    const none = { paused: null, pauses: [], spans: [], decided: new Set<string>(), missed: [] };
    this.#schedules.set(name, { definition, standing, instants, from, ...none, running: new Set() });
  }

  #change(event: LedgerEvent, one: Schedule): void {
    const { event_type, timestamp } = event;
    const name = String(event.payload["name"]);
    if (event_type === "SCHEDULE_PAUSED") {
      if (payloadOf(event, "SCHEDULE_PAUSED").reason === storyIsOver) this.#lookAtEnd(name, one, Date.parse(timestamp));
      closeSpan(one);
      one.paused = Date.parse(timestamp);
    }
    if (event_type === "SCHEDULE_RESUMED" && one.paused !== null) {
      const { standing } = payloadOf(event, "SCHEDULE_RESUMED");
      const waited = new Set(one.standing.waiting.map(({ instant }) => instant));
      one.pauses.push({ from: one.paused, until: Date.parse(timestamp), waited });
      Object.assign(one, { paused: null, from: Date.parse(standing.seen) });
    }
    if (event_type === "SCHEDULE_DELETED") {
      closeSpan(one);
      this.#account(name, one);
      this.#schedules.delete(name);
    }
    if (event_type === "SCHEDULE_DUE") this.#due(one, payloadOf(event, "SCHEDULE_DUE"), Date.parse(timestamp));
    if (event_type === "SCHEDULE_FIRED") {
      const { instant, workflow_id } = payloadOf(event, "SCHEDULE_FIRED");
      const known = this.#begun.get(`${name} ${instant}`);
      // A queue may answer a request with the workflow that runs.
      const isOther = known === null && this.#existing.has(workflow_id);
      if (known !== workflow_id && !isOther)
        this.#fail(name, `${instant} is told to have begun ${workflow_id}, and began ${known}`);
    }
  }

  #due(one: Schedule, { name, begun, skipped, missed, standing }: ScheduleDue, now: number): void {
    for (const { instant } of skipped ?? []) one.decided.add(instant);
    if (missed !== undefined) {
      const span = { from: Date.parse(missed.from), until: Date.parse(missed.until) };
      one.missed.push(span);
      if (one.definition.catch_up === "all" && span.until > now - one.definition.catch_up_window_ms)
        this.#fail(name, `${missed.until} is left out, and is not older than the window at ${now}`);
    }
    if (begun === undefined) return;
    const { instant, cause } = begun;
    one.decided.add(instant);
    const key = `${name} ${instant}`;
    if (!this.#begun.has(key)) this.#begun.set(key, null);
    if (!this.#beginners.has(key)) this.#beginners.set(key, one);
    if (standing.begun !== null && standing.begun.tries > 1) {
      if (one.standing.begun?.instant !== instant) this.#fail(name, `${instant} is taken over, and did not begin`);
      return;
    }
    if (one.standing.begun !== null)
      this.#fail(name, `${instant} begins before ${one.standing.begun.instant} has ended`);
    if (one.definition.overlap !== "allow" && one.running.size > 0)
      this.#fail(name, `${instant} begins beside ${[...one.running]}, and its overlap is ${one.definition.overlap}`);
    if (cause === "time") this.#requireActive(name, one, instant);
  }

  #requireActive(name: string, { paused, pauses }: Schedule, instant: string): void {
    if (paused !== null) this.#fail(name, `${instant} begins while it is paused`);
    const at = Date.parse(instant);
    const within = pauses.find(({ from, until, waited }) => from < at && at <= until && !waited.has(instant));
    if (within !== undefined) this.#fail(name, `${instant} begins, and was an instant of a pause`);
  }

  /** At the end of a story somebody has looked at what is due. */
  #lookAtEnd(name: string, { standing, definition, instants }: Schedule, now: number): void {
    const next = instants.after(Date.parse(standing.seen));
    if (next !== null && next + definition.jitter_ms < now)
      this.#fail(name, `nobody has looked at ${new Date(next).toISOString()}`);
  }

  /** Each instant of the spans began, waits, or was left out in a way that the definition allows. */
  #account(name: string, one: Schedule): void {
    const { definition, standing, spans, decided, missed } = one;
    if (definition.catch_up !== "all" || definition.overlap !== "allow") return;
    const waiting = new Set(standing.waiting.map(({ instant }) => instant));
    for (const { from, until, instants } of spans)
      for (let next = instants.after(from); next !== null && next <= until; next = instants.after(next)) {
        const [at, text] = [next, new Date(next).toISOString()];
        const over = missed.find((span) => span.from <= at && at <= span.until);
        // A long time may have passed: the rest of what was missed is passed over at once.
        if (over !== undefined) next = over.until;
        else if (!decided.has(text) && !waiting.has(text)) this.#fail(name, `${text} is left out`);
      }
  }
}

/** Ends the time in which its instants are to begin with the last one that was decided on. */
function closeSpan({ paused, from, standing, spans, instants }: Schedule): void {
  if (paused === null) spans.push({ from, until: Date.parse(standing.seen), instants });
}

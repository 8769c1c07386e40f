/**
 * Judges the queues of workflows against the ledger.
 *
 * 1.  No more workflows of a queue and key have begun and not ended than the queue allows, or a person who has set its
 *     limits; nor do more begin within a time than its rate allows.
 * 2.  Those who wait take places by priority, then by time: a place that one takes is free once all before it have
 *     theirs. One that is paused or held keeps nobody waiting.
 * 3.  Nothing of a workflow is planned or called before it has a place. A retry names the steps that it runs again, and
 *     then waits.
 * 4.  A request is accepted if it may take a place, or fewer wait than may; a singleton that refuses others lets none
 *     wait. One that replaces others begins once each of them has ended or is being cancelled.
 * 5.  Once nothing moves any more, nobody waits while a place is free.
 */
import { foldWorkflow } from "../../machines/fold.ts";
import { type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import { lineOf, type QueueTicket } from "../../src/contract/queue.ts";
import type { QueueLimits } from "../../src/contract/queue-limits.ts";
import { isCancelled, isTerminal, type WorkflowRecord } from "../../src/contract/workflow.ts";
import type { OutsideWorld } from "./outside-world.ts";

type Records = ReadonlyMap<string, WorkflowRecord | null>;

/** A workflow that waits in its queue, and what decides its turn. */
interface Waiting {
  readonly id: string;
  readonly line: string;
  readonly priority: number;
  readonly since: number;
}

/** The workflows that have begun in a queue and have not ended, by their ids, each with its line. */
type Taken = Map<string, string>;

/** The limits that a person has set, by the names of queues. */
type SetLimits = Map<string, QueueLimits | null>;

const begins: ReadonlySet<string> = new Set(["PLAN_CREATED", "STEP_STARTED", "ACTION_STARTED"]);
const ends: ReadonlySet<string> = new Set(["WORKFLOW_COMPLETED", "WORKFLOW_FAILED", "WORKFLOW_CANCELLED"]);

export function judgeQueues({ durable }: Pick<OutsideWorld, "durable">): readonly string[] {
  const records = new Map<string, WorkflowRecord | null>();
  const taken: Taken = new Map();
  const admitted = new Admissions();
  const limits: SetLimits = new Map();
  const replaced = new Map<string, readonly string[]>();
  const failures: string[] = [];
  for (const { event } of durable) {
    const { workflow_id: id } = event;
    if (event.event_type === "QUEUE_LIMITS_SET") {
      const order = payloadOf(event, "QUEUE_LIMITS_SET");
      limits.set(order.name, order.limits);
      // A rate counts the admissions since it was set.
      if (order.limits?.rate != null) admitted.forget(order.name);
    }
    if (id === null) continue;
    if (event.event_type === "WORKFLOW_QUEUED") replaced.set(id, payloadOf(event, "WORKFLOW_QUEUED").replaces ?? []);
    const record = records.get(id) ?? null;
    const ticket = record?.intent.queue;
    if (record !== null && ticket !== undefined) {
      const why = judgeEvent(event, {
        record,
        ticket: { ...ticket, ...boundsOf(ticket, limits) },
        records,
        taken,
        admitted,
        replaced: replaced.get(id) ?? [],
      });
      if (why !== null) failures.push(`queue: ${why} (${event.event_type} of ${id} at ${event.sequence})`);
      if (event.event_type === "WORKFLOW_ADMITTED") {
        taken.set(id, lineOf(ticket));
        admitted.add(event, ticket, boundsOf(ticket, limits).rate);
      }
      if (ends.has(event.event_type)) admitted.leave(event);
    }
    const full = record === null ? judgeAccepted(event, { records, taken, limits }) : null;
    if (full !== null) failures.push(`queue: ${full} (${id})`);
    if (ends.has(event.event_type)) taken.delete(id);
    records.set(id, foldWorkflow(record, event));
  }
  return failures;
}

interface Counted {
  readonly name: string;
  readonly line: string;
  readonly at: number;
  readonly until: number;
}

const placeOf = (workflowId: string | null, sequence: number): string => `${workflowId} ${sequence}`;

/**
 * The instants at which places were taken that a rate counts. A process whose clock is ahead takes those for over whose
 * time is over by its clock.
 */
class Admissions {
  #counted: (Counted & { readonly by: string })[] = [];

  add({ timestamp, workflow_id, sequence }: LedgerEvent, ticket: QueueTicket, rate: QueueTicket["rate"]): void {
    const at = Date.parse(timestamp);
    const by = placeOf(workflow_id, sequence);
    const per = Math.max(rate?.per_ms ?? 0, ticket.rate?.per_ms ?? 0);
    if (per === 0) return;
    this.#counted = this.#counted.filter(({ until }) => until > at);
    this.#counted.push({ name: ticket.name, line: lineOf(ticket), at, until: at + per, by });
  }

  /** Takes back a place that its workflow took and left in one row: nothing has begun in it. */
  leave({ workflow_id, sequence }: LedgerEvent): void {
    const by = placeOf(workflow_id, sequence - 1);
    this.#counted = this.#counted.filter((one) => one.by !== by);
  }

  /** Returns the instants of a line, the newest first. */
  of(line: string): readonly number[] {
    const own = this.#counted.filter((one) => one.line === line);
    return own.map(({ at }) => at).sort((a, b) => b - a);
  }

  forget(name: string): void {
    this.#counted = this.#counted.filter((one) => one.name !== name);
  }
}

interface Standing {
  readonly record: WorkflowRecord;
  readonly ticket: QueueTicket;
  readonly records: Records;
  readonly taken: Taken;
  readonly admitted: Admissions;
  /** The workflows that it replaces. */
  readonly replaced: readonly string[];
}

function boundsOf(
  { name, rate }: QueueTicket,
  limits: SetLimits,
): Pick<QueueTicket, "rate"> & { concurrency?: number } {
  const { rate: set, ...others } = limits.get(name) ?? {};
  return { ...others, rate: set === undefined ? rate : (set ?? undefined) };
}

interface Accepting {
  readonly records: Records;
  readonly taken: Taken;
  readonly limits: SetLimits;
}

/** A request is accepted only if somebody may still wait, or a place is free. */
function judgeAccepted(event: LedgerEvent, { records, taken, limits }: Accepting): string | null {
  const ticket = event.event_type === "INTENT_RECEIVED" ? payloadOf(event, "INTENT_RECEIVED").intent.queue : undefined;
  if (ticket?.max_waiting === undefined) return null;
  const line = lineOf(ticket);
  const { concurrency = ticket.concurrency } = boundsOf(ticket, limits);
  const running = [...taken].filter(([, of]) => of === line).length;
  const waiting = [...records.values()].filter((one) => one !== null && isInLine(one, line)).length;
  return running < concurrency || waiting < ticket.max_waiting
    ? null
    : `it is accepted while ${waiting} of ${ticket.max_waiting} wait, and ${running} of ${concurrency} run`;
}

/** Returns whether a workflow waits in a line. A rollback of one that has ended needs no place, and waits for none. */
const isInLine = ({ intent, state, place, paused, held, compensating }: WorkflowRecord, line: string): boolean =>
  intent.queue !== undefined &&
  lineOf(intent.queue) === line &&
  !isTerminal(state) &&
  compensating === null &&
  place !== "taken" &&
  paused === null &&
  held === null;

function judgeEvent(event: LedgerEvent, standing: Standing): string | null {
  const { record, ticket, records, taken, admitted, replaced } = standing;
  const { event_type, workflow_id } = event;
  if (begins.has(event_type) && !(event_type === "PLAN_CREATED" && record.plan !== null))
    return taken.has(workflow_id as string) || record.compensating !== null ? null : "it begins without a place";
  if (event_type !== "WORKFLOW_ADMITTED") return null;
  const line = lineOf(ticket);
  const others = [...taken].filter(([id, of]) => of === line && id !== workflow_id).length;
  if (others >= ticket.concurrency) return `it takes a place beside ${others} of ${ticket.concurrency}`;
  const left = replaced.find((id) => !isLeaving(records.get(id)));
  if (left !== undefined) return `it replaces ${left}, which goes on`;
  const { rate } = ticket;
  const before = rate === undefined ? undefined : admitted.of(line)[rate.limit - 1];
  if (rate !== undefined && before !== undefined && Date.parse(event.timestamp) - before < rate.per_ms)
    return `it takes a place ${Date.parse(event.timestamp) - before} ms after the ${rate.limit}th before it`;
  const own = waitingOf(record) as Waiting;
  const ahead = waitingIn(records).filter((one) => one.line === line && isBefore(one, own));
  return others + ahead.length < ticket.concurrency
    ? null
    : `it takes a place beside ${others} of ${ticket.concurrency}, before ${ahead.map(({ id }) => id)}`;
}

const isLeaving = (record: WorkflowRecord | null | undefined): boolean =>
  record == null || isTerminal(record.state) || isCancelled(record.state);

const isBefore = (one: Waiting, other: Waiting): boolean => {
  const order = other.priority - one.priority || one.since - other.since;
  return order < 0 || (order === 0 && one.id < other.id);
};

function waitingOf({ workflow_id, intent, run_began_at, start_at, debounced, run }: WorkflowRecord): Waiting | null {
  const { queue } = intent;
  if (queue === undefined) return null;
  const joined = Math.max(Date.parse(run_began_at), start_at === null ? 0 : Date.parse(start_at));
  // One that supersedes others has their turn.
  const since = debounced === null || run > 1 ? joined : Date.parse(debounced.from);
  return { id: workflow_id, line: lineOf(queue), priority: queue.priority, since };
}

/** Returns those who wait for a place and whom neither a person nor a halt holds back. */
const waitingIn = (records: Records): readonly Waiting[] =>
  [...records.values()].flatMap((record) =>
    record === null || record.place !== "waiting" || record.paused !== null || record.held !== null
      ? []
      : (waitingOf(record) ?? []),
  );

/** Returns the queues in which somebody waits and a place is free, as the ledger has them now. */
export function findIdle({ records, durable }: Pick<OutsideWorld, "records" | "durable">): readonly string[] {
  const limits: SetLimits = new Map();
  for (const { event } of durable) {
    if (event.event_type !== "QUEUE_LIMITS_SET") continue;
    const order = payloadOf(event, "QUEUE_LIMITS_SET");
    limits.set(order.name, order.limits);
  }
  const all = [...records.values()].filter((record) => record?.intent.queue !== undefined) as WorkflowRecord[];
  const waiting = new Set(waitingIn(records).map(({ line }) => line));
  return [...waiting].flatMap((line) => {
    const own = all.filter(({ intent }) => lineOf(intent.queue as QueueTicket) === line);
    const running = own.filter(({ place }) => place === "taken").length;
    const ticket = own[0]?.intent.queue as QueueTicket;
    const { concurrency = ticket.concurrency } = boundsOf(ticket, limits);
    return running < concurrency ? [`idle: ${running} of ${concurrency} run in ${line}, and somebody waits`] : [];
  });
}

/**
 * Judges the queues of workflows against the ledger.
 *
 * 1.  No more workflows of a queue and key have begun and not ended than the queue allows, or a person who has set its
 *     limits; nor do more begin within a time than its rate allows.
 * 2.  Those who wait take places by priority, then by time: a place that one takes is free once all before it have
 *     theirs. One that is paused or held keeps nobody waiting.
 * 3.  Nothing of a workflow is planned or called before it has a place. A retry names the steps that it runs again, and
 *     then waits.
 * 4.  Once nothing moves any more, nobody waits while a place is free.
 */
import { foldWorkflow } from "../../machines/fold.ts";
import { type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import { lineOf, type QueueTicket } from "../../src/contract/queue.ts";
import type { QueueLimits } from "../../src/contract/queue-limits.ts";
import type { WorkflowRecord } from "../../src/contract/workflow.ts";
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
  const admitted = new Map<string, number[]>();
  const limits: SetLimits = new Map();
  const failures: string[] = [];
  for (const { event } of durable) {
    const { workflow_id: id } = event;
    if (event.event_type === "QUEUE_LIMITS_SET") {
      const order = payloadOf(event, "QUEUE_LIMITS_SET");
      limits.set(order.name, order.limits);
      // A rate counts the admissions since it was set.
      if (order.limits?.rate != null) for (const line of [...admitted.keys()]) admitted.delete(line);
    }
    if (id === null) continue;
    const record = records.get(id) ?? null;
    const ticket = record?.intent.queue;
    if (record !== null && ticket !== undefined) {
      const why = judgeEvent(event, {
        record,
        ticket: { ...ticket, ...boundsOf(ticket, limits) },
        records,
        taken,
        admitted,
      });
      if (why !== null) failures.push(`queue: ${why} (${event.event_type} of ${id} at ${event.sequence})`);
      if (event.event_type === "WORKFLOW_ADMITTED") take(event, lineOf(ticket), { taken, admitted });
    }
    if (ends.has(event.event_type)) taken.delete(id);
    records.set(id, foldWorkflow(record, event));
  }
  return failures;
}

interface Standing {
  readonly record: WorkflowRecord;
  readonly ticket: QueueTicket;
  readonly records: Records;
  readonly taken: Taken;
  /** The instants of the admissions of each line, in their order. */
  readonly admitted: ReadonlyMap<string, number[]>;
}

function boundsOf(
  { name, rate }: QueueTicket,
  limits: SetLimits,
): Pick<QueueTicket, "rate"> & { concurrency?: number } {
  const { rate: set, ...others } = limits.get(name) ?? {};
  return { ...others, rate: set === undefined ? rate : (set ?? undefined) };
}

function take({ workflow_id, timestamp }: LedgerEvent, line: string, { taken, admitted }: Taking): void {
  taken.set(workflow_id as string, line);
  admitted.set(line, [...(admitted.get(line) ?? []), Date.parse(timestamp)]);
}

interface Taking {
  readonly taken: Taken;
  readonly admitted: Map<string, number[]>;
}

function judgeEvent(event: LedgerEvent, { record, ticket, records, taken, admitted }: Standing): string | null {
  const { event_type, workflow_id } = event;
  if (begins.has(event_type) && !(event_type === "PLAN_CREATED" && record.plan !== null))
    return taken.has(workflow_id as string) || record.compensating !== null ? null : "it begins without a place";
  if (event_type !== "WORKFLOW_ADMITTED") return null;
  const line = lineOf(ticket);
  const others = [...taken].filter(([id, of]) => of === line && id !== workflow_id).length;
  if (others >= ticket.concurrency) return `it takes a place beside ${others} of ${ticket.concurrency}`;
  const { rate } = ticket;
  const before = (admitted.get(line) ?? []).at(-(rate?.limit ?? 0));
  if (rate !== undefined && before !== undefined && Date.parse(event.timestamp) - before < rate.per_ms)
    return `it takes a place ${Date.parse(event.timestamp) - before} ms after the ${rate.limit}th before it`;
  const own = waitingOf(record) as Waiting;
  const ahead = waitingIn(records).filter((one) => one.line === line && isBefore(one, own));
  return others + ahead.length < ticket.concurrency
    ? null
    : `it takes a place beside ${others} of ${ticket.concurrency}, before ${ahead.map(({ id }) => id)}`;
}

const isBefore = (one: Waiting, other: Waiting): boolean => {
  const order = other.priority - one.priority || one.since - other.since;
  return order < 0 || (order === 0 && one.id < other.id);
};

function waitingOf({ workflow_id, intent, run_began_at, start_at }: WorkflowRecord): Waiting | null {
  const { queue } = intent;
  if (queue === undefined) return null;
  const since = Math.max(Date.parse(run_began_at), start_at === null ? 0 : Date.parse(start_at));
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
export function findIdle({ records }: Pick<OutsideWorld, "records">): readonly string[] {
  const all = [...records.values()].filter((record) => record?.intent.queue !== undefined) as WorkflowRecord[];
  const waiting = new Set(waitingIn(records).map(({ line }) => line));
  return [...waiting].flatMap((line) => {
    const own = all.filter(({ intent }) => lineOf(intent.queue as QueueTicket) === line);
    const running = own.filter(({ place }) => place === "taken").length;
    const { concurrency = 0 } = own[0]?.intent.queue ?? {};
    return running < concurrency ? [`idle: ${running} of ${concurrency} run in ${line}, and somebody waits`] : [];
  });
}

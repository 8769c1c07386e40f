/** The part of a batch's plan on queues: the entries of workflows, and whether a place that is taken is free. */
import type { StoredQueueLimits } from "../../contract/queue-limits.ts";
import type { Append } from "../../ports/ledger-store.ts";
import type { QueueEntry } from "../../ports/queue-index.ts";
import { idText } from "./columns.ts";
import type { Refusal } from "./decide-append.ts";
import type { BatchPlan, Row } from "./plan-batch.ts";
import {
  boundsIn,
  inOrder,
  isJudged,
  type Line,
  type LineLimits,
  lineRange,
  lineText,
  mayJoin,
  mayTake,
  readFor,
  type Waiting,
  waitingOf,
} from "./queue-lines.ts";

const full: Refusal = { ok: false, reason: "full" };

interface Planned {
  readonly tenant: string;
  readonly entry: QueueEntry | null;
}

/** Limits that the batch sets, of the lines whose texts are between the two. */
interface PlannedLimits {
  readonly from: string;
  readonly to: string;
  readonly bounds: LineLimits;
  readonly row: Row;
}

/** A place that was taken in a line with a rate. One workflow may take several at one instant: one for each run. */
interface Admission {
  readonly line: string;
  readonly at: number;
  readonly until: number;
  readonly id: string;
  /** The sequence of the row that took it. */
  readonly sequence: number;
}

export class PlannedQueues {
  readonly #entries = new Map<string, Planned>();
  readonly #limits = new Map<string, PlannedLimits>();
  /** The limits of lines before the batch, as far as they were read. */
  readonly #limitsBefore = new Map<string, LineLimits | null>();
  /** The places that the batch has taken in lines with a rate. */
  readonly #admitted: Admission[] = [];

  /**
   * Refuses an entry that takes a place that is not free, and one that would wait in a line that is full.
   * @param lineOf the line before the batch: with the first `most` of those who wait.
   */
  refuse(append: Append, tenant: string, lineOf: LineReader): Refusal | null {
    const entry = append.indexes?.queue ?? null;
    if (entry === null || !isJudged(append)) return null;
    const name = lineText(tenant, entry.line);
    const before = lineOf(name, readFor(entry) + this.#entries.size);
    this.#limitsBefore.set(name, before.limits);
    const line = this.#after(name, before);
    const own = waitingOf(append.row.stream, entry);
    const { now } = append;
    const isLet = entry.begins === true ? mayTake(line, own, now) : mayJoin(line, own, entry.maxWaiting ?? 0, now);
    return isLet ? null : full;
  }

  /** Returns the limits of a line that the batch has set; null if it sets none. */
  #limitsOf(line: string): LineLimits | null {
    return [...this.#limits.values()].find(({ from, to }) => line > from && line < to)?.bounds ?? null;
  }

  /** Returns a line as the entries of the batch so far have left it. */
  #after(name: string, { taken, waiting, admitted, limits }: Line): Line {
    const isLeft = (id: string): boolean => !this.#entries.has(id);
    const own = [...this.#entries].flatMap(([id, { tenant, entry }]) =>
      entry !== null && lineText(tenant, entry.line) === name ? [{ id, entry }] : [],
    );
    const waits = own.filter(({ entry }) => entry.place === "waiting").map(({ id, entry }) => waitingOf(id, entry));
    return {
      limits: this.#limitsOf(name) ?? limits,
      taken: [...taken.filter(isLeft), ...own.filter(({ entry }) => entry.place === "taken").map(({ id }) => id)],
      waiting: [...waiting.filter(({ workflow_id }) => isLeft(workflow_id)), ...waits].sort(inOrder),
      admitted: [...this.#admitted.filter(({ line }) => line === name).map(({ at }) => at), ...admitted].sort(
        descending,
      ),
    };
  }

  /** Takes an entry that was not refused. @param lineOf as for `refuse`, for a line of which no limits were read. */
  take({ row, indexes, tenant_id, now }: Append, lineOf: LineReader): void {
    const entry = indexes?.queue;
    if (entry === undefined) return;
    const tenant = idText(tenant_id);
    this.#entries.set(row.stream, { tenant, entry });
    if (entry?.begins !== true) return;
    const line = lineText(tenant, entry.line);
    const before = this.#limitsBefore.get(line);
    const limits = this.#limitsOf(line) ?? (before === undefined ? lineOf(line, 0).limits : before);
    const { rate_per } = boundsIn({ limits }, waitingOf(row.stream, entry));
    const counted = Math.max(rate_per ?? 0, entry.rate?.per_ms ?? 0);
    const { stream: id, first_sequence: sequence } = row;
    if (counted > 0) this.#admitted.push({ line, at: now, until: now + counted, id, sequence });
  }

  /** Takes limits that a person has set in this batch. */
  limit(tenant: string, position: number, order: StoredQueueLimits): void {
    const { name, limits } = order;
    const [from, to] = lineRange(tenant, { name });
    const rate = limits?.rate === null ? { limit: 0, per_ms: null } : limits?.rate;
    const bounds: LineLimits = {
      concurrency: limits?.concurrency ?? null,
      rate_limit: rate?.limit ?? null,
      rate_per: rate?.per_ms ?? null,
    };
    const cells = [bounds.concurrency, bounds.rate_limit, bounds.rate_per];
    this.#limits.set(from, {
      from,
      to,
      bounds,
      row: [from, to, tenant, name, position, ...cells, JSON.stringify(order)],
    });
  }

  rows(): Pick<BatchPlan, "queueEntries" | "endedEntries" | "admissions" | "limits"> {
    const planned = [...this.#entries].sort(([a], [b]) => (a < b ? -1 : 1));
    return {
      queueEntries: planned.flatMap(([id, { tenant, entry }]) =>
        entry === null
          ? []
          : [entryRow(tenant, lineText(tenant, entry.line), { ...waitingOf(id, entry), place: entry.place })],
      ),
      limits: [...this.#limits.values()].map(({ row }) => row),
      admissions: this.#admitted.map(({ line, at, until, id, sequence }) => [line, at, until, id, sequence]),
      endedEntries: planned.flatMap(([id, { entry }]) => (entry === null ? [id] : [])),
    };
  }
}

const descending = (a: number, b: number): number => b - a;

const entryRow = (tenant: string, line: string, one: Waiting & Pick<QueueEntry, "place">): Row => [
  ...[one.workflow_id, tenant, line, one.place, one.rank, one.since, one.concurrency],
  ...[one.rate_limit, one.rate_per],
];

/** Reads a line as the tables have it. */
export type LineReader = (line: string, most: number) => Line;

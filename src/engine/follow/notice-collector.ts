/**
 * Collects notices from the log: each row that changed a gate is enqueued for one notifier, behind a cursor in the
 * store.
 *
 * Owns: the position up to which the log was read. Never: delivers.
 * 1.  Nothing is left out and nothing enqueued twice, over restarts and by several processes: the cursor moves together
 *     with the notices, and only from the position where this process left it.
 */

import type { Gate } from "../../contract/gate.ts";
import type { Clock } from "../../ports/clock.ts";
import type { DeliveryStore, GateUpdates } from "../../ports/delivery-store.ts";
import type { LedgerStore, PositionedRow } from "../../ports/ledger-store.ts";
import { yieldToEventLoop } from "../actors/yield-to-event-loop.ts";
import { readStream, unlessDamaged } from "../log/read-turns.ts";
import { gateUpdates, mayTouchGates, touchesGates, type UpdateOptions, updatesOfOpen } from "./gate-updates.ts";

export interface CollectorParts {
  readonly notifier: string;
  readonly store: LedgerStore;
  readonly deliveries: DeliveryStore;
  readonly clock: Clock;
  readonly updates: UpdateOptions;
}

/** Rows, or gates, read at a time. */
const page = 256;
/**
 * The number of rows without notices after which the cursor is moved nevertheless; a restart reads at most these again.
 */
const moveEvery = 1_000;
/** The time for which deliveries are remembered. */
const rememberMs = 7 * 86_400_000;

/** The cursor as it is stored, and how far the log was read since. */
interface Cursor {
  readonly stored: number;
  readonly read: number;
  /** Rows between the two. */
  readonly passed: number;
}

export class NoticeCollector {
  readonly #parts: CollectorParts;
  #cursor: Cursor | null = null;

  constructor(parts: CollectorParts) {
    this.#parts = parts;
  }

  /** Enqueues the notices of all rows since the last look. */
  async collect(signal: AbortSignal): Promise<void> {
    this.#cursor ??= await this.#begin();
    while (!signal.aborted) {
      const rows = await this.#parts.store.tail(this.#cursor.read, page);
      if (rows.length === 0) return;
      this.#cursor = await this.#pass(this.#cursor, rows);
      await yieldToEventLoop();
    }
  }

  async #pass({ stored, passed }: Cursor, rows: readonly PositionedRow[]): Promise<Cursor> {
    const { notifier, deliveries } = this.#parts;
    const to = rows.at(-1)?.position as number;
    const updates: GateUpdates[] = [];
    for (const row of rows) updates.push(...(await this.#newsOf(row)));
    const seen = passed + rows.length;
    if (updates.length === 0 && seen < moveEvery) return { stored, read: to, passed: seen };
    const isMoved = await deliveries.enqueue(notifier, { from: stored, to, updates, forget: this.#forget() });
    // If another process was quicker, this one continues from that process's cursor.
    return isMoved ? { stored: to, read: to, passed: 0 } : this.#begin();
  }

  /** Returns the position from which the log is read. A new notifier begins with the open gates. */
  async #begin(): Promise<Cursor> {
    const { notifier, store, deliveries, clock } = this.#parts;
    const stored = await deliveries.cursor(notifier);
    if (stored !== null) return { stored, read: stored, passed: 0 };
    const to = await store.position();
    const updates: GateUpdates[] = [];
    for await (const gate of openGates(store)) updates.push(updatesOfOpen(gate, clock.now(), this.#parts.updates));
    await deliveries.enqueue(notifier, { from: null, to, updates, forget: this.#forget() });
    return this.#begin();
  }

  #forget(): number {
    return this.#parts.clock.now() - rememberMs;
  }

  /** Returns the updates of a row; none for a damaged workflow, which `verify` reports. */
  async #newsOf({ row }: PositionedRow): Promise<readonly GateUpdates[]> {
    if (!mayTouchGates(row.body)) return [];
    const rows = await this.#parts.store.read(row.stream);
    const earlier = rows.filter(({ last_sequence }) => last_sequence < row.first_sequence);
    const updates = unlessDamaged(() => {
      const was = readStream(row.stream, earlier);
      const before = new Map(was.record?.gates);
      const { events, record } = readStream(row.stream, [row], was);
      if (record === null || !events.some(touchesGates)) return [];
      return gateUpdates(events, { before, record }, this.#parts.updates);
    });
    return updates ?? [];
  }
}

/** Yields the open gates a page at a time, because a gate may be large. */
async function* openGates(store: LedgerStore): AsyncGenerator<Gate> {
  for (let after = ""; ; ) {
    const gates = await store.gates({ after, limit: page });
    yield* gates;
    const last = gates.at(-1);
    if (last === undefined) return;
    after = `${last.workflow_id}/${last.gate_id}`;
  }
}

/**
 * The fold of the feed: committed rows of many workflows become feed items.
 *
 * Owns: the records of workflows that are running. Never: decides the content of an item; the projection does.
 * 1.  The item of a row depends on the rows up to it and on nothing else.
 * 2.  Records whose logs are longer than `maxChars` together are not kept: the least recently used one is dropped, and
 *     read again when its workflow continues. A workflow that has ended is dropped at once; a refused request never
 *     becomes one.
 */
import type { LedgerEvent } from "../../contract/event.ts";
import type { FeedWorkflow } from "../../contract/feed.ts";
import type { TurnRow } from "../../contract/turn.ts";
import { isTerminal, type WorkflowRecord } from "../../contract/workflow.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";
import {
  beginning,
  type ReadFrom,
  type ReadStream,
  readable,
  readStream,
  unlessUnreadable,
} from "../log/read-turns.ts";

/** The projection of turns into feed items; the state before a turn is handed back for the next one. */
export interface FeedProjection<M> {
  readonly before: (record: WorkflowRecord | null) => M;
  /**
   * Returns the item of a turn; null if the turn changed nothing that the feed reports, unless all turns are reported.
   */
  readonly after: (record: WorkflowRecord, turn: FeedTurn<M>) => FeedWorkflow | null;
}

export interface FeedTurn<M> {
  readonly before: M;
  readonly position: number;
  readonly isAlwaysReported: boolean;
}

/** A feed item, with the events of its turn if they were requested; items of a snapshot have none. */
export interface WorkflowUpdate extends FeedWorkflow {
  readonly events?: readonly LedgerEvent[];
}

interface Kept extends ReadFrom {
  readonly chars: number;
}

export interface FoldParts<M> {
  readonly store: Pick<LedgerStore, "read">;
  readonly projection: FeedProjection<M>;
  readonly maxChars: number;
  /** Whether every turn is reported, with its events. */
  readonly withEvents: boolean;
}

interface Earlier {
  readonly from: Kept;
  readonly rows: readonly TurnRow[];
}

const nothing = (): Kept => ({ ...beginning(), chars: 0 });

export class FeedFold<M> {
  readonly #parts: FoldParts<M>;
  readonly #kept = new Map<string, Kept>();
  #chars = 0;

  constructor(parts: FoldParts<M>) {
    this.#parts = parts;
  }

  /** Returns the feed item of a row; null if there is none. */
  async tell(row: TurnRow, position: number): Promise<WorkflowUpdate | null> {
    const { projection, withEvents } = this.#parts;
    const earlier = await this.#earlier(row);
    return unlessUnreadable(() => {
      const from = earlier.rows.reduce<Kept>(addRow, earlier.from);
      const before = projection.before(from.record);
      const { record, end, chars, events } = addRow(from, row);
      if (record === null) return null;
      if (!isTerminal(record.state)) this.#keep(row.stream, { record, end, chars });
      const turn = { before, position, isAlwaysReported: withEvents };
      const item = readable(row.stream, () => projection.after(record, turn));
      return withEvents && item !== null ? { ...item, events } : item;
    });
  }

  /** Reads the workflow as the rows before this one left it. */
  async #earlier(row: TurnRow): Promise<Earlier> {
    const kept = this.#letGo(row.stream);
    if (kept?.end.last === row.first_sequence - 1) return { from: kept, rows: [] };
    if (row.first_sequence === 1) return { from: nothing(), rows: [] };
    const rows = await this.#parts.store.read(row.stream);
    return { from: nothing(), rows: rows.filter(({ last_sequence }) => last_sequence < row.first_sequence) };
  }

  #letGo(stream: string): Kept | undefined {
    const kept = this.#kept.get(stream);
    this.#kept.delete(stream);
    this.#chars -= kept?.chars ?? 0;
    return kept;
  }

  #keep(stream: string, kept: Kept): void {
    this.#kept.set(stream, kept);
    this.#chars += kept.chars;
    for (const oldest of this.#kept.keys()) {
      if (this.#chars <= this.#parts.maxChars) return;
      this.#letGo(oldest);
    }
  }
}

function addRow(kept: Kept, row: TurnRow): Kept & ReadStream {
  return { ...readStream(row.stream, [row], kept), chars: kept.chars + row.envelope.length + (row.body?.length ?? 0) };
}

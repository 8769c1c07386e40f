/**
 * The fold of the feed: rows of many workflows, as they were committed, become what the feed tells of each.
 *
 * Owns: the records of workflows that are under way. Never: decides what is told of a turn; the projection does.
 * F1  What is told of a row follows from the rows up to it and from nothing else.
 * F2  Records whose logs are longer than `maxChars` together are not kept: the one unused longest is let go, and read
 *     again when its workflow goes on. A workflow that has ended is let go at once; a refused request never was one.
 */
import type { FeedWorkflow } from "../contract/feed.ts";
import type { TurnRow } from "../contract/turn.ts";
import { isTerminal, type WorkflowRecord } from "../contract/workflow.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import { beginning, type ReadFrom, readable, readStream, unlessDamaged } from "./read-turns.ts";

/** What the feed tells of a turn: what was there before is handed back to be told after. */
export interface FeedProjection<M> {
  readonly before: (record: WorkflowRecord | null) => M;
  readonly after: (
    record: WorkflowRecord,
    turn: { readonly before: M; readonly position: number },
  ) => FeedWorkflow | null;
}

interface Kept extends ReadFrom {
  readonly chars: number;
}

export interface FoldParts<M> {
  readonly store: Pick<LedgerStore, "read">;
  readonly projection: FeedProjection<M>;
  readonly maxChars: number;
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

  /** What the feed tells of a row; null for nothing. */
  async tell(row: TurnRow, position: number): Promise<FeedWorkflow | null> {
    const { projection } = this.#parts;
    const earlier = await this.#earlier(row);
    return unlessDamaged(() => {
      const before = earlier.rows.reduce(addRow, earlier.from);
      const mark = projection.before(before.record);
      const after = addRow(before, row);
      if (after.record === null) return null;
      if (!isTerminal(after.record.state)) this.#keep(row.stream, after);
      return readable(row.stream, () => projection.after(after.record as WorkflowRecord, { before: mark, position }));
    });
  }

  /** What leads to the workflow as the rows before this one left it. */
  async #earlier(row: TurnRow): Promise<Earlier> {
    const kept = this.#letGo(row.stream);
    if (kept?.context.last === row.first_sequence - 1) return { from: kept, rows: [] };
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

function addRow(kept: Kept, row: TurnRow): Kept {
  const { record, context } = readStream(row.stream, [row], kept);
  return { record, context, chars: kept.chars + row.envelope.length + (row.body?.length ?? 0) };
}

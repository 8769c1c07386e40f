/**
 * Derives, from the rows of a log, the appends that wrote them, including indexes, as their writers did.
 *
 * Owns: the records of running workflows, so that each row is folded once. Never: writes, or knows the purpose of the
 * rows.
 * 1.  Rows come in the order of their stream. A row that cannot be read gives null, as do those after it.
 */
import type { EventDraft, LedgerEvent } from "../contract/event.ts";
import { openEnvelope, type TurnRow } from "../contract/turn.ts";
import { isTerminal, percentOf, type WorkflowRecord } from "../contract/workflow.ts";
import { deriveIndexes, dueOf, type IndexQuestion, recordsOf } from "../engine/log/derive-indexes.ts";
import { beginning, type ReadFrom, type ReadStream, readStream, unlessUnreadable } from "../engine/log/read-turns.ts";
import type { Append, AppendIndexes, LedgerStore } from "../ports/ledger-store.ts";

export class AppendDerivation {
  readonly #store: Pick<LedgerStore, "read">;
  /** The records of running workflows; one that continues after its end is read again. */
  readonly #records = new Map<string, ReadFrom>();

  constructor(store: Pick<LedgerStore, "read">) {
    this.#store = store;
  }

  /** Returns the append of the row's own writer, without its lease. */
  async of(row: TurnRow): Promise<Append | null> {
    const before = await this.#before(row);
    // This is read before the fold continues, which changes the record itself.
    const known = before?.record == null ? unwritten : knownOf(before.record);
    const derived = unlessUnreadable(() => {
      if (before === null) return null;
      const read = readStream(row.stream, [row], before);
      const { tenant_id, now } = openEnvelope(row);
      return { tenant_id, row, now, indexes: indexesOf(row, { ...read, known, now }), read };
    });
    if (derived === null) return null;
    const { read, ...entry } = derived;
    if (read.record === null || isTerminal(read.record.state)) this.#records.delete(row.stream);
    else this.#records.set(row.stream, read);
    return entry;
  }

  /** Returns the state before a row; null if the rows before it cannot be read. */
  async #before(row: TurnRow): Promise<ReadFrom | null> {
    const kept = this.#records.get(row.stream);
    if (kept !== undefined) return kept;
    if (row.first_sequence === 1) return beginning();
    const rows = await this.#store.read(row.stream);
    const earlier = rows.filter(({ last_sequence }) => last_sequence < row.first_sequence);
    return unlessUnreadable(() => readStream(row.stream, earlier));
  }
}

const unwritten: IndexQuestion["known"] = { state: null, percent: null, due_at: null };

const knownOf = (record: WorkflowRecord): IndexQuestion["known"] => ({
  state: record.state,
  percent: percentOf(record),
  due_at: dueOf(record),
});

type Turn = Pick<IndexQuestion, "known" | "now"> & Pick<ReadStream, "record" | "events">;

function indexesOf(row: TurnRow, { record, events, known, now }: Turn): AppendIndexes {
  const drafts = events.map(toDraft);
  if (record === null) return recordsOf(drafts);
  return letIn(deriveIndexes({ known, now, record, drafts, isNew: row.first_sequence === 1, release: false }));
}

/** Leaves the bound of a queue out of its entry: the row was let into the line when it was written first. */
function letIn({ queue, ...indexes }: AppendIndexes): AppendIndexes {
  if (queue == null) return queue === undefined ? indexes : { ...indexes, queue };
  const { maxWaiting: _bound, ...entry } = queue;
  return { ...indexes, queue: entry };
}

const toDraft = ({ event_type, step_id, payload }: LedgerEvent): EventDraft =>
  ({ type: event_type, step_id, payload }) as unknown as EventDraft;

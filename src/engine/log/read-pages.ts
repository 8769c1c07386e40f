/**
 * Reading a stream that may be long: its rows a page at a time, opened and folded in slices between which others run.
 *
 * Owns: the sizes of pages. Never: touches a store but by the function that it is given.
 * 1.  A stream of few rows is one read. A page grows with the stream and shrinks with the size of its rows.
 * 2.  Between two turns of the event loop no more than a slice of work is done (yield-to-event-loop.ts).
 */
import { foldWorkflow } from "../../../machines/fold.ts";
import type { LedgerEvent } from "../../contract/event.ts";
import { endOf, openTurns, type StreamEnd, type TurnRow } from "../../contract/turn.ts";
import { WorkSlices } from "../actors/yield-to-event-loop.ts";
import { beginning, type ReadFrom, type ReadStream, readable } from "./read-turns.ts";

/** Reads at most `limit` rows of a stream behind a sequence. */
export type ReadRows = (after: number, limit: number) => Promise<readonly TurnRow[]>;

/** The rows of the first page, which most workflows fit in, and of any page. */
export const firstPageRows = 8;
const maxPageRows = 128;
/** The maximum size of a page, as estimated from the rows before it. */
const maxPageChars = 1_000_000;

export const charsOf = ({ envelope, body }: TurnRow): number => envelope.length + (body?.length ?? 0);

/**
 * Yields the rows after a sequence in pages, the last of which is not full. `first` is the first page, if it was read.
 */
export async function* readPages(
  read: ReadRows,
  after: number,
  first?: readonly TurnRow[],
): AsyncGenerator<readonly TurnRow[], void, void> {
  let limit = firstPageRows;
  let rows = first ?? (await read(after, limit));
  while (rows.length > 0) {
    yield rows;
    if (rows.length < limit) return;
    const last = (rows.at(-1) as TurnRow).last_sequence;
    limit = nextLimit(rows, limit);
    rows = await read(last, limit);
  }
}

function nextLimit(rows: readonly TurnRow[], limit: number): number {
  const chars = rows.reduce((sum, row) => sum + charsOf(row), 0);
  const fitting = Math.floor((maxPageChars * rows.length) / Math.max(1, chars));
  return Math.max(1, Math.min(maxPageRows, limit * 4, fitting));
}

/** Opens consecutive rows after `end`, in slices. @throws KernelErrorException T0_LEDGER_CORRUPT, T0_LEDGER_FORMAT. */
export async function openInSlices(
  rows: readonly TurnRow[],
  end: StreamEnd,
  slices = new WorkSlices(),
): Promise<readonly LedgerEvent[]> {
  const events: LedgerEvent[] = [];
  let at = end;
  for (const row of rows) {
    events.push(...openTurns([row], at));
    at = endOf(row);
    const turn = slices.add(charsOf(row));
    if (turn !== null) await turn;
  }
  return events;
}

export interface StreamReading {
  readonly from?: ReadFrom;
  /** The first page, if it was read. */
  readonly first?: readonly TurnRow[];
  /** Called with each event before it is folded. */
  readonly onEvent?: (event: LedgerEvent) => void;
}

/** Reads and folds the rows of a stream after `from`. @throws KernelErrorException as readStream of read-turns.ts. */
export async function foldInSlices(
  stream: string,
  read: ReadRows,
  { from = beginning(), first, onEvent }: StreamReading = {},
): Promise<ReadStream> {
  const slices = new WorkSlices();
  const events: LedgerEvent[] = [];
  let { end, record } = from;
  for await (const rows of readPages(read, end.last, first)) {
    for (const row of rows) {
      for (const event of openTurns([row], end)) {
        onEvent?.(event);
        record = readable(stream, () => foldWorkflow(record, event));
        events.push(event);
      }
      end = endOf(row);
      const turn = slices.add(charsOf(row));
      if (turn !== null) await turn;
    }
  }
  return { events, record, end };
}

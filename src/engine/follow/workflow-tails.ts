/**
 * The tails of followed workflows: one reading of a log, and one projection of each kind, for all readers.
 *
 * Owns: the tails, and their use. Never: checks access.
 * 1.  A tail lives as long as it has readers; with the last reader its listeners are removed.
 * 2.  A tail begins at the first event, so that the end of the workflow is read, not guessed.
 */
import type { LedgerEvent } from "../../contract/event.ts";
import { typesWhere } from "../../contract/events.ts";
import { deepFreeze } from "../../contract/json.ts";
import { endOf, openEnvelope, type StreamEnd, streamStart, type TurnRow } from "../../contract/turn.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";
import { yieldToEventLoop } from "../actors/yield-to-event-loop.ts";
import { charsOf, openInSlices } from "../log/read-pages.ts";
import { readable } from "../log/read-turns.ts";
import type { LedgerWatch } from "./ledger-watch.ts";
import { type Pull, type Segment, SharedTail, TailReader, type TailSource } from "./shared-tail.ts";

/** An item with the cursor for following it: the sequence of the event that it was made of. */
export interface Numbered<T> {
  readonly sequence: number;
  readonly item: T;
}

/** The projection of a workflow's events for a channel. */
export interface Projection<T> {
  readonly name: string;
  /** It folds: it needs every event from the first on. */
  readonly folds: boolean;
  readonly begin: () => (event: LedgerEvent) => readonly T[];
}

type LogEvent = Numbered<LedgerEvent>;

export interface FollowedWorkflow {
  /** Returns the tenant of the log; undefined if there is no such log. */
  readonly owner: () => Promise<string | number | undefined>;
  readonly tail: <T>(projection: Projection<T>) => SharedTail<Numbered<T>>;
}

export interface WorkflowTails {
  /** Enters a reader; to be followed by one `leave`. */
  readonly enter: (workflowId: string) => FollowedWorkflow;
  readonly leave: (workflowId: string) => void;
  /** Ends all that are followed. */
  readonly close: (reason: unknown) => void;
}

export interface TailParts {
  readonly store: LedgerStore;
  readonly watch: LedgerWatch;
  readonly maxTailChars: number;
}

/** Rows that one look at a log reads. */
export const rowsPerPage = 128;

export function createWorkflowTails(parts: TailParts): WorkflowTails {
  const entries = new Map<string, { readonly workflow: Followed; readers: number }>();
  return {
    enter(workflowId) {
      const entry = entries.get(workflowId) ?? { workflow: new Followed(parts, workflowId), readers: 0 };
      entry.readers += 1;
      entries.set(workflowId, entry);
      return entry.workflow;
    },
    leave(workflowId) {
      const entry = entries.get(workflowId);
      if (entry === undefined) return;
      entry.readers -= 1;
      if (entry.readers > 0) return;
      entries.delete(workflowId);
      entry.workflow.close();
    },
    close(reason) {
      for (const { workflow } of entries.values()) workflow.close(reason);
      entries.clear();
    },
  };
}

class Followed implements FollowedWorkflow {
  readonly #parts: TailParts;
  readonly #workflowId: string;
  readonly #tails = new Map<string, SharedTail<Numbered<unknown>>>();
  readonly #marks: StreamEnd[] = [];
  #events: SharedTail<LogEvent> | null = null;
  #owner: Promise<string | number | undefined> | null = null;

  constructor(parts: TailParts, workflowId: string) {
    this.#parts = parts;
    this.#workflowId = workflowId;
  }

  owner(): Promise<string | number | undefined> {
    this.#owner ??= ownerOf(this.#parts.store, this.#workflowId);
    return this.#owner;
  }

  tail<T>(projection: Projection<T>): SharedTail<Numbered<T>> {
    const known = this.#tails.get(projection.name) as SharedTail<Numbered<T>> | undefined;
    if (known !== undefined) return known;
    const events = this.#log();
    const open = (after: number): Pull<Numbered<T>> => {
      const reader = new TailReader(events, projection.folds ? 0 : after);
      return projectPull(projection, () => reader.next());
    };
    const source: TailSource<Numbered<T>> = { open, listen: (listener) => events.listen(listener) };
    const made = new SharedTail(source, { from: 0, maxChars: this.#parts.maxTailChars });
    this.#tails.set(projection.name, made as SharedTail<Numbered<unknown>>);
    return made;
  }

  close(reason: unknown = null): void {
    for (const tail of this.#tails.values()) tail.close(reason);
    this.#events?.close(reason);
  }

  #log(): SharedTail<LogEvent> {
    const { store, watch, maxTailChars } = this.#parts;
    this.#events ??= new SharedTail<LogEvent>(
      {
        open: (after) => openLog(store, this.#workflowId, after, this.#marks),
        listen: (listener) => watch.listen(this.#workflowId, listener),
      },
      { from: 0, maxChars: maxTailChars },
    );
    return this.#events;
  }
}

export type OwnerStore = Pick<LedgerStore, "read" | "head">;

/** Returns the tenant of a log; undefined if there is none. */
export async function ownerOf(store: OwnerStore, workflowId: string): Promise<string | number | undefined> {
  const [first] = await store.read(workflowId, 0, 1);
  return first === undefined ? undefined : ownerOfRow(store, first);
}

/**
 * Returns the tenant of a first row. If the row cannot be read, the index names the tenant, so that nobody else learns
 * of a damaged log.
 */
export async function ownerOfRow(store: OwnerStore, row: TurnRow): Promise<string | number> {
  try {
    return openEnvelope(row).tenant_id;
  } catch (damaged) {
    const head = await store.head(row.stream);
    if (head === null) throw damaged;
    return head.tenant_id;
  }
}

/** Reads a log for one reader, as a projection maps it. */
export function openChannel<T>(
  store: LedgerStore,
  projection: Projection<T>,
  { workflowId, after }: { readonly workflowId: string; readonly after: number },
): Pull<Numbered<T>> {
  return projectPull(projection, openLog(store, workflowId, projection.folds ? 0 : after));
}

function projectPull<T>({ begin }: Projection<T>, pull: Pull<LogEvent>): Pull<Numbered<T>> {
  const tell = begin();
  return async () => {
    const segment = await pull();
    if (segment === null) return null;
    const items = segment.items.flatMap(({ sequence, item }) =>
      readable(String(item.workflow_id), () => tell(item)).map((reported) => ({
        sequence,
        item: deepFreeze(reported),
      })),
    );
    // It is not known whether other rows have followed a held segment.
    return { ...segment, items, isLast: false };
  };
}

/** The number of marks of a log: positions to continue reading from, besides its beginning. */
const maxMarks = 16;

/**
 * Returns a pull of the events of a log, a page of rows at a time, with a turn of the event loop between two. It leaves
 * marks for later readers.
 */
function openLog(
  store: Pick<LedgerStore, "read">,
  workflowId: string,
  after: number,
  marks: StreamEnd[] = [],
): Pull<LogEvent> {
  let end = marks.findLast(({ last }) => last <= after) ?? streamStart;
  let ended = false;
  let isLast = true;
  const pull = async (): Promise<Segment<LogEvent> | null> => {
    if (!isLast) await yieldToEventLoop();
    const rows = await store.read(workflowId, end.last, rowsPerPage);
    isLast = rows.length < rowsPerPage;
    if (rows.length === 0) return null;
    const events = await openInSlices(rows, end);
    end = endOf(rows.at(-1) as TurnRow);
    ended = hasEnded(events, ended);
    if (!isLast && end.last > (marks.at(-1)?.last ?? 0)) marks.push(end);
    if (marks.length > maxMarks) marks.shift();
    return segmentOf(rows, { items: events.map(toLogEvent), through: end.last, ended });
  };
  return async () => {
    // Earlier segments are read because the projection may depend on them.
    for (;;) {
      const segment = await pull();
      if (segment === null || segment.through > after) return segment;
    }
  };
}

// Many readers receive the same object, so nobody may change it.
const toLogEvent = (event: LedgerEvent): LogEvent => ({ sequence: event.sequence, item: deepFreeze(event) });

function segmentOf<T>(rows: readonly TurnRow[], reported: Pick<Segment<T>, "items" | "through" | "ended">): Segment<T> {
  const chars = rows.reduce((sum, row) => sum + charsOf(row), 0);
  return { ...reported, rows: rows.length, chars, isLast: rows.length < rowsPerPage };
}

const begin = typesWhere(({ begins }) => begins === "workflow");
const end = typesWhere(({ ends }) => ends === "workflow" || ends === "request");

/** Returns whether the workflow has ended after these events. A later fact does not reopen it; a restart does. */
function hasEnded(events: readonly LedgerEvent[], before: boolean): boolean {
  const last = events.findLast(({ event_type: type }) => end.has(type) || begin.has(type));
  return last === undefined ? before : end.has(last.event_type);
}

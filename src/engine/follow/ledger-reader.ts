/**
 * Reads the ledger for callers: folded records, single events, live tails. Every read checks the tenant.
 *
 * 1.  Only committed rows are read.
 * 2.  For a caller, another tenant's workflow does not exist.
 * 3.  Readers that follow a workflow live share one reading of its log (workflow-tails.ts); a reader of the present
 *     state reads it a page at a time, in slices, and simultaneous requests for the record of a long log share one fold
 *     (shared-folds.ts).
 */
import { foldEvents } from "../../../machines/fold.ts";
import { type Caller, tenantOf } from "../../contract/auth-context.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { LedgerEvent } from "../../contract/event.ts";
import { deepFreeze } from "../../contract/json.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { endOf, openTurns, type StreamEnd, streamStart, type TurnRow } from "../../contract/turn.ts";
import { type WorkflowRecord, workflowNotFound } from "../../contract/workflow.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";
import { sliceOfWork, WorkSlices } from "../actors/yield-to-event-loop.ts";
import { charsOf, firstPageRows, openInSlices, readPages } from "../log/read-pages.ts";
import { readable } from "../log/read-turns.ts";
import { SharedFolds } from "./shared-folds.ts";
import { type Segment, TailReader } from "./shared-tail.ts";
import {
  type Numbered,
  openChannel,
  ownerOf,
  ownerOfRow,
  type Projection,
  type WorkflowTails,
} from "./workflow-tails.ts";

export interface FollowOptions {
  /** Events after this sequence. */
  readonly after?: number;
  /** Ends the iteration. */
  readonly signal?: AbortSignal;
  /** False ends the iteration at the last committed item. */
  readonly live?: boolean;
  /** Called each time all committed items have been delivered, before the iteration waits for more. */
  readonly onCaughtUp?: () => void;
}

export interface LedgerReading {
  /** Returns the rows of an undamaged log; a damaged log gives none. */
  readonly rows: (workflowId: string, caller?: Caller) => Promise<readonly TurnRow[]>;
  readonly events: (workflowId: string, caller?: Caller) => Promise<readonly LedgerEvent[]>;
  /** Checks the owner, whether or not the log is readable. @throws KernelErrorException T4_WORKFLOW_NOT_FOUND. */
  readonly requireOwn: (workflowId: string, caller: Caller) => Promise<void>;
  /** Returns the result of `make` for a workflow's record and the events that it was folded from. */
  readonly tell: <T>(
    workflowId: string,
    caller: Caller | undefined,
    make: (record: WorkflowRecord, events: readonly LedgerEvent[]) => T,
  ) => Promise<T>;
  /** The fold of the committed events (seed 003 section 5.8). */
  readonly readWorkflowState: (workflowId: string, caller?: Caller) => Promise<WorkflowRecord>;
  /** Yields a workflow's events as the projection maps them. Items are shared between readers, and frozen. */
  readonly channel: <T>(
    projection: Projection<T>,
    workflowId: string,
    options: FollowOptions,
    caller?: Caller,
  ) => AsyncGenerator<Numbered<T>, void, void>;
}

const readerRef = moduleRef(4, "workflow_log", "read");

export interface ChannelParts {
  readonly store: LedgerStore;
  readonly tails: WorkflowTails;
}

interface Found {
  readonly rows: readonly TurnRow[];
  readonly events: readonly LedgerEvent[];
}

/** Returns whether a first page is the whole log, and small. */
const isShort = (first: readonly TurnRow[]): boolean =>
  first.length < firstPageRows && first.reduce((sum, row) => sum + charsOf(row), 0) < sliceOfWork.chars;

interface ReadRequest {
  readonly workflowId: string;
  readonly options: FollowOptions;
  readonly caller: Caller | undefined;
}

export function createLedgerReading(parts: ChannelParts): LedgerReading {
  const { store } = parts;
  const folds = new SharedFolds(store);
  /** Reads the first page of a log and checks its owner. */
  const begin = async (workflowId: string, caller?: Caller): Promise<readonly TurnRow[]> => {
    const rows = await store.read(workflowId, 0, firstPageRows);
    const [first] = rows;
    if (first === undefined) return refuseWorkflow(workflowId);
    if (caller !== undefined) requireOwner(await ownerOfRow(store, first), workflowId, caller);
    return rows;
  };
  const readAll = async (workflowId: string, caller?: Caller): Promise<Found> => {
    const first = await begin(workflowId, caller);
    const slices = new WorkSlices();
    const rows: TurnRow[] = [];
    const events: LedgerEvent[] = [];
    let end: StreamEnd = streamStart;
    for await (const page of readPages(async (after, limit) => store.read(workflowId, after, limit), 0, first)) {
      rows.push(...page);
      events.push(...(await openInSlices(page, end, slices)));
      end = endOf(page.at(-1) as TurnRow);
    }
    return { rows, events };
  };
  const tell: LedgerReading["tell"] = async (workflowId, caller, make) => {
    const reported = (record: WorkflowRecord | null, events: readonly LedgerEvent[]) =>
      readable(workflowId, () => make(record ?? refuseRejected(workflowId), events));
    if (folds.has(workflowId)) {
      // A reader that joins does not read the pages of the log, which may be large, again.
      requireOwner(await ownerOf(store, workflowId), workflowId, caller);
      const joined = await folds.join(workflowId);
      if (joined !== null) return deepFreeze(reported(joined.record, joined.events));
    }
    const first = await begin(workflowId, caller);
    if (isShort(first)) {
      const events = openTurns(first);
      return reported(
        readable(workflowId, () => foldEvents(events)),
        events,
      );
    }
    const { record, events } = await folds.fold(workflowId, first);
    return deepFreeze(reported(record, events));
  };
  return {
    rows: async (workflowId, caller) => (await readAll(workflowId, caller)).rows,
    events: async (workflowId, caller) => (await readAll(workflowId, caller)).events,
    requireOwn: async (workflowId, caller) => requireOwner(await ownerOf(store, workflowId), workflowId, caller),
    tell,
    readWorkflowState: (workflowId, caller) => tell(workflowId, caller, (record) => record),
    channel: (projection, workflowId, options, caller) => {
      const asked = { workflowId, options, caller };
      return options.live === false ? readChannel(parts, projection, asked) : followTail(parts, projection, asked);
    },
  };
}

/** Yields items from the log, then live, without gap or repeat: an announcement only triggers a read of the log. */
async function* followTail<T>(
  parts: ChannelParts,
  projection: Projection<T>,
  { workflowId, options, caller }: ReadRequest,
): AsyncGenerator<Numbered<T>, void, void> {
  const { after = 0, signal, onCaughtUp } = options;
  const followed = parts.tails.enter(workflowId);
  try {
    requireOwner(await followed.owner(), workflowId, caller);
    const tail = followed.tail(projection);
    const reader = new TailReader(tail, after);
    while (signal?.aborted !== true) {
      const from = reader.cursor;
      const segment = await reader.next();
      yield* itemsAfter(segment, from, signal);
      if (segment !== null || !tail.isAtRest(reader.cursor)) continue;
      if (tail.ended) return;
      // A rejection is thrown to its reader, as an error that it throws is.
      await onCaughtUp?.();
      await tail.more(reader.cursor, signal);
    }
  } finally {
    parts.tails.leave(workflowId);
  }
}

/** Yields what is committed now, read for one reader alone. */
async function* readChannel<T>(
  { store }: ChannelParts,
  projection: Projection<T>,
  { workflowId, options: { after = 0, signal }, caller }: ReadRequest,
): AsyncGenerator<Numbered<T>, void, void> {
  requireOwner(await ownerOf(store, workflowId), workflowId, caller);
  const pull = openChannel(store, projection, { workflowId, after });
  for (let segment = await pull(); segment !== null && signal?.aborted !== true; segment = await pull()) {
    yield* itemsAfter(segment, after, signal);
    if (segment.isLast) return;
  }
}

function* itemsAfter<T>(
  segment: Segment<Numbered<T>> | null,
  after: number,
  signal: AbortSignal | undefined,
): Generator<Numbered<T>, void, void> {
  for (const item of segment?.items ?? []) {
    if (signal?.aborted === true) return;
    if (item.sequence > after) yield item;
  }
}

function requireOwner(owner: string | number | undefined, workflowId: string, caller: Caller | undefined): void {
  if (owner === undefined || (tenantOf(caller) ?? owner) !== owner) refuseWorkflow(workflowId);
}

const refuseRejected = (workflowId: string): never =>
  raise(
    kernelError("T4_WORKFLOW_NOT_FOUND", `the request ${workflowId} was refused; there is no workflow`, readerRef, {
      detail: { workflow_id: workflowId },
    }),
  );

const refuseWorkflow = (workflowId: string): never => raise(workflowNotFound(workflowId, readerRef));

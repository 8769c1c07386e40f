/**
 * Reading the ledger for callers: folded records, single events, live tails, with the tenant checked on every way in.
 *
 * R1  Nothing is read but what is committed.
 * R2  Another tenant's workflow does not exist.
 * R3  Those who follow a workflow live read its log together (workflow-tails.ts); who asks for what is there now reads it
 *     by themselves, a page at a time.
 */
import { foldEvents } from "../../machines/fold.ts";
import type { Caller } from "../contract/auth-context.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import type { LedgerEvent } from "../contract/event.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { openTurn, type TurnRow } from "../contract/turn.ts";
import type { WorkflowRecord } from "../contract/workflow.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import { type Stretch, TailReader } from "./shared-tail.ts";
import { type Numbered, openChannel, ownerOf, type Projection, type WorkflowTails } from "./workflow-tails.ts";

export interface FollowOptions {
  /** Events after this sequence. */
  readonly after?: number;
  /** Ends the iteration. */
  readonly signal?: AbortSignal;
  /** False: what is there now, then the end. */
  readonly live?: boolean;
  /** Called when all that is committed has been told, each time before more is waited for. */
  readonly onCaughtUp?: () => void;
}

export interface LedgerReading {
  readonly rows: (workflowId: string, caller?: Caller) => Promise<readonly TurnRow[]>;
  readonly events: (workflowId: string, caller?: Caller) => Promise<readonly LedgerEvent[]>;
  /** The fold of the committed events (seed 003 section 5.8). */
  readonly readWorkflowState: (workflowId: string, caller?: Caller) => Promise<WorkflowRecord>;
  /** A workflow's events as the projection tells them. What is given is shared between readers, and frozen. */
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

interface Asked {
  readonly workflowId: string;
  readonly options: FollowOptions;
  readonly caller: Caller | undefined;
}

export function createLedgerReading(parts: ChannelParts): LedgerReading {
  const { store } = parts;
  const rows = async (workflowId: string, caller?: Caller): Promise<readonly TurnRow[]> => {
    const found = await store.read(String(workflowId));
    const tenant =
      found[0] === undefined ? undefined : (JSON.parse(found[0].envelope) as { tenant_id: unknown }).tenant_id;
    if (found.length > 0 && (caller === undefined || caller.tenant_id === tenant)) return found;
    return refuseWorkflow(String(workflowId));
  };
  const events = async (workflowId: string, caller?: Caller): Promise<readonly LedgerEvent[]> =>
    (await rows(workflowId, caller)).flatMap(openTurn);
  return {
    rows,
    events,
    async readWorkflowState(workflowId, caller) {
      const record = foldEvents(await events(workflowId, caller));
      return (
        record ??
        raise(
          kernelError(
            "T4_WORKFLOW_NOT_FOUND",
            `the request ${workflowId} was refused; there is no workflow`,
            readerRef,
            { detail: { workflow_id: String(workflowId) } },
          ),
        )
      );
    },
    channel: (projection, workflowId, options, caller) => {
      const asked = { workflowId: String(workflowId), options, caller };
      return options.live === false ? readChannel(parts, projection, asked) : followTail(parts, projection, asked);
    },
  };
}

/** From the log, then live, without gap or repeat: news only says "look", the log is what is read. */
async function* followTail<T>(
  parts: ChannelParts,
  projection: Projection<T>,
  { workflowId, options, caller }: Asked,
): AsyncGenerator<Numbered<T>, void, void> {
  const { after = 0, signal, onCaughtUp } = options;
  const followed = parts.tails.enter(workflowId);
  try {
    requireOwner(await followed.owner(), workflowId, caller);
    const tail = followed.tail(projection);
    const reader = new TailReader(tail, after);
    while (signal?.aborted !== true) {
      const from = reader.cursor;
      const stretch = await reader.next();
      yield* itemsAfter(stretch, from, signal);
      if (stretch !== null || !tail.isAtRest(reader.cursor)) continue;
      if (tail.ended) return;
      onCaughtUp?.();
      await tail.more(reader.cursor, signal);
    }
  } finally {
    parts.tails.leave(workflowId);
  }
}

/** What is committed now, read by itself. */
async function* readChannel<T>(
  { store }: ChannelParts,
  projection: Projection<T>,
  { workflowId, options: { after = 0, signal }, caller }: Asked,
): AsyncGenerator<Numbered<T>, void, void> {
  requireOwner(await ownerOf(store, workflowId), workflowId, caller);
  const pull = openChannel(store, projection, { workflowId, after });
  for (let stretch = await pull(); stretch !== null && signal?.aborted !== true; stretch = await pull()) {
    yield* itemsAfter(stretch, after, signal);
    if (stretch.isLast) return;
  }
}

function* itemsAfter<T>(
  stretch: Stretch<Numbered<T>> | null,
  after: number,
  signal: AbortSignal | undefined,
): Generator<Numbered<T>, void, void> {
  for (const item of stretch?.items ?? []) {
    if (signal?.aborted === true) return;
    if (item.sequence > after) yield item;
  }
}

function requireOwner(owner: string | number | undefined, workflowId: string, caller: Caller | undefined): void {
  if (owner === undefined || (caller !== undefined && caller.tenant_id !== owner)) refuseWorkflow(workflowId);
}

const refuseWorkflow = (workflowId: string): never =>
  raise(
    kernelError("T4_WORKFLOW_NOT_FOUND", `there is no workflow ${workflowId}`, readerRef, {
      detail: { workflow_id: workflowId },
    }),
  );

/**
 * Reading the ledger for callers: folded records, single events, live tails, with the tenant checked on every way in.
 *
 * R1  Nothing is read but what is committed.
 * R2  Another tenant's workflow does not exist.
 */
import { foldEvents } from "../../machines/fold.ts";
import type { Caller } from "../contract/auth-context.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import type { LedgerEvent } from "../contract/event.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { openTurn, type TurnRow } from "../contract/turn.ts";
import type { WorkflowRecord } from "../contract/workflow.ts";
import type { Clock } from "../ports/clock.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import type { Feed } from "./feed.ts";

export interface FollowOptions {
  /** Events after this sequence. */
  readonly after?: number;
  /** Ends the iteration. */
  readonly signal?: AbortSignal;
  /** False: what is there now, then the end. */
  readonly live?: boolean;
}

export interface LedgerReading {
  readonly rows: (workflowId: string, caller?: Caller) => Promise<readonly TurnRow[]>;
  readonly events: (workflowId: string, caller?: Caller) => Promise<readonly LedgerEvent[]>;
  /** The fold of the committed events (seed 003 section 5.8). */
  readonly readWorkflowState: (workflowId: string, caller?: Caller) => Promise<WorkflowRecord>;
  readonly follow: (
    workflowId: string,
    options: FollowOptions,
    caller?: Caller,
  ) => AsyncGenerator<LedgerEvent, void, void>;
}

const readerRef = moduleRef(4, "workflow_log", "read");

export interface ReadingParts {
  readonly store: LedgerStore;
  readonly feed: Feed;
  readonly clock: Clock;
  /** How often a follower looks for what other processes wrote; ms. */
  readonly pollMs: number;
}

export function createLedgerReading(parts: ReadingParts): LedgerReading {
  const { store } = parts;
  const rows = async (workflowId: string, caller?: Caller): Promise<readonly TurnRow[]> => {
    const found = await store.read(String(workflowId));
    const tenant =
      found[0] === undefined ? undefined : (JSON.parse(found[0].envelope) as { tenant_id: unknown }).tenant_id;
    if (found.length > 0 && (caller === undefined || caller.tenant_id === tenant)) return found;
    return raise(
      kernelError("T4_WORKFLOW_NOT_FOUND", `there is no workflow ${workflowId}`, readerRef, {
        detail: { workflow_id: String(workflowId) },
      }),
    );
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
    follow: (workflowId, options, caller) =>
      follow({ ...parts, first: () => rows(workflowId, caller) }, workflowId, options),
  };
}

interface Following extends ReadingParts {
  readonly first: () => Promise<readonly TurnRow[]>;
}

const rests = new Set(["WORKFLOW_COMPLETED", "WORKFLOW_CANCELLED", "WORKFLOW_FAILED", "INTENT_REJECTED"]);

/** From the log, then live, without gap or repeat: news only says "look", the log is what is read. */
async function* follow(
  parts: Following,
  workflowId: string,
  { after = 0, signal, live = true }: FollowOptions,
): AsyncGenerator<LedgerEvent, void, void> {
  let position = after;
  for await (const events of eventsAsTheyCome(parts, workflowId, {
    after,
    live,
    ...(signal === undefined ? {} : { signal }),
  })) {
    for (const event of events) {
      if (signal?.aborted === true) return;
      if (event.sequence <= position) continue;
      position = event.sequence;
      yield event;
    }
  }
}

/** The events of a workflow in batches of whole rows, until it has ended or the reader has had enough. */
async function* eventsAsTheyCome(
  { store, feed, first, clock, pollMs }: Following,
  workflowId: string,
  { after = 0, signal, live }: FollowOptions,
): AsyncGenerator<readonly LedgerEvent[], void, void> {
  let news = createNews();
  const unlisten = feed.listen(workflowId, () => news.arrive());
  const stop = (): void => news.arrive();
  signal?.addEventListener("abort", stop);
  try {
    let rows = await first();
    let ended = false;
    for (let position = after; ; rows = await store.read(workflowId, position)) {
      position = rows.at(-1)?.last_sequence ?? position;
      const events = rows.flatMap(openTurn);
      ended = hasEnded(events, ended);
      if (events.length > 0) yield events;
      if (live !== true || signal?.aborted === true || ended) return;
      if (rows.length > 0) continue;
      await news.wait(clock, clock.now() + pollMs);
      news = createNews();
    }
  } finally {
    unlisten();
    signal?.removeEventListener("abort", stop);
  }
}

/** Whether these events leave the workflow ended. A fact that came after the end reopens nothing; a restart does. */
function hasEnded(events: readonly LedgerEvent[], before: boolean): boolean {
  const last = events.findLast(({ event_type: type }) => rests.has(type) || type === "WORKFLOW_RESTARTED");
  return last === undefined ? before : last.event_type !== "WORKFLOW_RESTARTED";
}

interface News {
  readonly arrive: () => void;
  /** Until something arrives, or until `at`: other processes write without telling. */
  readonly wait: (clock: Clock, at: number) => Promise<void>;
}

function createNews(): News {
  let arrive: () => void = () => undefined;
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  return {
    arrive: () => arrive(),
    wait(clock, at) {
      const cancel = clock.setTimer(at, arrive, true);
      return arrived.finally(cancel);
    },
  };
}

/**
 * The feed of a tenant: every change of its workflows and gates, from the ledger's rows, in the order of the ledger.
 *
 * Owns: the course of one reader, and the snapshot at its beginning if it has no cursor. The shared tails are in
 * feed-tails.ts.
 * 1.  After a position, nothing is left out and nothing repeated, whichever process answers.
 * 2.  A snapshot is taken from the indexes while others write. It ends with a bookmark: the items before it are the
 *     state at its position, and the following items continue from there.
 * 3.  A cursor beyond the end of this ledger belongs to another one: its reader begins anew.
 */
import type { FeedBookmark } from "../../contract/feed.ts";
import type { FeedOptions } from "../../contract/follow.ts";
import { workflowStates } from "../../contract/progress.ts";
import { isTerminal } from "../../contract/workflow.ts";
import { yieldToEventLoop } from "../actors/yield-to-event-loop.ts";
import { eachHead } from "../log/each-head.ts";
import type { WorkflowUpdate } from "./feed-fold.ts";
import { type FeedParts, FeedTails, type Followed, openRows, type Tenant } from "./feed-tails.ts";
import { type Segment, TailReader } from "./shared-tail.ts";

/** An item of a feed, before it is adapted to one reader. */
export type FeedUpdate = WorkflowUpdate | FeedBookmark;

export interface TenantFeed {
  /** Without a tenant: of all. */
  readonly follow: (options: FeedOptions, tenant: Tenant | undefined) => AsyncGenerator<FeedUpdate, void, void>;
  readonly close: (reason: unknown) => void;
}

/**
 * The number of rows back at which a shared tail may begin. A reader that continues from further away first reads
 * alone, and no other waits for it.
 */
const sharedReach = 1_000;
/** Rows without anything for a reader after which its cursor is moved on nevertheless. */
const bookmarkEvery = 1_000;
const headsAtOnce = 100;
const unfinished = workflowStates.filter((state) => !isTerminal(state));

export function createTenantFeed<M>(parts: FeedParts<M>): TenantFeed {
  const tails = new FeedTails(parts);
  return {
    follow: (options, tenant) => followFeed(tails, options, tenant),
    close: (reason) => tails.close(reason),
  };
}

async function* followFeed<M>(
  tails: FeedTails<M>,
  options: FeedOptions,
  tenant: Tenant | undefined,
): AsyncGenerator<FeedUpdate, void, void> {
  const { after, signal, live = true, onCaughtUp, events = false } = options;
  const { store } = tails.parts;
  const followed = { tenant, withEvents: events };
  const now = await store.position();
  const isNew = after === undefined || after > now;
  const from = isNew ? now : after;
  const tail = tails.enter(followed, await beginningOf(tails, followed, { from, now }));
  try {
    if (isNew) yield* snapshot(tails.parts, options, tenant);
    const teller = new FeedTeller(options, { from, until: isNew ? await store.position() : null });
    const reader = live ? new TailReader(tail, from) : readAlone(tails, followed, from);
    while (signal?.aborted !== true) {
      const segment = await reader.next();
      yield* teller.tell(segment ?? { items: [], rows: 0 }, reader.cursor);
      if (segment !== null || (live && !tail.isAtRest(reader.cursor))) continue;
      if (!live) return;
      await onCaughtUp?.();
      await tail.more(reader.cursor, signal);
    }
  } finally {
    tails.leave(followed);
  }
}

/**
 * Returns the beginning of a tail that is shared from now on, because positions do not show the number of rows between
 * them.
 */
async function beginningOf<M>(
  tails: FeedTails<M>,
  followed: Followed,
  { from, now }: { readonly from: number; readonly now: number },
): Promise<number> {
  if (from === now || tails.isFollowed(followed)) return now;
  const missed = await tails.parts.store.tail(from, sharedReach);
  return missed.length < sharedReach ? from : now;
}

/** Makes a reader of the present content, which shares nothing. */
function readAlone<M>(tails: FeedTails<M>, followed: Followed, from: number) {
  const pull = tails.tell(openRows(tails.parts.store, from), followed, from);
  const reader = {
    cursor: from,
    async next() {
      const segment = await pull();
      reader.cursor = segment?.through ?? reader.cursor;
      return segment;
    },
  };
  return reader;
}

/** Yields the workflows and gates that are open now. */
async function* snapshot<M>(
  { store, describeHead }: FeedParts<M>,
  { intent_type, only, signal }: FeedOptions,
  tenant: Tenant | undefined,
): AsyncGenerator<FeedUpdate, void, void> {
  const of = tenant === undefined ? {} : { tenant_id: tenant };
  const filter = { ...of, states: unfinished, ...(intent_type !== undefined && { intent_type }) };
  let reported = 0;
  for await (const head of eachHead(store, filter)) {
    if (signal?.aborted === true) return;
    if (++reported % headsAtOnce === 0) await yieldToEventLoop();
    const gates = await store.gates({ ...of, workflow_id: head.workflow_id });
    if (only === undefined || gates.length > 0) yield describeHead(head, gates);
  }
}

type FeedSegment = Pick<Segment<WorkflowUpdate>, "items" | "rows">;

/** Delivers segments to one reader: the items that it asked for, and bookmarks. */
class FeedTeller {
  readonly #options: FeedOptions;
  /** The position of the snapshot that is being delivered; null once it is complete. */
  #until: number | null;
  #reported: number;
  /** Rows since then. */
  #passed = 0;

  constructor(options: FeedOptions, { from, until }: { readonly from: number; readonly until: number | null }) {
    this.#options = options;
    this.#until = until;
    this.#reported = from;
  }

  *tell({ items, rows }: FeedSegment, through: number): Generator<FeedUpdate, void, void> {
    const { signal } = this.#options;
    this.#passed += rows;
    for (const item of items) {
      if (signal?.aborted === true) return;
      const position = item.position as number;
      if (position <= this.#reported) continue;
      if (this.#until !== null && position > this.#until) yield this.#bookmark(this.#until);
      if (!this.#isWanted(item)) continue;
      this.#reported = position;
      this.#passed = 0;
      yield this.#until === null ? item : { ...item, position: null };
    }
    const isDue = this.#until === null ? this.#passed >= bookmarkEvery : through >= this.#until;
    if (isDue) yield this.#bookmark(through);
  }

  #isWanted({ intent_type, gates }: WorkflowUpdate): boolean {
    const { only, intent_type: wanted = intent_type } = this.#options;
    return intent_type === wanted && (only === undefined || gates.length > 0);
  }

  #bookmark(position: number): FeedBookmark {
    this.#until = null;
    this.#reported = position;
    this.#passed = 0;
    return { type: "bookmark", position };
  }
}

/**
 * The feed of a tenant: every change of its workflows and gates, from the ledger's rows, in the order of the ledger.
 *
 * Owns: how one reader follows, and the snapshot that it begins with where it has no cursor. What readers share is in
 *       feed-tails.ts.
 * 1.  After a position, nothing is left out and nothing told twice, whichever process is asked.
 * 2.  A snapshot is taken from the indexes while others write. It ends with a bookmark: what was told until then is the
 *     state at its position, and what follows goes on from there.
 * 3.  A cursor that this ledger has not reached is of another one: its reader begins anew.
 */
import type { FeedBookmark } from "../../contract/feed.ts";
import type { FeedOptions } from "../../contract/follow.ts";
import { workflowStates } from "../../contract/progress.ts";
import { isTerminal } from "../../contract/workflow.ts";
import { yieldToEventLoop } from "../actors/yield-to-event-loop.ts";
import { eachHead } from "../log/each-head.ts";
import type { ToldWorkflow } from "./feed-fold.ts";
import { type FeedParts, FeedTails, type Followed, openRows, type Tenant } from "./feed-tails.ts";
import { type Segment, TailReader } from "./shared-tail.ts";

/** An item of a feed, before it is told to one reader. */
export type ToldItem = ToldWorkflow | FeedBookmark;

export interface TenantFeed {
  /** Without a tenant: of all. */
  readonly follow: (options: FeedOptions, tenant: Tenant | undefined) => AsyncGenerator<ToldItem, void, void>;
  readonly close: (reason: unknown) => void;
}

/**
 * How many rows back a shared tail may begin: who goes on from further away reads up to it alone, and nobody waits for
 * that.
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
): AsyncGenerator<ToldItem, void, void> {
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

/** Returns the beginning of a tail that is shared from now on: positions do not tell how many rows lie between. */
async function beginningOf<M>(
  tails: FeedTails<M>,
  followed: Followed,
  { from, now }: { readonly from: number; readonly now: number },
): Promise<number> {
  if (from === now || tails.isFollowed(followed)) return now;
  const missed = await tails.parts.store.tail(from, sharedReach);
  return missed.length < sharedReach ? from : now;
}

/** A reader of what is there now, which shares nothing. */
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

/** Yields what is open now. */
async function* snapshot<M>(
  { store, describeHead }: FeedParts<M>,
  { intent_type, only, signal }: FeedOptions,
  tenant: Tenant | undefined,
): AsyncGenerator<ToldItem, void, void> {
  const of = tenant === undefined ? {} : { tenant_id: tenant };
  const filter = { ...of, states: unfinished, ...(intent_type !== undefined && { intent_type }) };
  let told = 0;
  for await (const head of eachHead(store, filter)) {
    if (signal?.aborted === true) return;
    if (++told % headsAtOnce === 0) await yieldToEventLoop();
    const gates = await store.gates({ ...of, workflow_id: head.workflow_id });
    if (only === undefined || gates.length > 0) yield describeHead(head, gates);
  }
}

type Told = Pick<Segment<ToldWorkflow>, "items" | "rows">;

/** Tells one reader a segment: the items that it asked for, and bookmarks. */
class FeedTeller {
  readonly #options: FeedOptions;
  /** The end of the snapshot that is being told; null once it is over. */
  #until: number | null;
  #told: number;
  /** Rows since then. */
  #passed = 0;

  constructor(options: FeedOptions, { from, until }: { readonly from: number; readonly until: number | null }) {
    this.#options = options;
    this.#until = until;
    this.#told = from;
  }

  *tell({ items, rows }: Told, through: number): Generator<ToldItem, void, void> {
    const { signal } = this.#options;
    this.#passed += rows;
    for (const item of items) {
      if (signal?.aborted === true) return;
      const position = item.position as number;
      if (position <= this.#told) continue;
      if (this.#until !== null && position > this.#until) yield this.#bookmark(this.#until);
      if (!this.#isWanted(item)) continue;
      this.#told = position;
      this.#passed = 0;
      yield this.#until === null ? item : { ...item, position: null };
    }
    const isDue = this.#until === null ? this.#passed >= bookmarkEvery : through >= this.#until;
    if (isDue) yield this.#bookmark(through);
  }

  #isWanted({ intent_type, gates }: ToldWorkflow): boolean {
    const { only, intent_type: wanted = intent_type } = this.#options;
    return intent_type === wanted && (only === undefined || gates.length > 0);
  }

  #bookmark(position: number): FeedBookmark {
    this.#until = null;
    this.#told = position;
    this.#passed = 0;
    return { type: "bookmark", position };
  }
}

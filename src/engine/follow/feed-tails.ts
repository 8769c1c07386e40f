/**
 * The tails that feeds are read from: one of the store's rows for all followed tenants, and one of items for each
 * tenant.
 *
 * Owns: the tails, and the number of their readers. Never: knows the options of a reader.
 * 1.  Rows of tenants that nobody follows are skipped: their bodies are not parsed.
 * 2.  A damaged row removes its own workflow from the feed from there on, and no other: reads of that workflow report
 *     the damage.
 * 3.  A tenant's tail is closed with its last reader, and the tail of the rows with the last tenant.
 */
import type { FeedWorkflow } from "../../contract/feed.ts";
import type { Gate } from "../../contract/gate.ts";
import { deepFreeze } from "../../contract/json.ts";
import { openEnvelope, type TurnRow } from "../../contract/turn.ts";
import type { LedgerStore, WorkflowHead } from "../../ports/ledger-store.ts";
import { yieldToEventLoop } from "../actors/yield-to-event-loop.ts";
import { unlessUnreadable } from "../log/read-turns.ts";
import { FeedFold, type FeedProjection, type WorkflowUpdate } from "./feed-fold.ts";
import type { LedgerWatch } from "./ledger-watch.ts";
import { type Pull, SharedTail, TailReader } from "./shared-tail.ts";
import { type OwnerStore, rowsPerPage } from "./workflow-tails.ts";

export type Tenant = string | number;

export interface FeedParts<M> {
  readonly store: LedgerStore;
  readonly watch: LedgerWatch;
  readonly projection: FeedProjection<M>;
  readonly describeHead: (head: WorkflowHead, gates: readonly Gate[]) => FeedWorkflow;
  readonly maxTailChars: number;
  readonly maxFeedChars: number;
}

/** The subject of a feed: the workflows of one tenant or of all, and whether every turn is reported with its events. */
export interface Followed {
  readonly tenant: Tenant | undefined;
  readonly withEvents: boolean;
}

interface TenantRow {
  readonly position: number;
  readonly tenant: Tenant;
  readonly row: TurnRow;
}

/** The tails that are followed now: that of the store's rows, and that of each tenant's items. */
export class FeedTails<M> {
  readonly parts: FeedParts<M>;
  readonly #tenants = new Map<string, { readonly tail: SharedTail<WorkflowUpdate>; readers: number }>();
  #rows: SharedTail<TenantRow> | null = null;

  constructor(parts: FeedParts<M>) {
    this.parts = parts;
  }

  isFollowed(followed: Followed): boolean {
    return this.#tenants.has(nameOf(followed));
  }

  /** Enters a reader; to be followed by one `leave`. */
  enter(followed: Followed, from: number): SharedTail<WorkflowUpdate> {
    const name = nameOf(followed);
    const entry = this.#tenants.get(name) ?? { tail: this.#begin(followed, from), readers: 0 };
    entry.readers += 1;
    this.#tenants.set(name, entry);
    return entry.tail;
  }

  leave(followed: Followed): void {
    const entry = this.#tenants.get(nameOf(followed));
    if (entry === undefined) return;
    entry.readers -= 1;
    if (entry.readers > 0) return;
    entry.tail.close();
    this.#tenants.delete(nameOf(followed));
    if (this.#tenants.size > 0) return;
    this.#rows?.close();
    this.#rows = null;
  }

  close(reason: unknown): void {
    for (const { tail } of this.#tenants.values()) tail.close(reason);
    this.#rows?.close(reason);
    this.#tenants.clear();
    this.#rows = null;
  }

  /** Reads rows and makes feed items of them. */
  tell(rows: Pull<TenantRow>, { tenant, withEvents }: Followed, after: number): Pull<WorkflowUpdate> {
    const { store, projection, maxFeedChars } = this.parts;
    const fold = new FeedFold({ store, projection, maxChars: maxFeedChars, withEvents });
    let reading: Awaited<ReturnType<typeof rows>> = null;
    return async () => {
      // A batch that failed because the ledger was unavailable is tried again at the next pull.
      reading ??= await rows();
      if (reading === null) return null;
      const items: WorkflowUpdate[] = [];
      for (const { position, row, tenant: owner } of reading.items) {
        if (position <= after || (tenant !== undefined && owner !== tenant)) continue;
        const item = await fold.tell(row, position);
        if (item !== null) items.push(deepFreeze(item));
      }
      const { through, rows: passed } = reading;
      const chars = items.length * charsOfItem + (withEvents ? reading.chars : 0);
      reading = null;
      return { items, through, rows: passed, chars, isLast: false, ended: false };
    };
  }

  #begin(followed: Followed, from: number): SharedTail<WorkflowUpdate> {
    const { store, watch, maxTailChars } = this.parts;
    this.#rows ??= new SharedTail<TenantRow>(
      { open: (after) => openRows(store, after), listen: (listener) => watch.listen(null, listener) },
      { from, maxChars: maxTailChars },
    );
    const rows = this.#rows;
    const open = (after: number): Pull<WorkflowUpdate> => {
      const reader = new TailReader(rows, after);
      return this.tell(() => reader.next(), followed, after);
    };
    return new SharedTail({ open, listen: (listener) => rows.listen(listener) }, { from, maxChars: maxTailChars });
  }
}

/** The approximate size of an item beside its events. */
const charsOfItem = 1_000;

const nameOf = ({ tenant, withEvents }: Followed): string => JSON.stringify([tenant ?? null, withEvents]);

/** Returns a pull of the rows of workflows, page by page, with a turn of the event loop between two. */
export function openRows(store: Pick<LedgerStore, "tail"> & OwnerStore, after: number): Pull<TenantRow> {
  const owners = new RowOwners(store);
  let position = after;
  let isLast = true;
  return async () => {
    if (!isLast) await yieldToEventLoop();
    const rows = await store.tail(position, rowsPerPage);
    isLast = rows.length < rowsPerPage;
    if (rows.length === 0) return null;
    position = rows.at(-1)?.position ?? position;
    const chars = rows.reduce((sum, { row }) => sum + row.envelope.length + (row.body?.length ?? 0), 0);
    const items: TenantRow[] = [];
    for (const row of rows) {
      const tenant = await owners.of(row.row);
      if (tenant !== null) items.push({ ...row, tenant });
    }
    return { items, through: position, rows: rows.length, chars, isLast, ended: false };
  };
}

const maxOwners = 10_000;

/** The owners of workflows, which the first row of each names. */
class RowOwners {
  readonly #store: OwnerStore;
  readonly #kept = new Map<string, Tenant | null>();

  constructor(store: OwnerStore) {
    this.#store = store;
  }

  /**
   * Returns the tenant of a row; null for rows outside any workflow, which hold tenants' own records, and for those of
   * damaged streams.
   */
  async of(row: TurnRow): Promise<Tenant | null> {
    const { stream, first_sequence } = row;
    const kept = first_sequence === 1 ? undefined : this.#kept.get(stream);
    const owner = kept === undefined ? ownerIn(first_sequence === 1 ? row : await this.#first(stream)) : kept;
    this.#kept.delete(stream);
    this.#kept.set(stream, owner);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= maxOwners) break;
      this.#kept.delete(oldest);
    }
    return owner;
  }

  async #first(stream: string): Promise<TurnRow | undefined> {
    return (await this.#store.read(stream, 0, 1))[0];
  }
}

function ownerIn(first: TurnRow | undefined): Tenant | null {
  const envelope = first === undefined ? null : unlessUnreadable(() => openEnvelope(first));
  return envelope === null || envelope.workflow_id === null ? null : envelope.tenant_id;
}

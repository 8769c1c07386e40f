/**
 * Makes a page of a list. A search examines the list a segment at a time, with other work in between, up to a maximum
 * number of items.
 *
 * Owns: the walk through a list, in either direction. Never: knows the content of an item, or the filter.
 */
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { Listed } from "../contract/workflow-summary.ts";
import { yieldToEventLoop } from "../engine/actors/yield-to-event-loop.ts";
import type { Paged } from "../ports/ledger-store.ts";

const listRef = moduleRef(0, "gateway", "list");
/** Items that are looked at in one go. */
const segment = 100;

/** A part of a list, newest first; `next` is the place to go on from, null at its end. */
export interface Segment<Place, T extends Place> {
  readonly items: readonly T[];
  readonly next: Place | null;
  /** The number of items that were examined. */
  readonly seen: number;
}

export async function readAll<Place, T extends Place>(
  page: Paged<Place>,
  read: () => Promise<readonly T[]>,
): Promise<Segment<Place, T>> {
  const items = await read();
  const last = isBackward(page) ? items[0] : items.at(-1);
  return { items, next: items.length < page.limit ? null : (last ?? null), seen: items.length };
}

export interface Scan<Place, T extends Place> {
  readonly page: Paged<Place>;
  readonly read: (page: Paged<Place>) => Promise<Segment<Place, T>>;
  /** Whether a page is found by examining the list a segment at a time; else `read` returns it at once. */
  readonly isSearch: boolean;
  readonly count: () => Promise<number>;
  readonly most: number;
}

export async function tell<Place, T extends Place, S>(
  scan: Scan<Place, T>,
  total: boolean,
  show: (item: T) => S | Promise<S>,
): Promise<Listed<S>> {
  const list: S[] = [];
  for (const item of await readPage(scan)) list.push(await show(item));
  return total ? Object.assign(list, { total: await scan.count() }) : list;
}

async function readPage<Place, T extends Place>(scan: Scan<Place, T>): Promise<readonly T[]> {
  const { page, isSearch, read } = scan;
  if (!isSearch) return (await read(page)).items;
  const kept: T[] = [];
  for await (const item of search(scan, page)) {
    kept.push(item);
    if (kept.length === page.limit) break;
  }
  return isBackward(page) ? kept.reverse() : kept;
}

type Cursors<Place> = Omit<Paged<Place>, "limit">;

const isBackward = ({ after, before }: Cursors<unknown>): boolean => before !== undefined && after === undefined;

/** Yields the items that are found, from the cursor on in its direction. */
async function* search<Place, T extends Place>(
  { read, most }: Scan<Place, T>,
  from: Cursors<Place>,
): AsyncGenerator<T, void, void> {
  let page: Paged<Place> = { ...from, limit: segment };
  for (let seen = 0; ; ) {
    if (seen >= most) refuseMore(most);
    const found = await read(page);
    yield* isBackward(from) ? found.items.toReversed() : found.items;
    if (found.next === null) return;
    seen += found.seen;
    page = { ...page, ...(isBackward(from) ? { before: found.next } : { after: found.next }) };
    await yieldToEventLoop();
  }
}

const refuseMore = (maxListScanned: number): never =>
  raise(
    kernelError("T0_LIST_TOO_WIDE", `nothing more was looked for after ${maxListScanned} items`, listRef, {
      detail: { maxListScanned },
    }),
  );

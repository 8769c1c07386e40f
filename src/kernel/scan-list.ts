/**
 * Makes a page of a list, or its count, if a filter has to examine items one by one: a segment at a time, with other
 * work in between, up to a maximum number of items.
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
  /** The filter without an index; null if there is none. */
  readonly keeps: ((item: T) => boolean | Promise<boolean>) | null;
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
  return total ? Object.assign(list, { total: await countAll(scan) }) : list;
}

async function readPage<Place, T extends Place>(scan: Scan<Place, T>): Promise<readonly T[]> {
  const { page, keeps, read } = scan;
  if (keeps === null) return (await read(page)).items;
  const kept: T[] = [];
  for await (const item of search(scan, page)) {
    kept.push(item);
    if (kept.length === page.limit) break;
  }
  return isBackward(page) ? kept.reverse() : kept;
}

async function countAll<Place, T extends Place>(scan: Scan<Place, T>): Promise<number> {
  if (scan.keeps === null) return scan.count();
  let found = 0;
  for await (const _ of search(scan, {})) found += 1;
  return found;
}

type Cursors<Place> = Omit<Paged<Place>, "limit">;

const isBackward = ({ after, before }: Cursors<unknown>): boolean => before !== undefined && after === undefined;

/** Yields the items that the filter keeps, from the cursor on in its direction. */
async function* search<Place, T extends Place>(
  { read, keeps, most }: Scan<Place, T>,
  from: Cursors<Place>,
): AsyncGenerator<T, void, void> {
  let page: Paged<Place> = { ...from, limit: segment };
  for (let seen = 0; ; ) {
    if (seen >= most) refuseMore(most);
    const found = await read(page);
    for (const item of isBackward(from) ? found.items.toReversed() : found.items)
      if ((await keeps?.(item)) !== false) yield item;
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

/**
 * A text is found by the store itself: what is found, and how far was looked, is what reading the whole list would say.
 */
import fc from "fast-check";
import { expect } from "vitest";
import type { HeadPlace, HeadSearch, LedgerStore, ListedHead } from "../../src/ports/ledger-store.ts";
import { firstTurn, testStream } from "../../src/testing/ledger-turns.ts";
import { runs } from "../properties/property-runs.ts";

const titles = ["Straße 12", "order A-7", "ORDER b-8", "naïve ÖL", "", "K elvin"];
const isAbout = ({ title, intent_type, workflow_id }: ListedHead, text: string): boolean =>
  [title ?? "", intent_type, workflow_id].some((one) => one.toLowerCase().includes(text));

async function fill(store: LedgerStore, count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1) {
    const { entry } = firstTurn(testStream(n));
    const { create } = entry.indexes ?? {};
    if (create === undefined) throw new Error("the first turn of a stream makes its head");
    const named = { ...create, title: titles[n % titles.length] as string, created_at: 1000 + (n % 5) };
    await store.append([{ ...entry, indexes: { ...entry.indexes, create: named } }]);
  }
}

async function searchAll(store: LedgerStore, search: Omit<HeadSearch, "after" | "before">, isBack: boolean) {
  const found: string[] = [];
  let at: HeadPlace | null | undefined;
  for (let reads = 0; at !== null; reads += 1) {
    if (reads > 200) throw new Error("the search does not come to an end");
    const cursor =
      at === undefined
        ? isBack
          ? { before: { created_at: 0, workflow_id: "" } }
          : {}
        : isBack
          ? { before: at }
          : { after: at };
    const page = (await store.searchHeads?.({ ...search, ...cursor })) ?? { heads: [], next: null };
    expect(page.heads.length).toBeLessThanOrEqual(search.limit);
    const ids = page.heads.map((head) => head.workflow_id);
    found.push(...(isBack ? ids.reverse() : ids));
    at = page.next;
  }
  return isBack ? found.reverse() : found;
}

/** The store is empty and open. */
export async function expectSearch(store: LedgerStore): Promise<void> {
  await fill(store, 23);
  const all = await store.listHeads({ limit: 100 });
  const text = fc.constantFrom("order", "straße", "öl", "k", "-", "wf_", "nothing of it");
  const sizes = { limit: fc.integer({ min: 1, max: 9 }), scan: fc.integer({ min: 1, max: 30 }) };
  const property = fc.asyncProperty(text, fc.record(sizes), fc.boolean(), async (wanted, size, isBack) => {
    const expected = all.filter((head) => isAbout(head, wanted)).map((head) => head.workflow_id);
    expect(await searchAll(store, { text: wanted, ...size }, isBack)).toEqual(expected);
  });
  await fc.assert(property, { numRuns: runs(60) });
}

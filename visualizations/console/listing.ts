/**
 * The gates that the inbox lists: pages of the server's list, one after another, kept up to date.
 *
 * 1.  An answer to an older question is never shown after that to a newer one.
 * 2.  What was listed last is kept while another page is looked at, so that the list is as it was on the way back.
 */
import { type ReadonlySignal, signal, useSignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import type { ListedGate } from "../../src/contract/listed-gate.ts";
import type { GatePage } from "../../src/contract/page.ts";
import { type Answer, askInTime } from "./api.ts";
import { gatesPath, type InboxQuery, inboxHref } from "./inbox-query.ts";
import { now, useReconnected } from "./loaded.tsx";

export const pageSize = 50;
/** The number of decisions that are taken together. */
export const mostAtOnce = 500;

export interface Listing {
  readonly gates: readonly ListedGate[];
  readonly total: number;
  readonly hasMore: boolean;
}

export const gateKey = ({ workflow_id, gate_id }: { readonly workflow_id: string; readonly gate_id: string }) =>
  `${workflow_id}/${gate_id}`;

/** Reads as many pages as are shown. Its pages follow each other, so a gate that moves meanwhile is listed once. */
export async function readListing(query: InboxQuery, pages: number): Promise<Answer<Listing>> {
  const gates = new Map<string, ListedGate>();
  let total = 0;
  let cursor = "";
  for (let page = 1; ; page += 1) {
    const asked = { limit: String(pageSize), ...(page === 1 ? { total: "true" } : { after: cursor }) };
    const reported = await askInTime<GatePage>(gatesPath(query, asked, now.peek()));
    if (!reported.ok) return reported;
    const { gates: found, next } = reported.value;
    for (const gate of found) gates.set(gateKey(gate), gate);
    if (page === 1) total = reported.value.total ?? found.length;
    if (next === null || page >= pages)
      return { ok: true, value: { gates: [...gates.values()], total, hasMore: next !== null } };
    cursor = next;
  }
}

interface Kept {
  readonly place: string;
  readonly pages: number;
  readonly listing: Listing;
}

/** What was listed last, under the address that it was listed for. */
const kept = signal<Kept | null>(null);
/** How far the list was scrolled, in pixels. */
export const scrolled = { place: "", top: 0 };

/** Returns the gate that the last list shows after this one, or before it if it is the last; null if there is none. */
export function gateAfter(key: string): ListedGate | null {
  const gates = kept.value?.listing.gates ?? [];
  const at = gates.findIndex((gate) => gateKey(gate) === key);
  return (at < 0 ? gates[0] : (gates[at + 1] ?? gates[at - 1])) ?? null;
}

export interface ShownListing {
  readonly answer: ReadonlySignal<Answer<Listing> | null>;
  readonly reload: () => Promise<void>;
  readonly showMore: () => void;
}

export function useListing(query: InboxQuery): ShownListing {
  const place = inboxHref({ ...query, gate: "" });
  const before = kept.peek()?.place === place ? kept.peek() : null;
  const pages = useSignal(before?.pages ?? 1);
  const answer = useSignal<Answer<Listing> | null>(before === null ? null : { ok: true, value: before.listing });
  const latest = useRef(0);
  const shown = useRef(place);
  const reload = useCallback(async () => {
    latest.current += 1;
    const mine = latest.current;
    if (shown.current !== place) pages.value = 1;
    shown.current = place;
    const got = await readListing(query, pages.value);
    if (mine !== latest.current) return;
    // What is shown stays while the server is away.
    if (!got.ok && got.problem.status === 0 && answer.peek()?.ok === true) return;
    if (got.ok) kept.value = { place, pages: pages.value, listing: got.value };
    answer.value = got;
  }, [place, answer, pages]);
  useEffect(() => void reload(), [reload]);
  useReconnected(answer, reload);
  const showMore = () => {
    pages.value += 1;
    void reload();
  };
  return { answer, reload, showMore };
}

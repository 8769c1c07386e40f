/** The wait of a request for a newer one of its queue and key, from who waits there when it is accepted. */

import { instantText } from "../../../contract/instant.ts";
import type { Intake } from "../../../contract/intake.ts";
import { type Debounced, lineOf } from "../../../contract/queue.ts";
import type { LedgerStore } from "../../../ports/ledger-store.ts";

export interface DebounceQuestion extends Pick<Intake, "tenant_id" | "intent" | "start_at"> {
  readonly now: number;
}

/**
 * Returns the wait of a request; null if newer ones do not supersede it. One that supersedes others begins within
 * `max_ms` of the first of them. Work that begins at a time of its own joins the queue then, and waits no longer.
 */
export async function debounceOf(
  store: Pick<LedgerStore, "queueMembers">,
  { tenant_id, intent: { queue }, start_at, now }: DebounceQuestion,
): Promise<Debounced | null> {
  if (queue?.debounce === undefined || start_at !== undefined) return null;
  const { ms, max_ms = Number.POSITIVE_INFINITY } = queue.debounce;
  const members = await store.queueMembers(tenant_id, lineOf(queue));
  const from = Math.min(now, ...members.filter(({ place }) => place !== "taken").map(({ since }) => since));
  return { from: instantText(from), until: instantText(Math.min(now + ms, Math.max(now, from + max_ms))) };
}

/**
 * Whether the kernel serves: what it tells whoever sends requests here or elsewhere.
 *
 * Never: writes a row. R1  However many ask, the ledger is asked by one at a time: an answer that does not come keeps
 * nothing else from it.
 */
import { moduleRef } from "../contract/module-ref.ts";
import { singleFlight } from "../contract/single-flight.ts";
import { outside } from "../engine/actors/async-context.ts";
import { callWithin } from "../engine/actors/within.ts";
import type { Clock } from "../ports/clock.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";

const asking = {
  source: moduleRef(0, "kernel", "ready"),
  onTimeout: "T0_LEDGER_UNAVAILABLE",
  onThrow: "T0_LEDGER_UNAVAILABLE",
  what: "the ledger's check",
} as const;

/** @returns what resolves where turns can be written. It throws what keeps them from it, within the time. */
export function createReadiness(
  store: Pick<LedgerStore, "check" | "position">,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): () => Promise<void> {
  const ask = singleFlight<unknown>(() => outside(() => store.check?.() ?? store.position()));
  return async () => {
    await callWithin(ask, { ...asking, clock, timeoutMs });
  };
}

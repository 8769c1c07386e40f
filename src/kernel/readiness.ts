/**
 * Tells whether the kernel serves, for load balancers and probes.
 *
 * Never: writes a row.
 * 1.  Simultaneous questions share one check of the ledger: a check that does not return holds up nothing else.
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

/** Returns a function that resolves if turns can be written, and that throws the reason if not, within the time. */
export function createReadiness(
  store: Pick<LedgerStore, "check" | "position">,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): () => Promise<void> {
  const ask = singleFlight<unknown>(() => outside(() => store.check?.() ?? store.position()));
  return async () => {
    await callWithin(ask, { ...asking, clock, timeoutMs });
  };
}

/**
 * The tenants that have orders of one kind, grants or stand-ins, as this process knows them, so that a gate of any
 * other tenant asks no store.
 *
 * Never: decides what an order covers.
 * 1.  It is read again when the kernel opens, after each own order, when other processes have committed something, and,
 *     of a store that does not tell of others, once it is older than `limits.tailPollMs` and it is needed.
 * 2.  No order that has ended is used because this is behind: each use is read from the store, and checked by it.
 */
import { follow } from "../../contract/maybe-promise.ts";
import { readAnew, singleFlight } from "../../contract/single-flight.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";
import type { Runtime } from "../actors/runtime.ts";

type Id = string | number;

export class TenantRegistry {
  readonly #now: () => number;
  readonly #maxAgeMs: number;
  readonly #reading: () => Promise<void>;
  #tenants: ReadonlySet<Id> = new Set();
  #readAt = Number.NEGATIVE_INFINITY;

  /** @param read reads the tenants that have such orders from the store. */
  constructor(
    read: () => Promise<readonly Id[]>,
    { follow }: Pick<LedgerStore, "follow">,
    { clock, limits }: Pick<Runtime, "clock" | "limits">,
  ) {
    this.#now = clock.now;
    this.#maxAgeMs = follow === undefined ? limits.tailPollMs : Number.POSITIVE_INFINITY;
    this.#reading = singleFlight(async () => {
      const at = clock.now();
      this.#tenants = new Set(await read());
      this.#readAt = at;
    });
  }

  /** Returns whether a tenant may have such orders, after another look if what is known is too old. */
  mayHave(tenantId: Id): boolean | Promise<boolean> {
    const isFresh = this.#now() - this.#readAt < this.#maxAgeMs;
    return follow(isFresh ? undefined : this.look(), () => this.#tenants.has(tenantId));
  }

  /** Reads the tenants again, or waits for a reading that is under way. */
  look(): Promise<void> {
    return this.#reading();
  }

  /** Reads the tenants again, from now on. */
  refresh(): Promise<void> {
    return readAnew(this.#reading);
  }
}

/**
 * The halts that hold, as this process knows them: a copy of the ledger's index in memory, so that deciding reads it
 * without waiting.
 *
 * Never: decides what a halt concerns.
 * 1.  It may be behind another process's order. A row that begins a call names the change that it was decided on, and
 *     the store refuses it if there is another (`Append.halts_at`): no call begins past a halt that is committed.
 * 2.  It is read again when the kernel opens, after each own order, after such a refusal, and when other processes have
 *     committed something.
 */
import type { Halt } from "../../contract/halt.ts";
import { readAnew, singleFlight } from "../../contract/single-flight.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";

type Id = string | number;

/** The halts of a tenant that hold, oldest first, and the position of the newest change. */
interface TenantHalts {
  readonly at: number;
  readonly halts: readonly Halt[];
}

const noHalts: TenantHalts = Object.freeze({ at: 0, halts: Object.freeze([]) });

export class HaltRegistry {
  readonly #store: Pick<LedgerStore, "halts">;
  readonly #changed: (tenants: ReadonlySet<Id>) => void;
  #byTenant: ReadonlyMap<Id, TenantHalts> = new Map();
  /** A reading that began before an order was committed may not show it: a later one begins then. */
  readonly #reading: () => Promise<void>;

  /** @param changed called with the tenants whose halts are others than before. */
  constructor(store: Pick<LedgerStore, "halts">, changed: (tenants: ReadonlySet<Id>) => void) {
    this.#store = store;
    this.#changed = changed;
    this.#reading = singleFlight(() => this.#read());
  }

  of(tenantId: Id): TenantHalts {
    return this.#byTenant.get(tenantId) ?? noHalts;
  }

  /** Reads the index again, from now on. */
  refresh(): Promise<void> {
    return readAnew(this.#reading);
  }

  /** Reads the index again, or waits for a reading that is under way. */
  look(): Promise<void> {
    return this.#reading();
  }

  async #read(): Promise<void> {
    const byTenant = new Map<Id, TenantHalts>();
    for (const { tenant_id, is_lifted, position, ...halt } of await this.#store.halts()) {
      const { halts } = byTenant.get(tenant_id) ?? noHalts;
      byTenant.set(tenant_id, { at: position, halts: is_lifted ? halts : [...halts, halt] });
    }
    const before = this.#byTenant;
    const changed = [...byTenant].filter(([tenant, { at }]) => before.get(tenant)?.at !== at);
    this.#byTenant = byTenant;
    if (changed.length > 0) this.#changed(new Set(changed.map(([tenant]) => tenant)));
  }
}

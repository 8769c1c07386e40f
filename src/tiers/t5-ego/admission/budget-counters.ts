/**
 * The values of budget counters, as far as this process knows them, and the amounts that are reserved.
 *
 * Owns: the amounts that are reserved for calls whose start is not in the ledger yet. Never: counts what is in the
 * ledger; decides what fits.
 * 1.  The known value of a counter is the value that was read, plus everything that was reserved then and since, used
 *     or not. Only the store sees charges of other processes meanwhile.
 * 2.  A reservation that is released during a read stays counted in the known value, because it is unknown whether the
 *     read includes its charge.
 */
import { addCharge, type Charge, noCharge, type Reservation } from "../../../contract/budget.ts";

type Id = string | number;

export interface BudgetCountersParts {
  /** Returns the values of the ledger's counters, in the order of the names. */
  readonly charges: (tenantId: Id, counters: readonly string[]) => Promise<readonly Charge[]>;
  readonly now: () => number;
  /** The time after which a reservation that was not released is dropped, in ms. */
  readonly holdMs: number;
}

interface Hold {
  readonly tenant_id: Id;
  readonly reservation: Reservation;
  readonly until: number;
}

/** Returns the known value of a counter. */
export type StandingOf = (counter: string) => Charge;

/** Counters that are known, over all tenants; beyond them they are read anew. */
const mostKnown = 10_000;

export class BudgetCounters {
  readonly #parts: BudgetCountersParts;
  readonly #holds = new Map<string, Hold>();
  readonly #known = new Map<string, Charge>();
  /** For each read that is under way, the reservations released since it began. */
  readonly #readings = new Set<Hold[]>();

  constructor(parts: BudgetCountersParts) {
    this.#parts = parts;
  }

  /** Returns the known value; null for a counter that was never read. */
  known(tenantId: Id, counter: string): Charge | null {
    return this.#known.get(keyOf(tenantId, counter)) ?? null;
  }

  /** Reads the ledger's counters, and adds the reserved amounts. */
  async read(tenantId: Id, counters: readonly string[]): Promise<StandingOf> {
    const gone: Hold[] = [];
    this.#readings.add(gone);
    try {
      const amounts = await this.#parts.charges(tenantId, counters);
      const held = this.#heldFor(tenantId);
      const standing = counters.map((counter, i) => withHeld(amounts[i] ?? noCharge, counter, held));
      const own = gone.filter(({ tenant_id }) => tenant_id === tenantId);
      for (const [i, counter] of counters.entries())
        this.#learn(tenantId, counter, withHeld(standing[i] as Charge, counter, own));
      return (counter) => standing[counters.indexOf(counter)] ?? noCharge;
    } finally {
      this.#readings.delete(gone);
    }
  }

  setAside(name: string, tenant_id: Id, reservation: Reservation): void {
    const { counters, amounts } = reservation;
    const sums = counters.map((counter) => addCharge(this.known(tenant_id, counter) ?? noCharge, amounts));
    for (const [i, counter] of counters.entries()) this.#learn(tenant_id, counter, sums[i] as Charge);
    const { now, holdMs } = this.#parts;
    const at = now();
    this.#forgetPast(at);
    this.#holds.set(name, { tenant_id, reservation, until: at + holdMs });
  }

  /** Returns whether anything was set aside under the name, and not let go. */
  drop(name: string): boolean {
    return this.#holds.delete(name);
  }

  release(name: string): void {
    const hold = this.#holds.get(name);
    if (hold !== undefined) for (const gone of this.#readings) gone.push(hold);
    this.#holds.delete(name);
  }

  #learn(tenantId: Id, counter: string, charge: Charge): void {
    if (this.#known.size >= mostKnown) this.#known.clear();
    this.#known.set(keyOf(tenantId, counter), charge);
  }

  #heldFor(tenantId: Id): readonly Hold[] {
    const at = this.#parts.now();
    return [...this.#holds.values()].filter(({ tenant_id, until }) => tenant_id === tenantId && until > at);
  }

  /** Drops expired reservations; they are ordered by their ends. */
  #forgetPast(at: number): void {
    for (const [name, { until }] of this.#holds) {
      if (until > at) return;
      this.#holds.delete(name);
    }
  }
}

const keyOf = (tenantId: Id, counter: string): string => `${JSON.stringify(tenantId)} ${counter}`;

const withHeld = (standing: Charge, counter: string, held: readonly Hold[]): Charge =>
  held
    .filter(({ reservation }) => reservation.counters.includes(counter))
    .reduce((sum, { reservation }) => addCharge(sum, reservation.amounts), standing);

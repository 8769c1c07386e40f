/**
 * What the counters of budgets stand at, as far as this process knows, and what is set aside of them.
 *
 * Owns: what was set aside for calls whose start is not in the ledger yet. Never: counts what is in the ledger; says what fits.
 * 1.  What is known of a counter is what it stood at when it was read, with all that was set aside then and since, used or not.
 *     What others charge meanwhile the store alone sees.
 * 2.  Between the asking for counters and the answer what was let go is counted in what is known: whether they were read with or
 *     without it, nobody can say.
 */
import { addCharge, type Charge, noCharge, type Reservation } from "../../../contract/budget.ts";

type Id = string | number;

export interface BudgetCountersParts {
  /** What the ledger's counters say, in the order asked. */
  readonly charges: (tenantId: Id, counters: readonly string[]) => Promise<readonly Charge[]>;
  readonly now: () => number;
  /** After that long what was set aside and not let go is forgotten. */
  readonly holdMs: number;
}

interface Hold {
  readonly tenant_id: Id;
  readonly reservation: Reservation;
  readonly until: number;
}

/** What a counter stands at. */
export type StandingOf = (counter: string) => Charge;

/** Counters that are known, over all tenants; beyond them they are read anew. */
const mostKnown = 10_000;

export class BudgetCounters {
  readonly #parts: BudgetCountersParts;
  readonly #holds = new Map<string, Hold>();
  readonly #known = new Map<string, Charge>();
  /** For each reading that is under way, what was let go since it began. */
  readonly #readings = new Set<Hold[]>();

  constructor(parts: BudgetCountersParts) {
    this.#parts = parts;
  }

  /** Null of a counter that nobody has read. */
  known(tenantId: Id, counter: string): Charge | null {
    return this.#known.get(keyOf(tenantId, counter)) ?? null;
  }

  /** What the ledger's counters say, with what is set aside. */
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

  /** They stand in the order of their ends. */
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

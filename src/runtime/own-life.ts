/**
 * This kernel as the others know it: alive until a time that it has told the store, under whose name it holds workflows.
 *
 * Owns: until when that is, by the kernel's own clock.
 * Never: holds a workflow; logs do.
 * O1  Nothing is appended, and nothing that was appended is gone on from, by a kernel whose time has run out: it asks first
 *     whether it is still known.
 * O2  Who is known no more has lost everything that it held, and hears so before anything else of it goes on.
 */
import { singleFlight } from "../contract/single-flight.ts";
import type { Clock } from "../ports/clock.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";

/** How often who holds workflows says that it lives, and others look for what nobody holds: twice before a lease runs out. */
export const beatMs = (leaseMs: number): number => Math.ceil(leaseMs / 3);

export interface OwnLifeParts {
  readonly store: Pick<LedgerStore, "beat">;
  readonly clock: Clock;
  readonly owner: string;
  readonly leaseMs: number;
}

export class OwnLife {
  readonly owner: string;
  readonly leaseMs: number;
  readonly #parts: OwnLifeParts;
  /** Before the first beat there is nothing to lose. */
  #until: number | null = null;
  #lost: () => void = () => undefined;

  constructor(parts: OwnLifeParts) {
    this.#parts = parts;
    this.owner = parts.owner;
    this.leaseMs = parts.leaseMs;
  }

  onLost(hear: () => void): void {
    this.#lost = hear;
  }

  /** Whether nobody can have taken this kernel for dead. */
  get stands(): boolean {
    return this.#until !== null && this.#parts.clock.now() < this.#until;
  }

  /** How long ago the store was told last, in ms; 0 before the first time. */
  get ageMs(): number {
    return this.#until === null ? 0 : this.#parts.clock.now() - (this.#until - this.leaseMs);
  }

  /** Tells the store; false where everything was lost. Who asks meanwhile gets the same answer. @throws what the store throws. */
  readonly beat = singleFlight(() => this.#beat());

  /** False where everything was lost; true once it stands. */
  async hold(): Promise<boolean> {
    while (!this.stands) if (!(await this.beat())) return false;
    return true;
  }

  async #beat(): Promise<boolean> {
    const { store, clock, owner, leaseMs } = this.#parts;
    const askedAt = clock.now();
    const known = await store.beat(owner, askedAt, leaseMs);
    const isFirst = this.#until === null;
    this.#until = askedAt + leaseMs;
    if (!known && !isFirst) this.#lost();
    return known || isFirst;
  }
}

/**
 * This kernel as the others know it: alive until a time that it has told the store, under whose name it holds workflows.
 *
 * Owns: how long that is still so, by the kernel's own clock: by its wall or by what has elapsed, whichever says more. A wall
 *       that is set back makes no dead one alive, and a machine that slept has aged.
 * Never: holds a workflow; logs do.
 * 1.  Nothing is appended, and nothing that was appended is gone on from, by a kernel whose time has run out: it asks first
 *     whether it is still known.
 * 2.  Who is known no more has lost everything that it held, and hears so before anything else of it goes on.
 */
import { singleFlight } from "../../contract/single-flight.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";
import type { KernelClock } from "../actors/kernel-clock.ts";

/**
 * Returns how often who holds workflows says that it lives, and others look for what nobody holds: twice before a lease
 * runs out.
 */
export const beatMs = (leaseMs: number): number => Math.ceil(leaseMs / 3);

export interface OwnLifeParts {
  readonly store: Pick<LedgerStore, "beat">;
  readonly clock: Pick<KernelClock, "now" | "elapsed">;
  readonly owner: string;
  readonly leaseMs: number;
}

export class OwnLife {
  readonly owner: string;
  readonly leaseMs: number;
  readonly #parts: OwnLifeParts;
  /** The instant of the last beat to the store. Before the first beat there is nothing to lose. */
  #toldAt: { readonly now: number; readonly elapsed: number } | null = null;
  #lost: () => void = () => undefined;

  constructor(parts: OwnLifeParts) {
    this.#parts = parts;
    this.owner = parts.owner;
    this.leaseMs = parts.leaseMs;
  }

  onLost(hear: () => void): void {
    this.#lost = hear;
  }

  /** Returns whether nobody can have taken this kernel for dead. */
  get stands(): boolean {
    return this.#toldAt !== null && this.ageMs < this.leaseMs;
  }

  /** Returns how long ago the store was told last, in ms; 0 before the first time. */
  get ageMs(): number {
    if (this.#toldAt === null) return 0;
    const { clock } = this.#parts;
    return Math.max(clock.now() - this.#toldAt.now, clock.elapsed() - this.#toldAt.elapsed);
  }

  /**
   * Tells the store; false where everything was lost. Who asks meanwhile gets the same answer. @throws what the store
   * throws.
   */
  readonly beat = singleFlight(() => this.#beat());

  /** False where everything was lost; true once it stands. */
  async hold(): Promise<boolean> {
    while (!this.stands) if (!(await this.beat())) return false;
    return true;
  }

  async #beat(): Promise<boolean> {
    const { store, clock, owner, leaseMs } = this.#parts;
    const askedAt = { now: clock.now(), elapsed: clock.elapsed() };
    const known = await store.beat(owner, askedAt.now, leaseMs);
    const isFirst = this.#toldAt === null;
    this.#toldAt = askedAt;
    if (!known && !isFirst) this.#lost();
    return known || isFirst;
  }
}

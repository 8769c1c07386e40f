/**
 * This kernel's registration in the store: the others take it for alive until a time that it has reported, and it holds
 * workflows under its name.
 *
 * Owns: the age of the last heartbeat, by the kernel's own clock: by the wall clock or by elapsed time, whichever is
 * more. A wall clock that is set back does not renew it, and a machine that slept has aged.
 * Never: holds a workflow; logs do.
 * 1.  A kernel whose lease has run out appends nothing, and continues from no append, before it has asked the store
 *     whether it is still registered.
 * 2.  A kernel that is no longer registered has lost all its workflows, and stops them before anything else continues.
 */
import { singleFlight } from "../../contract/single-flight.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";
import type { KernelClock } from "../actors/kernel-clock.ts";

/** Returns the interval of heartbeats and of the search for free workflows: two fall into the time of a lease. */
export const heartbeatMs = (leaseMs: number): number => Math.ceil(leaseMs / 3);

export interface RegistrationParts {
  readonly store: Pick<LedgerStore, "heartbeat">;
  readonly clock: Pick<KernelClock, "now" | "elapsed">;
  readonly owner: string;
  readonly leaseMs: number;
}

export class KernelRegistration {
  readonly owner: string;
  readonly leaseMs: number;
  readonly #parts: RegistrationParts;
  /** The instant of the last heartbeat. Before the first one there is nothing to lose. */
  #renewedAt: { readonly now: number; readonly elapsed: number } | null = null;
  #lost: () => void = () => undefined;

  constructor(parts: RegistrationParts) {
    this.#parts = parts;
    this.owner = parts.owner;
    this.leaseMs = parts.leaseMs;
  }

  onLost(listener: () => void): void {
    this.#lost = listener;
  }

  /** Returns whether no other process can have taken this kernel for dead. */
  get isValid(): boolean {
    return this.#renewedAt !== null && this.ageMs < this.leaseMs;
  }

  /** Returns the time since the last heartbeat, in ms; 0 before the first one. */
  get ageMs(): number {
    if (this.#renewedAt === null) return 0;
    const { clock } = this.#parts;
    return Math.max(clock.now() - this.#renewedAt.now, clock.elapsed() - this.#renewedAt.elapsed);
  }

  /** Sends a heartbeat; false if everything was lost. Simultaneous calls share one. @throws the store's error. */
  readonly renew = singleFlight(() => this.#renew());

  /** Makes sure that the registration is valid; false if everything was lost. */
  async confirm(): Promise<boolean> {
    while (!this.isValid) if (!(await this.renew())) return false;
    return true;
  }

  async #renew(): Promise<boolean> {
    const { store, clock, owner, leaseMs } = this.#parts;
    const askedAt = { now: clock.now(), elapsed: clock.elapsed() };
    const known = await store.heartbeat(owner, askedAt.now, leaseMs);
    const isFirst = this.#renewedAt === null;
    this.#renewedAt = askedAt;
    if (!known && !isFirst) this.#lost();
    return known || isFirst;
  }
}

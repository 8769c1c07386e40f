/**
 * The sweep for waits whose end is in the ledger: when the kernel starts, when a process is gone, and at each
 * heartbeat.
 *
 * Never: ends a wait itself. A sweep that fails is repeated at the next heartbeat.
 */
import { callAside } from "../contract/maybe-promise.ts";
import type { Timers } from "../engine/actors/timers.ts";
import { heartbeatMs } from "../engine/log/kernel-registration.ts";
import { type SweepParts, sweep } from "./outside-events.ts";

export interface SweepingParts extends SweepParts {
  readonly timers: Timers;
}

export class WaitSweep {
  readonly #parts: () => SweepingParts;
  /** The instant up to which events were looked at, epoch ms; 0 before the first sweep. */
  #sweptAt = 0;
  #isRunning = false;

  constructor(parts: () => SweepingParts) {
    this.#parts = parts;
  }

  /** Looks at all events that are kept, and from then on at new ones; resolves once each has been handed over. */
  async start(): Promise<void> {
    this.#isRunning = true;
    await this.#sweep();
    this.#arm();
  }

  /** Looks again at all events: a process may have died before it handed one over. */
  restart(): void {
    this.#sweptAt = 0;
    if (this.#isRunning) this.#run();
  }

  stop(): void {
    this.#isRunning = false;
  }

  #arm(): void {
    const { runtime, timers } = this.#parts();
    if (this.#isRunning)
      timers.upkeep("waits", runtime.clock.now() + heartbeatMs(runtime.limits.leaseMs), () => this.#run());
  }

  #run(): void {
    callAside(
      () => this.#sweep(),
      (error) => this.#report(error),
    );
    this.#arm();
  }

  #report(error: unknown): void {
    this.#sweptAt = 0;
    if (this.#isRunning) this.#parts().runtime.logger.error({ error }, "waits could not be looked at");
  }

  async #sweep(): Promise<void> {
    const { clock, limits } = this.#parts().runtime;
    const now = clock.now();
    // Events that came since the sweep before. Each is looked at twice, because clocks of processes differ.
    const since = this.#sweptAt - heartbeatMs(limits.leaseMs) + limits.eventTtlMs;
    const after = this.#sweptAt === 0 ? now : Math.max(now, since);
    this.#sweptAt = now;
    await sweep(this.#parts(), after);
  }
}

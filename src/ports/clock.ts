/**
 * The only source of time and of timers. INV-1 `setTimer` may be called with any delay; the host's limits are its own.
 */
export interface Clock {
  /** Epoch milliseconds. */
  readonly now: () => number;
  /**
   * Returns the milliseconds since any moment; it is never set back. Leases use it beside `now`; without it `now`
   * alone.
   */
  readonly elapsed?: () => number;
  /**
   * Runs `fire` once at or after `at` (epoch ms); the returned function cancels. A background timer keeps no process
   * alive.
   */
  readonly setTimer: (at: number, fire: () => void, background?: boolean) => () => void;
  /**
   * Sets a timer for the end of the time that a call may take; the call is under way until the timer is cancelled or
   * fires. A virtual clock lets the call end before it moves. The kernel uses `setTimer` if a clock has no `setLimit`.
   */
  readonly setLimit?: (at: number, fire: () => void) => () => void;
  /**
   * Sets a timer for upkeep: a heartbeat, or a look at what other processes may have written. A virtual clock may fire
   * it early, and late once in place of many times: it does not step through them. The kernel uses `setTimer` if a
   * clock has no `setUpkeep`.
   */
  readonly setUpkeep?: (at: number, fire: () => void, background?: boolean) => () => void;
}

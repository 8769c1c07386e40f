/** Time: the only source of it, and of timers. INV-1 `setTimer` may be asked for any delay; the host's limits are its own. */
export interface Clock {
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds since any moment, never set back. Leases are kept by it beside `now`; without it by `now` alone. */
  readonly elapsed?: () => number;
  /** Runs `fire` once at or after `at` (epoch ms); the returned function cancels. A background timer keeps no process alive. */
  readonly setTimer: (at: number, fire: () => void, background?: boolean) => () => void;
  /**
   * Sets a timer for the end of the time that a call may take; the call is under way until the timer is cancelled or fires. A
   * virtual clock lets the call end before it moves. The kernel uses `setTimer` where a clock has no `setLimit`.
   */
  readonly setLimit?: (at: number, fire: () => void) => () => void;
  /**
   * Sets a timer for upkeep: a beat of a lease, or a look at what other processes may have written. A virtual clock may fire
   * it early, and late once in place of many times: it does not step through them. The kernel uses `setTimer` where a clock has no `setUpkeep`.
   */
  readonly setUpkeep?: (at: number, fire: () => void, background?: boolean) => () => void;
}

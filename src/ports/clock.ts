/** Time: the only source of it, and of timers. INV-1 `setTimer` may be asked for any delay; the host's limits are its own. */
export interface Clock {
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds since any moment, never set back. Leases are kept by it beside `now`; without it by `now` alone. */
  readonly elapsed?: () => number;
  /** Runs `fire` once at or after `at` (epoch ms); the returned function cancels. A background timer keeps no process alive. */
  readonly setTimer: (at: number, fire: () => void, background?: boolean) => () => void;
}

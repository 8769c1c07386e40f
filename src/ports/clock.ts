/** Time: the only source of it, and of timers. INV-1 `setTimer` may be asked for any delay; the host's limits are its own. */
export interface Clock {
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Runs `fire` once at or after `at` (epoch ms); the returned function cancels. A background timer keeps no process alive. */
  readonly setTimer: (at: number, fire: () => void, background?: boolean) => () => void;
}

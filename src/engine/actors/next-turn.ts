/**
 * Waits for the next turn of the event loop.
 *
 * Owns: Node's own `setImmediate`, taken when this module is loaded. A test runner that replaces the global one by a
 * fake does not stop the kernel, because a turn waits for no time.
 */
import { setImmediate } from "node:timers";

/** Runs `next` in the next turn of the event loop. */
export const inNextTurn: (next: () => void) => void = setImmediate;

/** Resolves in the next turn of the event loop. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => inNextTurn(resolve));

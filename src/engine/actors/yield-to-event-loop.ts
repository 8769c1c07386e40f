/** How a long reading gives way to others. */
import { nextTurn } from "./next-turn.ts";

/** Between two pages of a long log: one turn of the event loop, so that requests, timers and leases do not wait for a reader. */
export const yieldToEventLoop = (): Promise<void> => nextTurn();

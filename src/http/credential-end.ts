/**
 * When a credential ends: what was opened with it, and is still being read, ends with it.
 *
 * Owns: the kinds of ends: an instant, a word of whoever knows, a question asked again. Never: knows what ends.
 * E1  What is told of an end is told once, and who forgets it is told no more: no timer and no listener is left.
 */
import type { Clock } from "../index.ts";

/** Is given what to run when the credential ends, at once if it has; gives what forgets it. */
export type Watch = (end: () => void) => () => void;

/** Ends at an instant, epoch ms. */
export const endingAt =
  (clock: Clock, at: number): Watch =>
  (end) =>
    clock.setTimer(at, end, true);

/** Asks again, every so often, whether it still stands; what fails to say so has ended. */
export const askedAgain =
  (clock: Clock, everyMs: number, stands: () => Promise<boolean>): Watch =>
  (end) => {
    let cancel = (): void => undefined;
    let isForgotten = false;
    const look = async (): Promise<void> => {
      const still = await stands().catch(() => false);
      if (isForgotten) return;
      if (still) arm();
      else end();
    };
    const arm = (): void => {
      cancel = clock.setTimer(clock.now() + everyMs, () => void look(), true);
    };
    arm();
    return () => {
      isForgotten = true;
      cancel();
    };
  };

export interface Enders {
  readonly watch: Watch;
  /** Runs all that waits. */
  readonly end: () => void;
}

/** Ends when it is said. */
export function createEnders(): Enders {
  const waiting = new Set<() => void>();
  let isOver = false;
  return {
    watch(end) {
      if (isOver) end();
      else waiting.add(end);
      return () => void waiting.delete(end);
    },
    end() {
      isOver = true;
      for (const end of [...waiting]) end();
      waiting.clear();
    },
  };
}

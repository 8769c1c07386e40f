/**
 * Answers of policy in a replay, each held back until its decision is what the record has next: what runs side by side
 * meets in the order it met in.
 */
import type { LedgerEvent } from "./contract/event.ts";
import type { Door } from "./runtime/define-tier.ts";
import type { RecordedSource } from "./runtime/recorded-source.ts";

interface Held {
  readonly sequence: number;
  readonly release: () => void;
}

export class AnswersInTurn {
  #held: Held[] = [];

  /** A door of T5 whose answers wait for their turn. */
  inTurn(handle: Door["handle"], source: RecordedSource): Door["handle"] {
    return (signal, kit) => {
      const decided = source.takeAsked();
      const answer = handle(signal, kit);
      if (decided === null || decided.sequence === source.next?.sequence) return answer;
      const { sequence } = decided;
      const turn = new Promise<void>((release) => this.#held.push({ sequence, release }));
      return turn.then(() => answer);
    };
  }

  /** The record has come to this event. */
  reach({ sequence }: LedgerEvent): void {
    const due = this.#held.filter((held) => held.sequence <= sequence);
    this.#held = this.#held.filter((held) => held.sequence > sequence);
    for (const { release } of due) release();
  }

  /** Nothing else can happen: the first in line is let go before its turn. False when none waits. */
  releaseFirst(): boolean {
    const [first] = this.#held.sort((a, b) => a.sequence - b.sequence);
    if (first === undefined) return false;
    this.#held.shift();
    first.release();
    return true;
  }
}

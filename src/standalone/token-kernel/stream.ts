/**
 * The events of a token kernel as they are recorded.
 *
 * Owns: virtual time, the running hash, and the text. Never: whether an event may happen (the core asks the chart).
 * 1.  Time is the position in the stream: 1, 2, 3 …
 * 2.  What was recorded is frozen.
 */
import { deepFreeze } from "../../contract/json.ts";
import { type TokenEvent, tokenEventToJson } from "../../contract/token.ts";
import { hashEvents } from "../../contract/token-snapshot.ts";

/** The numbers of tokens by their ends since `run` was called; `waiting` counts those still in the queue. */
export interface RunSummary {
  readonly completed: number;
  readonly failed: number;
  readonly yielded: number;
  readonly refused: number;
  readonly cancelled: number;
  readonly waiting: number;
}

export class TokenStream {
  readonly #events: TokenEvent[] = [];
  #hash = hashEvents([]);

  get events(): readonly TokenEvent[] {
    return this.#events;
  }

  /** Returns the hash of everything recorded so far. */
  get hash(): string {
    return this.#hash;
  }

  record(event: Omit<TokenEvent, "timestamp">): void {
    const recorded = deepFreeze(tokenEventToJson({ ...event, timestamp: this.#events.length + 1 }));
    this.#events.push(recorded);
    this.#hash = hashEvents([recorded], this.#hash);
  }

  toJsonl(): string {
    return this.#events.map((event) => JSON.stringify(event)).join("\n");
  }

  summarize(from: number, waiting: number): RunSummary {
    const since = this.#events.slice(from);
    const count = (has: (event: TokenEvent) => boolean): number => since.filter(has).length;
    const failed = count(({ kind, detail }) => kind === "completed" && detail["status"] === "failed");
    return {
      completed: count(({ kind }) => kind === "completed") - failed,
      failed,
      yielded: count(({ kind }) => kind === "yielded"),
      refused: count(({ kind }) => kind.endsWith("_violation")),
      cancelled: count(({ label }) => label === "dependency_cancelled"),
      waiting,
    };
  }
}

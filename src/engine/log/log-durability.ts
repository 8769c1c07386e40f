/**
 * The position up to which a workflow's log is durable, if it lags behind the committed one (`durability: "effects"`).
 *
 * Never: commits anything; a sync covers rows that were committed before it began.
 */
import type { LogServices } from "./log-services.ts";

interface Hearer {
  readonly synced: () => void;
  readonly failed: (error: unknown) => void;
}

export class LogDurability {
  readonly #services: Pick<LogServices, "writer" | "mayBeLazy">;
  readonly #hearer: Hearer;
  #durable = 0;
  #syncing = false;

  constructor(services: Pick<LogServices, "writer" | "mayBeLazy">, hearer: Hearer) {
    this.#services = services;
    this.#hearer = hearer;
  }

  /** Returns whether a power cut can remove the event with this sequence. */
  isBehind(sequence: number): boolean {
    return this.#durable < sequence;
  }

  /** Records that the log was read: only a sync makes sure that rows of other processes are durable. */
  read(confirmed: number): void {
    this.#durable = this.#services.mayBeLazy ? 0 : confirmed;
  }

  committed(confirmed: number, lazy: boolean): void {
    if (!lazy) this.#durable = confirmed;
  }

  /** Makes the committed rows durable. */
  sync(confirmed: number): void {
    if (this.#syncing) return;
    this.#syncing = true;
    const synced = (): void => {
      this.#syncing = false;
      this.#durable = Math.max(this.#durable, confirmed);
      this.#hearer.synced();
    };
    this.#services.writer.sync().then(synced, this.#hearer.failed);
  }
}

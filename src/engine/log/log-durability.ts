/**
 * Up to where a workflow's log is durable, where that is not up to where it is committed (`durability: "effects"`).
 *
 * Never: commits anything; what a sync covers was committed before it began.
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

  /** Returns whether a power cut can take back what stands at this sequence. */
  isBehind(sequence: number): boolean {
    return this.#durable < sequence;
  }

  /** The log was read: whether what others committed is durable, only a sync says. */
  read(confirmed: number): void {
    this.#durable = this.#services.mayBeLazy ? 0 : confirmed;
  }

  committed(confirmed: number, lazy: boolean): void {
    if (!lazy) this.#durable = confirmed;
  }

  /** Has what is committed made durable. */
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

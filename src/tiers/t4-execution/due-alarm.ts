/**
 * The alarm of a workflow that is awake: it fires once when the next thing of the workflow falls due.
 *
 * Never: decides what falls due, or what follows from it.
 */
import type { Timers } from "../../engine/actors/timers.ts";

export class DueAlarm {
  readonly #name: string;
  readonly #timers: Pick<Timers, "alarm">;
  readonly #fire: () => void;
  #setFor: number | null = null;

  constructor(workflowId: string, timers: Pick<Timers, "alarm">, fire: () => void) {
    this.#name = `due:${workflowId}`;
    this.#timers = timers;
    this.#fire = (): void => {
      this.#setFor = null;
      fire();
    };
  }

  /** @param at epoch ms; null where nothing falls due. */
  set(at: number | null): void {
    if (at === this.#setFor) return;
    this.#setFor = at;
    this.#timers.alarm(this.#name, at, this.#fire, false);
  }
}

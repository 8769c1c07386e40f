/**
 * The embedded host: workflows are driven by default in the process that made the kernel.
 *
 * Owns: taking up what nobody holds, waking what falls due, folding again what was lost.
 * Never: decides anything about a workflow.
 * 1.  Recovery takes only what nobody holds.
 * 2.  `stop` leaves no timer behind.
 */
import { callAside } from "../../contract/maybe-promise.ts";
import { beatMs } from "../../engine/log/own-life.ts";
import type { Host, HostWork, Rested } from "../../ports/host.ts";
import type { TakeUpKind } from "../../ports/ledger-store.ts";

const page = 256;
const foldAgainAfterMs = 1000;

export class EmbeddedHost implements Host {
  readonly #work: HostWork;
  #stopped = false;
  /** When the due alarm fires; null when it is not armed. */
  #armedFor: number | null = null;

  constructor(work: HostWork) {
    this.#work = work;
  }

  /**
   * Takes up unfinished workflows that nobody holds, and what is due of those that rest; resolves when each has been woken.
   * From then on the times of all that rests are kept here too: the process that left it may be gone.
   */
  async start(): Promise<void> {
    this.#armRecovery();
    await this.#takeUp("abandoned");
    await this.#fireDue();
  }

  freed(): void {
    this.#attempt(() => this.start(), "what a process left could not be taken up")();
  }

  /** A page at a time, until nothing is found but what was found before: that cannot move now. */
  async #takeUp(kind: TakeUpKind): Promise<void> {
    const seen = new Set<string>();
    for (let before = -1; seen.size > before && !this.#stopped; ) {
      before = seen.size;
      for (const id of await this.#work.takeUp(kind, page)) seen.add(id);
    }
  }

  /** What falls due is kept, a lost one is folded again. */
  rested({ workflow_id, due_at, lost }: Rested): void {
    if (this.#stopped) return;
    if (lost) this.#foldAgain(workflow_id);
    if (due_at !== null) this.#armBy(this.#ahead(due_at));
  }

  stop(): void {
    this.#stopped = true;
  }

  async ended(): Promise<void> {}

  #attempt(work: () => Promise<unknown>, failure: string): () => void {
    return () => callAside(work, (error) => this.#work.logger.error({ error }, failure));
  }

  /** An alarm that is armed for sooner stays. */
  #armBy(at: number | null): void {
    if (this.#armedFor === null || (at !== null && at < this.#armedFor)) this.#armFor(at);
  }

  #armFor(at: number | null): void {
    this.#armedFor = at;
    this.#work.alarm(
      "due",
      at,
      this.#attempt(() => this.#fireDue(), "due workflows could not be read"),
      false,
    );
  }

  async #fireDue(): Promise<void> {
    if (this.#stopped) return;
    this.#armedFor = null;
    await this.#takeUp("due");
    const next = await this.#work.store.nextDue();
    // What came to rest meanwhile may be due sooner than what was read, and has its alarm.
    if (!this.#stopped) this.#armBy(this.#ahead(next));
  }

  /** What is due though it has just been looked at cannot move now: it is looked at again after a pause, not at once. */
  #ahead(due: number | null): number | null {
    const now = this.#work.clock.now();
    return due === null || due > now ? due : now + this.#work.limits.tailPollMs;
  }

  /** What a dead process held is free only once its time has run out, so recovery looks again and again. */
  #armRecovery(): void {
    const { upkeep, clock, limits } = this.#work;
    if (this.#stopped) return;
    upkeep(
      "recovery",
      clock.now() + beatMs(limits.leaseMs),
      this.#attempt(() => this.start(), "abandoned workflows could not be read"),
    );
  }

  /** Until it works: the ledger may be away for a while. */
  #foldAgain(workflowId: string, pauseMs = foldAgainAfterMs): void {
    if (this.#stopped) return;
    const { alarm, clock, wake, limits } = this.#work;
    const again = (): Promise<void> =>
      wake(workflowId).catch((error: unknown) => {
        this.#foldAgain(workflowId, Math.min(2 * pauseMs, limits.foldAgainMs));
        throw error;
      });
    alarm(
      `again:${workflowId}`,
      clock.now() + pauseMs,
      this.#attempt(again, "a lost workflow could not be folded again"),
      false,
    );
  }
}

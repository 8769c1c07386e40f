/**
 * The embedded host: workflows are driven by default in the process that made the kernel.
 *
 * Owns: taking up free workflows, waking due ones, folding failed ones again.
 * Never: decides anything about a workflow.
 * 1.  Recovery takes only workflows that nobody holds.
 * 2.  `stop` leaves no timer behind.
 */
import { neverDue } from "../../contract/instant.ts";
import { callAside } from "../../contract/maybe-promise.ts";
import { heartbeatMs } from "../../engine/log/kernel-registration.ts";
import type { Host, HostWork, Rested } from "../../ports/host.ts";
import type { TakeUpKind } from "../../ports/ledger-store.ts";

const page = 256;
const foldAgainAfterMs = 1000;

export class EmbeddedHost implements Host {
  readonly #work: HostWork;
  #stopped = false;
  /** The looks at the queues that were asked for since the one under way began; 0 if none is. */
  #looks = 0;
  /** The instant at which the due alarm fires; null when it is not armed. */
  #armedFor: number | null = null;

  constructor(work: HostWork) {
    this.#work = work;
  }

  /**
   * Takes up unfinished workflows that nobody holds, and due ones among the parked; resolves when each has been woken.
   * From then on the times of all parked workflows are kept here too, because the process that parked them may be gone.
   */
  async start(): Promise<void> {
    this.#armRecovery();
    await this.#takeUp("abandoned");
    await this.#takeUp("freed");
    await this.#serveQueues();
    await this.#fireDue();
  }

  freed(): void {
    this.#attempt(() => this.start(), "what a process left could not be taken up")();
  }

  /** Takes up a page at a time, until it finds only workflows that it found before, which cannot move now. */
  async #takeUp(kind: TakeUpKind): Promise<void> {
    const seen = new Set<string>();
    for (let before = -1; seen.size > before && !this.#stopped; ) {
      before = seen.size;
      for (const id of await this.#work.takeUp(kind, page)) seen.add(id);
    }
  }

  /** Takes up whose turn has come in a queue. Whatever asks for it meanwhile is one further look. */
  async #serveQueues(): Promise<void> {
    this.#looks += 1;
    if (this.#looks > 1) return;
    try {
      for (let seen = 0; seen < this.#looks; ) {
        seen = this.#looks;
        await this.#takeUp("queued");
        this.#armQueues(await this.#work.store.nextAdmission(this.#work.clock.now()));
      }
    } finally {
      this.#looks = 0;
    }
  }

  /** Arms the look at the queues for the instant at which the rate of one lets the next workflow begin. */
  #armQueues(at: number | null): void {
    if (this.#stopped) return;
    const look = this.#attempt(() => this.#serveQueues(), "queues could not be served");
    this.#work.alarm("queues", at, look, false);
  }

  /** Keeps the due time of a parked workflow, and folds a failed one again. */
  rested({ workflow_id, due_at, lost, queued }: Rested): void {
    if (this.#stopped) return;
    if (queued) this.#attempt(() => this.#serveQueues(), "queues could not be served")();
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

  /** Arms the alarm; one that is armed for an earlier time stays. */
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
    const from = this.#work.clock.now();
    await this.#takeUp("due");
    const next = await this.#work.store.nextDue(this.#work.elsewhere);
    // A workflow that was parked meanwhile may be due sooner than those that were read, and has its own alarm.
    if (!this.#stopped) this.#armBy(this.#ahead(next, from));
  }

  /**
   * Returns the time of the next look. A workflow that is due although it was just examined cannot move now: it is
   * examined again after a pause, not at once. One that fell due after `examined` has not been.
   */
  #ahead(due: number | null, examined = this.#work.clock.now()): number | null {
    if (due === null || due === neverDue) return null;
    return due > examined ? due : this.#work.clock.now() + this.#work.limits.tailPollMs;
  }

  /** Arms repeated recovery, because the workflows of a dead process are free only once its lease has run out. */
  #armRecovery(): void {
    const { upkeep, clock, limits } = this.#work;
    if (this.#stopped) return;
    upkeep(
      "recovery",
      clock.now() + heartbeatMs(limits.leaseMs),
      this.#attempt(() => this.start(), "abandoned workflows could not be read"),
    );
  }

  /** Folds a workflow again until it succeeds, because the ledger may be unavailable for a while. */
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

/**
 * The embedded host: where turns run by default, in the process that made the kernel.
 *
 * Owns: taking up what nobody holds, waking what falls due, keeping leases alive, noticing what other processes wrote.
 * Never: decides anything about a workflow.
 * H1  Recovery takes only what nobody holds.
 * H2  `stop` leaves no timer behind.
 */
import type { Clock } from "../../ports/clock.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";
import type { Logger } from "../../ports/telemetry.ts";
import type { Timers } from "../../runtime/timers.ts";
import type { WorkflowLog } from "../../runtime/workflow-log.ts";

export interface EmbeddedHostOptions {
  readonly store: LedgerStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly leaseMs: number;
  readonly tailPollMs: number;
  /** The longest pause before a lost workflow is folded again. */
  readonly foldAgainMs: number;
  /** Wakes a workflow and lets it go on. */
  readonly wake: (workflowId: string) => Promise<void>;
  /** Logs that are awake here. */
  readonly logs: () => readonly WorkflowLog[];
  /** Something was appended by another process to a workflow that is awake here. */
  readonly onForeign: (log: WorkflowLog) => void;
}

const page = 256;
const foldAgainAfterMs = 1000;

export class EmbeddedHost {
  readonly #options: EmbeddedHostOptions;
  #stopped = false;
  #watching = false;
  /** When the due alarm fires; null when it is not armed. */
  #armedFor: number | null = null;

  constructor(options: EmbeddedHostOptions) {
    this.#options = options;
  }

  /** Takes up unfinished workflows that nobody holds; resolves to their number when each has been woken. */
  async recover(): Promise<number> {
    const { store, clock } = this.#options;
    this.#armRecovery();
    const seen = new Set<string>();
    for (;;) {
      const found = (await store.abandoned(clock.now(), page)).filter((h) => !seen.has(h.workflow_id));
      for (const { workflow_id } of found) seen.add(workflow_id);
      if (found.length === 0 || this.#stopped) return seen.size;
      await this.#wakeAll(found.map((h) => h.workflow_id));
    }
  }

  /** Looks again at when the next resting workflow falls due. */
  async armDue(): Promise<void> {
    if (this.#stopped) return;
    const next = await this.#options.store.nextDue();
    if (!this.#stopped) this.#armFor(next);
  }

  /** Renews leases and watches for foreign appends while anything is awake. */
  watch(): void {
    if (this.#stopped || this.#watching) return;
    this.#watching = true;
    const { timers, clock, leaseMs } = this.#options;
    timers.alarm(
      "leases",
      clock.now() + leaseMs / 3,
      this.#attempt(() => this.#renew(), "leases could not be renewed"),
    );
    this.#armLook();
  }

  /** A workflow has left memory: its due time is kept, its lease given up, a lost one is folded again. */
  rested(log: WorkflowLog): void {
    if (this.#stopped) return;
    this.#foldAgain(log);
    const { due, lease, lost, identity } = log;
    if (due !== null && (this.#armedFor === null || due < this.#armedFor)) this.#armFor(due);
    if (lease === null || lost !== null) return;
    this.#attempt(() => this.#options.store.release(identity.workflow_id, lease), "a lease could not be given up")();
  }

  stop(): void {
    this.#stopped = true;
    this.#options.timers.clear();
  }

  #attempt(work: () => Promise<unknown>, failure: string): () => void {
    return () => void work().catch((error: unknown) => this.#options.logger.error({ error }, failure));
  }

  async #wakeAll(ids: readonly string[]): Promise<void> {
    const { wake, logger } = this.#options;
    const failed = (workflow_id: string) => (error: unknown) =>
      logger.error({ error, workflow_id }, "a workflow could not be taken up");
    await Promise.all(ids.map((id) => wake(id).catch(failed(id))));
  }

  #armFor(at: number | null): void {
    this.#armedFor = at;
    this.#options.timers.alarm(
      "due",
      at,
      this.#attempt(() => this.#fireDue(), "due workflows could not be read"),
      false,
    );
  }

  async #fireDue(): Promise<void> {
    if (this.#stopped) return;
    this.#armedFor = null;
    const due = await this.#options.store.due(this.#options.clock.now(), page);
    await this.#wakeAll(due.map((h) => h.workflow_id));
    await this.armDue();
  }

  /** What a dead process held is free only once its lease has run out, so recovery looks again after each lease. */
  #armRecovery(): void {
    const { timers, clock, leaseMs } = this.#options;
    if (this.#stopped) return;
    timers.alarm(
      "recovery",
      clock.now() + leaseMs,
      this.#attempt(() => this.recover(), "abandoned workflows could not be read"),
    );
  }

  async #renew(): Promise<void> {
    this.#watching = false;
    const logs = this.#options.logs();
    if (logs.length === 0 || this.#stopped) return;
    this.watch();
    await renewLeases(this.#options, logs);
  }

  #armLook(): void {
    const { timers, clock, tailPollMs } = this.#options;
    timers.alarm(
      "tail",
      clock.now() + tailPollMs,
      this.#attempt(() => this.#look(), "the ledger's tail could not be read"),
    );
  }

  async #look(): Promise<void> {
    const logs = this.#options.logs();
    if (logs.length === 0 || this.#stopped) return;
    for (const log of logs) if (await log.refresh().catch(() => false)) this.#options.onForeign(log);
    if (!this.#stopped) this.#armLook();
  }

  /** Until it works: the ledger may be away for a while. */
  #foldAgain(log: WorkflowLog, pauseMs = foldAgainAfterMs): void {
    const { workflow_id } = log.identity;
    // Whose first event was not kept, of that there is nothing to fold.
    if (this.#stopped || log.lost === null || log.confirmed === 0 || log.lost.code === "T4_WORKFLOW_LEASED") return;
    const { timers, clock, wake, foldAgainMs } = this.#options;
    const again = (): Promise<void> =>
      wake(workflow_id).catch((error: unknown) => {
        this.#foldAgain(log, Math.min(2 * pauseMs, foldAgainMs));
        throw error;
      });
    timers.alarm(
      `again:${workflow_id}`,
      clock.now() + pauseMs,
      this.#attempt(again, "a lost workflow could not be folded again"),
      false,
    );
  }
}

async function renewLeases(
  { store, clock, leaseMs }: EmbeddedHostOptions,
  logs: readonly WorkflowLog[],
): Promise<void> {
  const held = logs.flatMap((log) =>
    log.lease === null || log.lost !== null ? [] : [{ workflow_id: log.identity.workflow_id, lease: log.lease }],
  );
  await store.renew(held, clock.now(), leaseMs);
}

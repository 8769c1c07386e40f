/**
 * The embedded host: where turns run by default, in the process that made the kernel.
 *
 * Owns: taking up what nobody holds, waking what falls due, keeping leases alive, noticing what other processes wrote.
 * Never: decides anything about a workflow.
 * H1  Recovery takes only what nobody holds.
 * H2  `stop` leaves no timer behind.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Clock } from "../../ports/clock.ts";
import type { LedgerStore, WorkflowHead } from "../../ports/ledger-store.ts";
import type { Logger } from "../../ports/telemetry.ts";
import { letOthersRun } from "../../runtime/let-others-run.ts";
import type { Timers } from "../../runtime/timers.ts";
import type { WorkflowLog } from "../../runtime/workflow-log.ts";

export interface EmbeddedHostOptions {
  readonly store: LedgerStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly owner: string;
  readonly leaseMs: number;
  readonly tailPollMs: number;
  /** The longest pause before a lost workflow is folded again. */
  readonly foldAgainMs: number;
  /** Wakes a workflow and lets it go on. */
  readonly wake: (workflowId: string) => Promise<void>;
  /** Logs that are awake here. */
  readonly logs: () => readonly WorkflowLog[];
  /** Another process has committed something. */
  readonly onNews: () => void;
  /** Something was appended by another process to a workflow that is awake here. */
  readonly onForeign: (log: WorkflowLog) => void;
  /** Another process has taken a workflow that is awake here: its log is lost, its work must stop. */
  readonly onLeaseLost: (log: WorkflowLog) => void;
}

const leaseRef = moduleRef(4, "embedded_host", "renew");
const page = 256;
const foldAgainAfterMs = 1000;
/** Logs that are looked at before others run. */
const atOnce = 16;

export class EmbeddedHost {
  readonly #options: EmbeddedHostOptions;
  #stopped = false;
  #watching = false;
  /** When the due alarm fires; null when it is not armed. */
  #armedFor: number | null = null;

  constructor(options: EmbeddedHostOptions) {
    this.#options = options;
  }

  /**
   * Takes up unfinished workflows that nobody holds, and what is due of those that rest; resolves when each has been woken.
   * From then on the times of all that rests are kept here too: the process that left it may be gone.
   */
  async recover(): Promise<void> {
    this.#armRecovery();
    await this.#takeUp((now, limit) => this.#options.store.abandoned(now, limit));
    await this.#fireDue();
  }

  /** Makes this process known to the others, where the store can: they go on with what is left of it, and it with theirs. */
  async follow(): Promise<void> {
    const { store, owner } = this.#options;
    const recover = this.#attempt(() => this.recover(), "what a process left could not be taken up");
    await store.follow?.(owner, { committed: (streams) => this.#heard(streams), gone: recover });
  }

  #heard(streams: readonly string[]): void {
    if (this.#stopped) return;
    const { logs, onNews } = this.#options;
    onNews();
    const named = new Set(streams);
    const awake = logs().filter(({ identity }) => named.has(identity.workflow_id));
    this.#attempt(() => this.#refresh(awake), "what was committed elsewhere could not be read")();
  }

  /** Wakes all that are found, a page at a time. Who has been woken may not have claimed yet and is then found again. */
  async #takeUp(find: (now: number, limit: number) => Promise<readonly WorkflowHead[]>): Promise<void> {
    const seen = new Set<string>();
    for (;;) {
      const found = await find(this.#options.clock.now(), page + seen.size);
      const fresh = found.map((h) => h.workflow_id).filter((id) => !seen.has(id));
      if (fresh.length === 0 || this.#stopped) return;
      for (const id of fresh) seen.add(id);
      await this.#wakeAll(fresh);
    }
  }

  /** Renews leases and watches for foreign appends while anything is awake. */
  watch(): void {
    if (this.#stopped || this.#watching) return;
    this.#watching = true;
    this.#armRenew();
    this.#armLook();
  }

  /** A workflow has left memory: its due time is kept, its lease given up, a lost one is folded again. */
  rested(log: WorkflowLog): void {
    if (this.#stopped) return;
    this.#foldAgain(log);
    const { due, lease, lost, identity } = log;
    const at = this.#ahead(due);
    if (at !== null && (this.#armedFor === null || at < this.#armedFor)) this.#armFor(at);
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
    await this.#takeUp((now, limit) => this.#options.store.due(now, limit));
    const next = await this.#options.store.nextDue();
    if (!this.#stopped) this.#armFor(this.#ahead(next));
  }

  /** What is due though it has just been looked at cannot move now: it is looked at again after a pause, not at once. */
  #ahead(due: number | null): number | null {
    const now = this.#options.clock.now();
    return due === null || due > now ? due : now + this.#options.tailPollMs;
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

  /** False when nothing is awake: both alarms rest then, and the next commit arms both. */
  #keepsWatching(): boolean {
    if (!this.#stopped && this.#options.logs().length > 0) return true;
    this.#watching = false;
    for (const name of ["leases", "tail"]) this.#options.timers.alarm(name, null, () => undefined);
    return false;
  }

  #armRenew(): void {
    const { timers, clock, leaseMs } = this.#options;
    timers.alarm(
      "leases",
      clock.now() + leaseMs / 3,
      this.#attempt(() => this.#renew(), "leases could not be renewed"),
    );
  }

  async #renew(): Promise<void> {
    if (!this.#keepsWatching()) return;
    this.#armRenew();
    const { logs, onLeaseLost } = this.#options;
    for (const log of await takenLogs(this.#options, logs())) {
      log.abandon(kernelError("T4_WORKFLOW_LEASED", "another process owns this workflow", leaseRef));
      onLeaseLost(log);
    }
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
    if (!this.#keepsWatching()) return;
    await this.#refresh(this.#options.logs());
    if (this.#watching && !this.#stopped) this.#armLook();
  }

  async #refresh(logs: readonly WorkflowLog[]): Promise<void> {
    for (const [i, log] of logs.entries()) {
      if (i > 0 && i % atOnce === 0) await letOthersRun();
      if (await log.refresh().catch(() => false)) this.#options.onForeign(log);
    }
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

/** Renews the leases of these logs; gives those whose workflow somebody else has claimed since. */
async function takenLogs(
  { store, clock, leaseMs }: EmbeddedHostOptions,
  logs: readonly WorkflowLog[],
): Promise<readonly WorkflowLog[]> {
  const held = logs.flatMap((log) =>
    log.lease === null || log.lost !== null ? [] : [{ log, workflow_id: log.identity.workflow_id, lease: log.lease }],
  );
  const leases = held.map(({ workflow_id, lease }) => ({ workflow_id, lease }));
  const askedAt = clock.now();
  const kept = new Set(await store.renew(leases, askedAt, leaseMs));
  const taken: WorkflowLog[] = [];
  for (const { log, workflow_id, lease } of held) {
    if (kept.has(workflow_id) && log.lease?.epoch === lease.epoch) log.keepLease(askedAt);
    if (kept.has(workflow_id)) continue;
    // A lease that the log itself has given up meanwhile has the epoch it had.
    const head = await store.head(workflow_id);
    if (head?.epoch !== lease.epoch && log.lease?.epoch === lease.epoch && log.lost === null) taken.push(log);
  }
  return taken;
}

/**
 * What a process keeps up while workflows are awake in it, wherever they are driven from: their leases, and a look at what
 * other processes wrote.
 *
 * Owns: renewal, the tail's alarm, the bell. Never: wakes a workflow, decides anything about one.
 * K1  Both alarms rest while nothing is awake; the next commit arms them.
 * K2  Who has lost a lease hears it before anything else of its workflow is begun here.
 */
import { kernelError } from "../contract/error-codes.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { Clock } from "../ports/clock.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import type { Logger } from "../ports/telemetry.ts";
import { letOthersRun } from "./let-others-run.ts";
import type { Timers } from "./timers.ts";
import type { WorkflowLog } from "./workflow-log.ts";

export interface LeaseKeeperOptions {
  readonly store: LedgerStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly owner: string;
  readonly leaseMs: number;
  readonly tailPollMs: number;
  /** Logs that are awake here. */
  readonly logs: () => readonly WorkflowLog[];
  /** Another process has committed something. */
  readonly onNews: () => void;
  /** Another process is gone: what it held is free. */
  readonly onGone: () => void;
  /** Something was appended by another process to a workflow that is awake here. */
  readonly onForeign: (log: WorkflowLog) => void;
  /** Another process has taken a workflow that is awake here: its log is lost, its work must stop. */
  readonly onLeaseLost: (log: WorkflowLog) => void;
}

const leaseRef = moduleRef(4, "lease_keeper", "renew");
/** Logs that are looked at before others run. */
const atOnce = 16;

export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  #stopped = false;
  #watching = false;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  /** Makes this process known to the others, where the store can: they go on with what is left of it, and it with theirs. */
  async follow(): Promise<void> {
    const { store, owner, onGone } = this.#options;
    await store.follow?.(owner, { committed: (streams) => this.#heard(streams), gone: onGone });
  }

  #heard(streams: readonly string[]): void {
    if (this.#stopped) return;
    const { logs, onNews } = this.#options;
    onNews();
    const named = new Set(streams);
    const awake = logs().filter(({ identity }) => named.has(identity.workflow_id));
    this.#attempt(() => this.#refresh(awake), "what was committed elsewhere could not be read")();
  }

  /** Renews leases and watches for foreign appends while anything is awake. */
  watch(): void {
    if (this.#stopped || this.#watching) return;
    this.#watching = true;
    this.#armRenew();
    this.#armLook();
  }

  /** A workflow has left memory: its lease is given up. */
  rested({ lease, lost, identity }: WorkflowLog): void {
    if (this.#stopped || lease === null || lost !== null) return;
    this.#attempt(() => this.#options.store.release(identity.workflow_id, lease), "a lease could not be given up")();
  }

  stop(): void {
    this.#stopped = true;
  }

  #attempt(work: () => Promise<unknown>, failure: string): () => void {
    return () => void work().catch((error: unknown) => this.#options.logger.error({ error }, failure));
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
}

/** Renews the leases of these logs; gives those whose workflow somebody else has claimed since. */
async function takenLogs(
  { store, clock, leaseMs }: LeaseKeeperOptions,
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

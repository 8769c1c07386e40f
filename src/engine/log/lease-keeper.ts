/**
 * What a process keeps up while workflows are awake in it, wherever they are driven from: that it is known to live, and a look
 * at what other processes wrote.
 *
 * Owns: the beat's and the tail's alarm, the wake-up. Never: wakes a workflow, decides anything about one.
 * 1.  Both alarms rest while nothing is awake; the next commit arms them.
 * 2.  Who has lost a lease hears it before anything else of its workflow is begun here.
 * 3.  What is held here and not worked on, whatever became of it, is given back.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { callAside } from "../../contract/maybe-promise.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Clock } from "../../ports/clock.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";
import type { Logger } from "../../ports/telemetry.ts";
import type { Timers } from "../actors/timers.ts";
import { yieldToEventLoop } from "../actors/yield-to-event-loop.ts";
import { beatMs, type OwnLife } from "./own-life.ts";
import type { WorkflowLog } from "./workflow-log.ts";

export interface LeaseKeeperOptions {
  readonly store: LedgerStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly life: OwnLife;
  readonly tailPollMs: number;
  /** Logs that are awake here. */
  readonly logs: () => readonly WorkflowLog[];
  /** Another process has committed something. */
  readonly onUpdate: () => void;
  /** Another process is gone: what it held is free. */
  readonly onGone: () => void;
  /** Another process has taken a workflow that is awake here: its log is lost, its work must stop. */
  readonly onLeaseLost: (log: WorkflowLog) => void;
}

const leaseRef = moduleRef(4, "lease_keeper", "beat");
const notTold = "the store could not be told that this process lives";
/** Logs that are looked at before others run. */
const atOnce = 16;

export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  #stopped = false;
  #watching = false;
  /** The workflows that were held here at the last look though nothing works on them, by epoch. */
  #strays: ReadonlyMap<string, number> = new Map();

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
    options.life.onLost(() => this.#loseAll());
  }

  /** Makes this process known to the others: they go on with what is left of it, and it with theirs. */
  async follow(): Promise<void> {
    const { store, life, onGone } = this.#options;
    const ask = this.#attempt(() => life.beat(), notTold);
    const gone = (owner: string): void => (owner === life.owner ? ask() : onGone());
    await store.follow?.(life.owner, { committed: (streams) => this.#heard(streams), gone });
    await life.beat();
  }

  /** Gives back what is held without work at two looks: a workflow that was taken up just now is not awake yet. */
  async giveBack(): Promise<void> {
    const { store, life, logs } = this.#options;
    const held = await store.held(life.owner);
    const awake = new Set(logs().map(({ identity }) => identity.workflow_id));
    const idle = held.filter(({ workflow_id }) => !awake.has(workflow_id));
    const again = idle.filter(({ workflow_id, epoch }) => this.#strays.get(workflow_id) === epoch);
    this.#strays = new Map(idle.map(({ workflow_id, epoch }) => [workflow_id, epoch]));
    for (const { workflow_id, epoch } of again) await store.release(workflow_id, { owner: life.owner, epoch });
  }

  #heard(streams: readonly string[]): void {
    if (this.#stopped) return;
    const { logs, onUpdate } = this.#options;
    onUpdate();
    const named = new Set(streams);
    const awake = logs().filter(({ identity }) => named.has(identity.workflow_id));
    this.#attempt(() => this.#refresh(awake), "what was committed elsewhere could not be read")();
  }

  /** Says that this process lives and watches for foreign appends while anything is awake. */
  watch(): void {
    if (this.#stopped || this.#watching) return;
    this.#watching = true;
    this.#armBeat();
    this.#armUpkeep();
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
    return () => callAside(work, (error) => this.#options.logger.error({ error }, failure));
  }

  /** False when nothing is awake: both alarms rest then, and the next commit arms both. */
  #keepsWatching(): boolean {
    if (!this.#stopped && this.#options.logs().length > 0) return true;
    this.#watching = false;
    for (const name of ["beat", "tail"]) this.#options.timers.alarm(name, null, () => undefined);
    return false;
  }

  #armBeat(): void {
    const { timers, clock, life } = this.#options;
    timers.upkeep(
      "beat",
      clock.now() + beatMs(life.leaseMs),
      this.#attempt(() => this.#beat(), notTold),
    );
  }

  async #beat(): Promise<void> {
    if (!this.#keepsWatching()) return;
    this.#armBeat();
    await this.#options.life.beat();
  }

  /** Another process has taken this one for dead. */
  #loseAll(): void {
    const { logs, onLeaseLost } = this.#options;
    for (const log of logs().filter(({ mayBeHeld }) => mayBeHeld)) {
      log.abandon(kernelError("T4_WORKFLOW_LEASED", "another process owns this workflow", leaseRef));
      onLeaseLost(log);
    }
  }

  #armUpkeep(): void {
    const { timers, clock, tailPollMs } = this.#options;
    timers.upkeep(
      "tail",
      clock.now() + tailPollMs,
      this.#attempt(() => this.#look(), "the ledger's tail could not be read"),
    );
  }

  async #look(): Promise<void> {
    if (!this.#keepsWatching()) return;
    await this.#refresh(this.#options.logs());
    if (this.#watching && !this.#stopped) this.#armUpkeep();
  }

  async #refresh(logs: readonly WorkflowLog[]): Promise<void> {
    for (const [i, log] of logs.entries()) {
      if (i > 0 && i % atOnce === 0) await yieldToEventLoop();
      await log.refresh().catch(() => undefined);
    }
  }
}

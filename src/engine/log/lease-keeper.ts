/**
 * The upkeep of a process while workflows are awake in it, whatever drives them: its heartbeat, and a look for rows of
 * other processes.
 *
 * Owns: the alarms of the heartbeat and of the tail, the wake-up. Never: wakes a workflow, decides anything about one.
 * 1.  Both alarms are off while nothing is awake; the next commit arms them.
 * 2.  A workflow whose lease is lost is stopped before anything else of it begins here.
 * 3.  A lease that is held here without work is given back.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { callAside } from "../../contract/maybe-promise.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Clock } from "../../ports/clock.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";
import type { Logger } from "../../ports/telemetry.ts";
import type { Timers } from "../actors/timers.ts";
import { yieldToEventLoop } from "../actors/yield-to-event-loop.ts";
import { heartbeatMs, type KernelRegistration } from "./kernel-registration.ts";
import type { WorkflowLog } from "./workflow-log.ts";

export interface LeaseKeeperOptions {
  readonly store: LedgerStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly registration: KernelRegistration;
  readonly tailPollMs: number;
  /** Logs that are awake here. */
  readonly logs: () => readonly WorkflowLog[];
  /** Another process has committed something. */
  readonly onUpdate: () => void;
  /** Called when another process has died: its workflows are free. */
  readonly onGone: () => void;
  /** Called when another process has taken a workflow that is awake here: its log fails, and its work must stop. */
  readonly onLeaseLost: (log: WorkflowLog) => void;
}

const leaseRef = moduleRef(4, "lease_keeper", "heartbeat");
const unreported = "the store could not be told that this process lives";
/** Logs that are looked at before others run. */
const atOnce = 16;

export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  #stopped = false;
  #watching = false;
  /** The workflows, by epoch, that were held here without work at the last look. */
  #strays: ReadonlyMap<string, number> = new Map();

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
    options.registration.onLost(() => this.#loseAll());
  }

  /** Registers this process with the others, so that each takes over the workflows of one that dies. */
  async follow(): Promise<void> {
    const { store, registration, onGone } = this.#options;
    const ask = this.#attempt(() => registration.renew(), unreported);
    const gone = (owner: string): void => (owner === registration.owner ? ask() : onGone());
    await store.follow?.(registration.owner, { committed: (streams) => this.#received(streams), gone });
    await registration.renew();
  }

  /** Gives back workflows that are held without work at two looks: one that was taken just now is not awake yet. */
  async giveBack(): Promise<void> {
    const { store, registration, logs } = this.#options;
    const held = await store.held(registration.owner);
    const awake = new Set(logs().map(({ identity }) => identity.workflow_id));
    const idle = held.filter(({ workflow_id }) => !awake.has(workflow_id));
    const again = idle.filter(({ workflow_id, epoch }) => this.#strays.get(workflow_id) === epoch);
    this.#strays = new Map(idle.map(({ workflow_id, epoch }) => [workflow_id, epoch]));
    for (const { workflow_id, epoch } of again) await store.release(workflow_id, { owner: registration.owner, epoch });
  }

  #received(streams: readonly string[]): void {
    if (this.#stopped) return;
    const { logs, onUpdate } = this.#options;
    onUpdate();
    const named = new Set(streams);
    const awake = logs().filter(({ identity }) => named.has(identity.workflow_id));
    this.#attempt(() => this.#refresh(awake), "what was committed elsewhere could not be read")();
  }

  /** Sends heartbeats and looks for appends of other processes while anything is awake. */
  watch(): void {
    if (this.#stopped || this.#watching) return;
    this.#watching = true;
    this.#armBeat();
    this.#armUpkeep();
  }

  /** Gives up the lease of a workflow that has left memory. */
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

  /** Returns false if nothing is awake: both alarms are then off, and the next commit arms them. */
  #keepsWatching(): boolean {
    if (!this.#stopped && this.#options.logs().length > 0) return true;
    this.#watching = false;
    for (const name of ["heartbeat", "tail"]) this.#options.timers.alarm(name, null, () => undefined);
    return false;
  }

  #armBeat(): void {
    const { timers, clock, registration } = this.#options;
    timers.upkeep(
      "heartbeat",
      clock.now() + heartbeatMs(registration.leaseMs),
      this.#attempt(() => this.#heartbeat(), unreported),
    );
  }

  async #heartbeat(): Promise<void> {
    if (!this.#keepsWatching()) return;
    this.#armBeat();
    await this.#options.registration.renew();
  }

  /** Fails all logs, because another process has taken this one for dead. */
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

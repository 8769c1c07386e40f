/**
 * The parts of a kernel and their connections: runtime, bus, log writing, lifecycles, executor, host, tiers.
 *
 * Owns: the wiring. Never: opens or closes the ledger, serves a caller.
 */
import { respondOperator } from "../adapters/respond-operator.ts";
import { KernelErrorException } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { createIdSource } from "../contract/ids.ts";
import { callAside } from "../contract/maybe-promise.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { createSignalFactory } from "../contract/signal.ts";
import { isTerminal } from "../contract/workflow.ts";
import { SignalBus, type Tier } from "../engine/actors/bus.ts";
import { LifecycleHost } from "../engine/actors/lifecycle-host.ts";
import { nextTurn } from "../engine/actors/next-turn.ts";
import { createRegistry, type Registry } from "../engine/actors/registry.ts";
import type { Runtime } from "../engine/actors/runtime.ts";
import { Supervision } from "../engine/actors/supervision.ts";
import { createTimers, type Timers } from "../engine/actors/timers.ts";
import { createFeed, type Feed } from "../engine/follow/feed.ts";
import { createLedgerReading, type LedgerReading } from "../engine/follow/ledger-reader.ts";
import { createLedgerWatch, type LedgerWatch } from "../engine/follow/ledger-watch.ts";
import { createNoticeDelivery, type NoticeDelivery } from "../engine/follow/notice-delivery.ts";
import { createTenantFeed, type TenantFeed } from "../engine/follow/tenant-feed.ts";
import { createWorkflowTails, type WorkflowTails } from "../engine/follow/workflow-tails.ts";
import { HaltRegistry } from "../engine/log/halt-registry.ts";
import { KernelRegistration } from "../engine/log/kernel-registration.ts";
import { LeaseKeeper } from "../engine/log/lease-keeper.ts";
import { createLedgerWriter, type LedgerWriter } from "../engine/log/ledger-writer.ts";
import { createRestWaiters, type RestWaiters } from "../engine/log/rest-waiters.ts";
import { syncedReads } from "../engine/log/synced-reads.ts";
import { createTenantAppend, type TenantAppend } from "../engine/log/tenant-log.ts";
import { TenantRegistry } from "../engine/log/tenant-registry.ts";
import type { WorkflowLog } from "../engine/log/workflow-log.ts";
import { EmbeddedHost } from "../hosts/embedded/embedded-host.ts";
import type { Host } from "../ports/host.ts";
import { Executor } from "../tiers/t4-execution/executor.ts";
import type { Mailbox } from "../tiers/t4-execution/mailbox.ts";
import { createBudgetLimiter } from "../tiers/t5-ego/admission/budget-limiter.ts";
import { type CapabilityRegistry, createCapabilityRegistry } from "../tiers/t5-ego/admission/capability-registry.ts";
import type { PolicyEngine } from "../tiers/t5-ego/policy/evaluate-round.ts";
import { feedAfter, feedOfHead, markFeed } from "../tiers/t6-metacognition/project-feed.ts";
import { Places } from "../tiers/t7-orchestration/places.ts";
import { awayReader } from "./describe-away.ts";
import { createHostWork, guardHost, restedOf } from "./host-work.ts";
import type { KernelLedger, Resolved, TierPatch } from "./options.ts";
import { createServices, createSettings, defineTiers, hasPlace } from "./tiers.ts";
import { WaitSweep } from "./wait-sweep.ts";

const restRef = moduleRef(4, "ooda_loop", "rest");

/** The parts of a kernel beside the ports of its options. */
export interface PartsOptions {
  readonly registry: Registry;
  readonly capabilityRegistry: CapabilityRegistry;
  readonly patchTier: TierPatch;
}

export class KernelParts {
  readonly resolved: Resolved;
  readonly store: KernelLedger;
  /** The store as it is read for answers to callers. */
  readonly reported: KernelLedger;
  readonly registry: Registry;
  readonly capabilityRegistry: CapabilityRegistry;
  readonly bus: SignalBus;
  readonly runtime: Runtime;
  /** Its registration, under which it holds workflows, and the time until which it is valid. */
  readonly registration: KernelRegistration;
  readonly timers: Timers;
  readonly feed: Feed;
  readonly watch: LedgerWatch;
  readonly tails: WorkflowTails;
  readonly tenantFeed: TenantFeed;
  readonly writer: LedgerWriter;
  readonly tenantLog: TenantAppend;
  readonly reading: LedgerReading;
  readonly restWaiters: RestWaiters;
  readonly lifecycles: LifecycleHost;
  readonly halts: HaltRegistry;
  readonly grants: TenantRegistry;
  readonly standIns: TenantRegistry;
  readonly executor: Executor;
  readonly leases: LeaseKeeper;
  readonly host: Host;
  /** The delivery of notices; null if there is no notifier. */
  readonly notices: NoticeDelivery | null;
  readonly supervision: Supervision;
  readonly places = new Places();
  readonly waits = new WaitSweep(() => this);
  /** Looks at the schedules; called when work of one has ended. */
  lookAtSchedules: () => void = () => undefined;
  /** The engine, and whether the default rules are part of it. */
  readonly policies: { readonly engine: PolicyEngine; readonly withDefault: boolean };

  constructor(resolved: Resolved, store: KernelLedger, { registry, capabilityRegistry, patchTier }: PartsOptions) {
    const { options, clock, limits, logger, budgets } = resolved;
    this.resolved = resolved;
    this.store = store;
    this.reported = options.durability === "full" ? store : syncedReads(store);
    this.registry = registry;
    this.policies = { engine: resolved.engine, withDefault: options.defaultPolicies };
    this.capabilityRegistry = capabilityRegistry;
    this.bus = new SignalBus({
      onSubscriberError: (error) => logger.error({ error }, "a bus subscriber threw"),
      maxWaiting: limits.maxBusWaiting,
    });
    this.runtime = this.#createRuntime(resolved);
    this.timers = createTimers(clock);
    this.feed = createFeed((error) => logger.error({ error }, "a listener threw"));
    this.registration = new KernelRegistration({
      store,
      clock,
      owner: options.owner ?? this.runtime.ids.next("kernel"),
      ...limits,
    });
    this.writer = createLedgerWriter(store, limits, this.registration);
    this.tenantLog = createTenantAppend({ store, writer: this.writer, runtime: this.runtime });
    this.watch = createLedgerWatch({ store: this.reported, feed: this.feed, clock, pollMs: limits.tailPollMs });
    this.tails = createWorkflowTails({ store: this.reported, watch: this.watch, maxTailChars: limits.maxTailChars });
    this.reading = createLedgerReading({ store: this.reported, tails: this.tails });
    this.tenantFeed = createTenantFeed({
      store: this.reported,
      watch: this.watch,
      projection: { before: markFeed, after: feedAfter },
      describeHead: feedOfHead,
      ...limits,
    });
    this.restWaiters = createRestWaiters(this.timers);
    this.lifecycles = new LifecycleHost({
      parent: () => this.supervision.tier(4),
      inspected: options.inspect !== undefined,
      onError: (error) => logger.error({ error }, "a lifecycle actor failed"),
    });
    this.grants = new TenantRegistry(() => store.grantingTenants(), store, resolved);
    this.standIns = new TenantRegistry(() => store.standInTenants(), store, resolved);
    this.halts = new HaltRegistry(this.store, (tenants) => this.#haltsChanged(tenants));
    this.leases = this.#createLeaseKeeper(resolved);
    const host = (options.host ?? ((work) => new EmbeddedHost(work)))(createHostWork(this));
    this.host = guardHost(host, (error) => logger.error({ error }, "the host failed"));
    this.executor = this.#createExecutor(resolved);
    this.notices = this.#createNotices(resolved);
    this.supervision = new Supervision({
      definitions: defineTiers({
        resolved,
        registry,
        capabilityRegistry,
        limiter: createBudgetLimiter({
          limits: budgets.limits,
          charges: async (tenantId, counters) => store.charges(tenantId, counters),
          now: clock.now,
          holdMs: limits.leaseMs,
        }),
        store,
        executor: this.executor,
        writer: this.writer,
        tenantLog: this.tenantLog,
        ...{ places: this.places, grants: this.grants, standIns: this.standIns },
      }).map(patchTier),
      bus: this.bus,
      runtime: this.runtime,
      ...(options.inspect === undefined ? {} : { inspect: options.inspect }),
      onRestart: (tier) => this.#refold(tier),
    });
  }

  #createRuntime({ clock, random, limits, logger, telemetry }: Resolved): Runtime {
    const ids = createIdSource({ now: clock.now, random });
    const { bus } = this;
    return {
      clock,
      ids,
      limits,
      logger,
      telemetry,
      signals: createSignalFactory({ ids, now: clock.now }),
      ask: (to, signal) => bus.ask(to, signal),
      askNow: (to, signal) => bus.askNow(to, signal),
      send: (to, signal) => bus.publish({ to, signal, reply: null }),
    };
  }

  #createExecutor(resolved: Resolved): Executor {
    const { store, writer, runtime, lifecycles, registry, reading, timers } = this;
    const elsewhere = new Set(resolved.options.elsewhere);
    return new Executor({
      store,
      writer,
      runtime,
      lifecycles,
      registration: this.registration,
      goesOn: this.host.dispatch === undefined,
      leavesAny: elsewhere.size > 0,
      isElsewhere: (intentType) => elsewhere.has(intentType),
      halts: this.halts,
      isAwaited: (id, rests) => this.feed.isFollowed(id) || (rests && this.restWaiters.isAwaited(id)),
      settings: createSettings(resolved, registry, this.halts),
      services: createServices({ resolved, store, reading, timers }),
      readRecord: (workflowId) => reading.readWorkflowState(workflowId),
      onCommitted: (log, events, own) => {
        runtime.telemetry.committed?.({ events, record: log.exists ? log.record : null, own });
        this.feed.announce(log.identity.workflow_id);
        if (events.some((e) => e.event_type === "INTENT_RECEIVED")) lifecycles.wake(log.record);
        this.leases.watch();
        if (own && log.exists && log.record.intent.schedule !== undefined && isTerminal(log.record.state))
          this.lookAtSchedules();
        if (own && log.isOwnedElsewhere && !isTerminal(log.record.state))
          this.host.dispatch?.(log.identity.workflow_id, log.confirmed);
      },
      onRest: (run) => this.#rested(run),
    });
  }

  #createLeaseKeeper({ clock, logger, limits }: Resolved): LeaseKeeper {
    return new LeaseKeeper({
      store: this.store,
      clock,
      timers: this.timers,
      logger,
      registration: this.registration,
      tailPollMs: limits.tailPollMs,
      logs: () => this.executor.mailboxes().map(({ log }) => log),
      onUpdate: () => {
        this.watch.wake();
        this.lookAtHalts();
        callAside(
          () => Promise.all([this.grants.look(), this.standIns.look()]),
          (error) => logger.error({ error }, "the grants and stand-ins could not be read"),
        );
      },
      onGone: () => {
        this.host.freed();
        this.waits.restart();
      },
      onLeaseLost: (log) => this.executor.mailboxOf(log)?.interrupt(),
    });
  }

  #createNotices({ options: { notifiers }, same }: Resolved): NoticeDelivery | null {
    const { reported: store, watch, timers, runtime } = this;
    const { deliveries } = store;
    if (deliveries === undefined || notifiers.length === 0) return null;
    return createNoticeDelivery(notifiers, {
      ...{ store, deliveries, watch, timers, runtime },
      withAway: awayReader({ store, runtime, standIns: this.standIns, same }),
      owner: runtime.ids.next("kernel"),
    });
  }

  /** Other processes may have set or lifted halts. */
  lookAtHalts(): void {
    const failed = (error: unknown): void => this.runtime.logger.error({ error }, "the halts could not be read");
    callAside(() => this.halts.look(), failed);
  }

  /** Has everything of these tenants that is awake come by its halts, and takes up what is free to go on. */
  #haltsChanged(tenants: ReadonlySet<string | number>): void {
    for (const mailbox of this.executor.mailboxes()) if (tenants.has(mailbox.log.identity.tenant_id)) mailbox.wake();
    this.serve();
  }

  /** Takes up what may begin, if this process drives workflows. */
  serve(): void {
    if (this.resolved.options.recover) this.host.freed();
  }

  /** Wakes a workflow from the ledger and drives it. */
  async wake(workflowId: string): Promise<void> {
    await this.executor.wake(workflowId);
  }

  /** Handles a workflow that was parked: T7 removes it, its waiters are resumed, the host keeps its due time. */
  #rested({ log, parentId }: Mailbox): void {
    const { workflow_id, correlation_id } = log.identity;
    const { signals, send } = this.runtime;
    send(7, signals.createDataSignal({ workflow_id }, "Release", restRef, correlation_id, null, { parentId }));
    this.restWaiters.tell(workflow_id);
    this.leases.rested(log);
    this.host.rested(restedOf(log));
  }

  /** Folds the workflows of T4 again from the ledger after T4 was restarted. */
  #refold(tier: Tier): void {
    if (tier !== 4) return;
    for (const id of this.executor.dropAll()) {
      this.wake(id).catch((error: unknown) =>
        this.runtime.logger.error({ error, workflow_id: id }, "a workflow could not be folded again"),
      );
    }
  }

  /** Ends everything but the store. Runs have been interrupted. */
  close(): void {
    this.host.stop();
    this.waits.stop();
    this.leases.stop();
    this.timers.clear();
    this.lifecycles.clear();
    this.restWaiters.close();
    this.supervision.stop();
    this.bus.close();
    const stopped = new KernelErrorException(kernelError("T0_KERNEL_STOPPED", "the kernel has stopped", restRef));
    this.tails.close(stopped);
    this.tenantFeed.close(stopped);
    this.watch.close();
    this.feed.close();
    this.resolved.clock.end();
  }
}

/** Opens the default ledger: SQLite in memory. */
export async function openMemoryLedger(): Promise<KernelLedger> {
  const { sqliteLedger } = await import("../ledger/sqlite/index.ts");
  return sqliteLedger({});
}

/** Registers the built-in operator and the options' packages. */
export function fillRegistry({
  options,
  budgets: { governor, capabilities },
}: Resolved): Pick<PartsOptions, "registry" | "capabilityRegistry"> {
  const capabilityRegistry = createCapabilityRegistry(governor, capabilities);
  const registry = createRegistry({ retrieval: options.retrieval, registerCeilings: capabilityRegistry.put });
  registry.registerOperator(respondOperator);
  for (const operator of options.operators) registry.registerOperator(operator);
  for (const capability of options.capabilities) registry.registerCapability(capability);
  return { registry, capabilityRegistry };
}

/** Opens the parts. @throws the error of a ledger that cannot be opened; nothing is left running then. */
export async function openParts(parts: KernelParts): Promise<void> {
  const { root } = parts.supervision;
  try {
    await parts.store.open();
    await Promise.all([parts.halts.refresh(), parts.grants.refresh(), parts.standIns.refresh()]);
    if (parts.resolved.options.recover) await parts.leases.follow();
  } catch (thrown) {
    root.send({ type: "OPEN_FAILED" });
    parts.close();
    await parts.store.close().catch(() => undefined);
    throw thrown;
  }
  root.send({ type: "OPENED" });
}

export interface Stopping {
  /** The time that work under way has to end, in ms. */
  readonly drainMs: number;
  /** Returns whether a caller still waits for an answer. */
  readonly serves: () => boolean;
}

/** Stops: runs park or are interrupted; leases are given up; everything is closed. */
const stopRef = moduleRef(0, "kernel", "stop");

export async function stopParts(parts: KernelParts, { drainMs, serves }: Stopping): Promise<void> {
  const { executor, store, supervision, runtime } = parts;
  const stopped = kernelError("T0_KERNEL_STOPPED", "the kernel stopped while the submit waited for a place", stopRef);
  parts.places.refuseWaiting(stopped);
  supervision.root.send({ type: "STOP" });
  parts.host.stop();
  parts.waits.stop();
  await drain(parts, runtime.clock.now() + drainMs);
  const awake = executor.stop();
  await letUnwind(() => !serves() && executor.mailboxes().every(({ isBusy }) => !isBusy));
  const inTime = (end: Promise<void>) => Promise.race([end, parts.timers.until(runtime.clock.now() + giveUpMs)]);
  // A call that never ends keeps its mailbox: its workflow runs nowhere any more.
  parts.places.restart([], stopped);
  await inTime(giveUp(parts, awake));
  await inTime(parts.host.ended());
  await parts.notices?.stop();
  parts.close();
  await store.close();
}

/** The time that the ledger has to record the end (otherwise the lease expires), and that the host has to end. */
const giveUpMs = 5_000;

async function giveUp({ store, writer, executor }: KernelParts, awake: readonly Mailbox[]): Promise<void> {
  await writer.drained();
  const release = async ({ identity, lease }: WorkflowLog): Promise<void> =>
    lease === null ? undefined : store.release(identity.workflow_id, lease);
  const held = new Set([...awake, ...executor.mailboxes()].map(({ log }) => log));
  await Promise.allSettled([...held].map(release));
}

/** Lets the event loop turn, at least once, so that work under way may end; host code that never ends is abandoned. */
async function letUnwind(isOver: () => boolean): Promise<void> {
  for (let turn = 0; turn < 64 && (turn === 0 || !isOver()); turn += 1) await nextTurn();
}

/** Waits until running workflows are parked, up to a time; those that wait for a place go on in another process. */
async function drain({ executor, timers, restWaiters }: KernelParts, until: number): Promise<void> {
  const busy = executor.mailboxes().filter((mailbox) => mailbox.isBusy && hasPlace(mailbox));
  const rested = Promise.all(busy.map(({ log }) => restWaiters.next(log.identity.workflow_id)));
  const abort = new AbortController();
  await Promise.race([rested, timers.until(until, abort.signal)]);
  abort.abort();
}

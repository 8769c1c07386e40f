/**
 * createKernel: which part fills which port.
 *
 * Owns: assembling, opening and stopping. Never: does anything itself; every method is a Signal, a read, or a wait.
 * K1  A kernel holds no global state; two in one process do not meet.
 * K2  Nothing is served before the ledger is open; unfinished work that nobody holds is taken up at once.
 * K3  `stop` leaves no timer, handle or subscription behind.
 */
import { DocumentRecord, MemoryRecord } from "./contract/context-bundle.ts";
import { raise } from "./contract/error.ts";
import { kernelError } from "./contract/error-codes.ts";
import { draft } from "./contract/event.ts";
import { createIdSource } from "./contract/ids.ts";
import { moduleRef } from "./contract/module-ref.ts";
import { createSignalFactory } from "./contract/signal.ts";
import type { WorkflowState } from "./contract/workflow.ts";
import { createEmbeddedHost } from "./hosts/embedded/embedded-host.ts";
import type { Kernel } from "./kernel-face.ts";
import { type KernelOptions, resolveOptions, type TierPatch } from "./kernel-options.ts";
import { createReads, viewOf } from "./kernel-reads.ts";
import { retryOrBeginAgain } from "./kernel-retry.ts";
import { createDesk, defineTiers } from "./kernel-tiers.ts";
import type { LedgerStore } from "./ports/ledger-store.ts";
import { createBus, type Tier } from "./runtime/bus.ts";
import { createFeed } from "./runtime/feed.ts";
import type { Kit } from "./runtime/kit.ts";
import { createLedgerReading } from "./runtime/ledger-reader.ts";
import { createLedgerWriter } from "./runtime/ledger-writer.ts";
import { createLifecycleHost } from "./runtime/lifecycle-host.ts";
import { createRegistry, type Registry } from "./runtime/registry.ts";
import { createRestWaiters, type RestWaiters } from "./runtime/rest-waiters.ts";
import { superviseTiers } from "./runtime/supervision.ts";
import { appendToTenant } from "./runtime/tenant-log.ts";
import { createTimers } from "./runtime/timers.ts";
import { createGateway } from "./tiers/t0-foundation/gateway.ts";
import { createExecutor, type Executor } from "./tiers/t4-execution/executor.ts";
import { respondOperatorDefinition } from "./tiers/t4-execution/respond.ts";
import type { Desk } from "./tiers/t4-execution/run.ts";

const kernelRef = moduleRef(0, "kernel", "createKernel");

/**
 * Opens the ledger, starts the tiers, takes up unfinished work, and serves.
 * @throws KernelErrorException T0_LEDGER_* when the ledger cannot be opened, T0_VALIDATION_SCHEMA_MISMATCH for bad options.
 */
export function createKernel(options: KernelOptions = {}): Promise<Kernel> {
  return assembleKernel(options);
}

/** As createKernel, with the tiers as a test wants them. */
export async function assembleKernel(
  options: KernelOptions,
  patchTier: TierPatch = (definition) => definition,
): Promise<Kernel> {
  const resolved = resolveOptions(options);
  const { clock, limits, logger, telemetry } = resolved;
  const store = options.ledger ?? (await defaultLedger());
  await store.open();
  const registry = fillRegistry(options);
  const ids = createIdSource({ now: clock.now, random: resolved.random });
  const bus = createBus({
    onSubscriberError: (error) => logger.error({ error }, "a bus subscriber threw"),
    maxWaiting: limits.maxBusWaiting,
  });
  const kit: Kit = {
    clock,
    ids,
    limits,
    logger,
    telemetry,
    signals: createSignalFactory({ ids, now: clock.now }),
    ask: bus.ask,
    send: (to, signal) => bus.publish({ to, signal, reply: null }),
  };
  const timers = createTimers(clock);
  const feed = createFeed((error) => logger.error({ error }, "a listener threw"));
  const writer = createLedgerWriter(store, limits.maxBatch);
  const reading = createLedgerReading({ store, feed, clock, pollMs: limits.tailPollMs });
  const owner = options.owner ?? ids.next("kernel");
  const lifecycles = createLifecycleHost({
    parent: () => supervision.tier(4),
    inspected: options.inspect !== undefined,
    onError: (error) => logger.error({ error }, "a lifecycle actor failed"),
  });
  const executor = createExecutor({
    store,
    writer,
    kit,
    lifecycles,
    owner,
    desk: createDesk({ resolved, registry, store, reading, timers }),
    onCommitted: (log, events) => {
      feed.announce(log.identity.workflow_id);
      if (events.some((e) => e.event_type === "INTENT_RECEIVED")) lifecycles.wake(log.record);
      host.watch();
    },
    onRest: ({ log, parentId }) => {
      const { workflow_id, correlation_id } = log.identity;
      const ref = moduleRef(4, "ooda_loop", "rest");
      kit.send(7, kit.signals.createDataSignal({ workflow_id }, "Release", ref, correlation_id, null, { parentId }));
      restWaiters.tell(workflow_id);
      host.rested(log);
    },
  });
  const restWaiters = createRestWaiters(timers);
  const wake = (workflowId: string): Promise<void> => executor.withRun(workflowId, null, async () => undefined);
  const host = createEmbeddedHost({
    store,
    clock,
    timers,
    logger,
    leaseMs: limits.leaseMs,
    tailPollMs: limits.tailPollMs,
    maxInFlight: limits.maxInFlight,
    wake,
    logs: () => executor.runs().map((run) => run.log),
    onForeign: (log) => executor.awake(log.identity.workflow_id)?.drive(),
  });
  const supervision = superviseTiers({
    definitions: defineTiers({ resolved, registry, store, executor, writer }).map(patchTier),
    bus,
    kit,
    ...(options.inspect === undefined ? {} : { inspect: options.inspect }),
    onRestart: (tier) => {
      if (tier === 4)
        for (const id of executor.dropAll())
          void wake(id).catch((error: unknown) =>
            logger.error({ error, workflow_id: id }, "a workflow could not be folded again"),
          );
    },
  });
  supervision.root.send({ type: "OPENED" });
  const gateway = createGateway(kit);
  let stopping: Promise<void> | null = null;
  const serve = async <T>(work: () => Promise<T>): Promise<T> => {
    if (stopping !== null) raise(kernelError("T0_KERNEL_STOPPED", "the kernel has stopped", kernelRef));
    return work();
  };

  const settled = async (workflowId: string): Promise<WorkflowState> => {
    for (;;) {
      const run = executor.awake(workflowId);
      if (run === null) {
        const record = await reading.record(workflowId);
        if (executor.awake(workflowId) !== null) continue;
        if (isAtRest(record.state) || stopping !== null) return viewOf(record);
        await restWaiters.next(workflowId, clock.now() + limits.tailPollMs);
        continue;
      }
      await restWaiters.next(workflowId);
      if (
        run.log.lost === null &&
        run.log.exists &&
        executor.awake(workflowId) === null &&
        isAtRest(run.log.record.state)
      )
        return viewOf(run.log.record);
    }
  };

  const stop = async (drainMs: number): Promise<void> => {
    supervision.root.send({ type: "STOP" });
    await drain(executor, timers, { until: clock.now() + drainMs, restWaiters });
    const held = executor.runs().map((run) => run.log);
    for (const run of executor.runs()) run.interrupt();
    await Promise.race([Promise.all(executor.runs().map((run) => run.idle())), letUnwind()]);
    await writer.drained();
    for (const log of held)
      if (log.lease !== null) await store.release(log.identity.workflow_id, log.lease).catch(() => undefined);
    host.stop();
    lifecycles.clear();
    restWaiters.close();
    supervision.stop();
    bus.close();
    feed.close();
    await store.close();
  };

  const kernel: Kernel = {
    ...createReads({ store, reading, registry, authorize: gateway.authorize }),
    submit: (request) => serve(() => gateway.submit(request)),
    decideGate: (workflowId, request) => serve(() => gateway.decideGate(workflowId, request)),
    retry: (workflowId, request) => serve(() => retryOrBeginAgain({ gateway, reading, workflowId, request })),
    cancel: (workflowId, request) => serve(() => gateway.cancel(workflowId, request)),
    settled,
    execute: (workflowId) =>
      serve(async () => {
        await wake(workflowId);
        return settled(workflowId);
      }),
    documents: {
      record: (raw) =>
        serve(() => {
          const record = parseRecord(DocumentRecord, raw);
          return appendToTenant({ store, writer, kit }, record.tenant_id, {
            draft: draft("DOCUMENT_RECORDED", { record }),
            indexes: { documents: [record] },
          });
        }),
    },
    memory: {
      write: (raw) =>
        serve(() => {
          const record = parseRecord(MemoryRecord, raw);
          return appendToTenant({ store, writer, kit }, record.tenant_id, {
            draft: draft("MEMORY_WRITTEN", { record }),
            indexes: { memory: [record] },
          });
        }),
    },
    registerCapability: (capability) => registry.registerCapability(capability),
    registerOperator: (operator) => registry.registerOperator(operator),
    getCapability: (intentType, version) => registry.getCapability(intentType, version),
    bus: { signals: bus.signals, items: bus.items },
    ask: (tier: Tier, signal) => serve(() => bus.ask(tier, signal)),
    vitals: () => ({
      workflows: executor.count(),
      actors: lifecycles.count(),
      listeners: feed.listeners() + bus.observers(),
      timers: timers.armed(),
      waiting: bus.waiting(),
    }),
    system: supervision.root.system,
    lifecycles: (workflowId) => lifecycles.states(workflowId),
    stop: ({ drainMs = 5_000 } = {}) => {
      stopping ??= stop(drainMs);
      return stopping;
    },
    [Symbol.asyncDispose]: () => kernel.stop(),
  };
  if (options.recover !== false) await serve(() => host.recover());
  await host.armDue();
  return kernel;
}

const isAtRest = (state: WorkflowState["state"]): boolean =>
  state === "completed" || state === "failed" || state === "cancelled" || state === "waiting_for_user";

async function defaultLedger(): Promise<LedgerStore> {
  const { sqliteLedger } = await import("./ledgers/sqlite/index.ts");
  return sqliteLedger({});
}

function fillRegistry(options: KernelOptions): Registry {
  const registry = createRegistry(options.retrieval);
  registry.registerOperator(respondOperatorDefinition);
  for (const operator of options.operators ?? []) registry.registerOperator(operator);
  for (const capability of options.capabilities ?? []) registry.registerCapability(capability);
  return registry;
}

/** Turns of the event loop in which what was interrupted may end; host code that never ends is left behind. */
async function letUnwind(): Promise<void> {
  for (let turn = 0; turn < 64; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Lets running workflows come to rest, up to a limit. */
async function drain(
  executor: Executor,
  timers: Desk["timers"],
  { until, restWaiters }: { readonly until: number; readonly restWaiters: RestWaiters },
): Promise<void> {
  const busy = executor.runs().filter((run) => run.isBusy);
  const rested = Promise.all(busy.map((run) => restWaiters.next(run.log.identity.workflow_id)));
  const abort = new AbortController();
  await Promise.race([rested, timers.until(until, abort.signal)]);
  abort.abort();
}

/** @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
function parseRecord<T>(
  schema: {
    readonly safeParse: (
      raw: unknown,
    ) => { readonly success: true; readonly data: T } | { readonly success: false; readonly error: Error };
  },
  raw: unknown,
): T {
  const parsed = schema.safeParse(raw);
  return parsed.success
    ? parsed.data
    : raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `record: ${parsed.error.message}`, kernelRef));
}

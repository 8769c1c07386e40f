/**
 * createKernel: the assembly of a kernel from its parts and ports.
 *
 * Owns: assembling, opening and stopping. Never: does work itself; every method is a Signal, a read, or a wait.
 * 1.  A kernel holds no global state; two kernels in one process do not share any.
 * 2.  Nothing is served before the ledger is open; unfinished work that no process holds is taken up at once.
 * 3.  `stop` leaves no timer, handle or subscription behind.
 */

import { allMachines, definitionOf } from "../machines/definitions.ts";
import { checkArguments, checkClientArguments } from "./api/check-arguments.ts";
import type { SubmitRequest } from "./contract/intent.ts";
import type { RetryRequest } from "./contract/retry.ts";
import type { WorkflowState } from "./contract/workflow-state.ts";
import { addInputFor } from "./kernel/add-input.ts";
import { awaitSettled } from "./kernel/await-settled.ts";
import { listBudgets } from "./kernel/budgets.ts";
import { createCapabilityClient } from "./kernel/capability-client.ts";
import { countHeld } from "./kernel/count-held.ts";
import { listDecisions } from "./kernel/decisions.ts";
import { examine } from "./kernel/doctor.ts";
import { forkFor } from "./kernel/fork.ts";
import { createGrants } from "./kernel/grants.ts";
import { createHalts } from "./kernel/halts.ts";
import type { Kernel } from "./kernel/kernel-interface.ts";
import { createGateFinder } from "./kernel/open-gate.ts";
import { type KernelOptions, resolveOptions, type TierPatch } from "./kernel/options.ts";
import { orderFor } from "./kernel/order-workflow.ts";
import { emitEvent } from "./kernel/outside-events.ts";
import { fillRegistry, KernelParts, openMemoryLedger, openParts, stopParts } from "./kernel/parts.ts";
import { createQueueReads, limitQueue } from "./kernel/queues.ts";
import { createReadiness } from "./kernel/readiness.ts";
import { createReads } from "./kernel/reads.ts";
import { createRecords } from "./kernel/records.ts";
import { requireRuntime } from "./kernel/require-runtime.ts";
import { retryOrBeginAgain } from "./kernel/retry.ts";
import { createScheduleCommands } from "./kernel/schedules/schedule-commands.ts";
import { ScheduleDriver } from "./kernel/schedules/schedule-driver.ts";
import { createScheduleReads } from "./kernel/schedules/schedule-reads.ts";
import { createStandIns } from "./kernel/stand-ins.ts";
import { refuseStopped, tellStopped } from "./kernel/tell-stopped.ts";
import type { TenantCalls } from "./kernel/tenant-calls.ts";
import { createTokenView } from "./kernel/token-view.ts";
import { answerWait, readTokenUrl } from "./kernel/wait-answers.ts";
import { replayTurns } from "./replay/replay.ts";
import { whatIf } from "./replay/whatif.ts";
import { createGateway, type Gateway } from "./tiers/t0-foundation/gateway.ts";

/**
 * Opens the ledger, starts the tiers, takes up unfinished work, and serves.
 * @throws KernelErrorException T0_RUNTIME_UNSUPPORTED below Node 24, T0_LEDGER_* when the ledger cannot be opened,
 * T0_VALIDATION_SCHEMA_MISMATCH for bad options.
 */
export function createKernel(options: KernelOptions = {}): Promise<Kernel> {
  return assembleKernel(options);
}

/** Assembles a kernel as createKernel does, with the tiers of a test. */
export async function assembleKernel(
  options: KernelOptions,
  patchTier: TierPatch = (definition) => definition,
): Promise<Kernel> {
  requireRuntime(process.versions.node);
  const resolved = resolveOptions(options);
  const store = resolved.options.ledger ?? (await openMemoryLedger());
  const parts = new KernelParts(resolved, store, { ...fillRegistry(resolved), patchTier });
  await openParts(parts);
  const { kernel, schedules } = new RunningKernel(parts);
  parts.notices?.start();
  if (resolved.options.recover) {
    await startHost(parts);
    schedules.start();
  }
  return kernel;
}

/** Starts the host; if that fails, everything is stopped again. */
async function startHost(parts: KernelParts): Promise<void> {
  try {
    await parts.host.start();
    await parts.waits.start();
  } catch (thrown) {
    await stopParts(parts, { drainMs: 0, serves: () => false });
    throw thrown;
  }
}

/** A serving kernel: the implementation of its methods. */
class RunningKernel {
  readonly #parts: KernelParts;
  readonly #gateway: Gateway;
  readonly kernel: Kernel;
  readonly schedules: ScheduleDriver;
  #stopping: Promise<void> | null = null;
  #closed = false;
  /** The number of callers that wait for an answer. */
  #served = 0;

  constructor(parts: KernelParts) {
    this.#parts = parts;
    const findOpenGate = createGateFinder(parts);
    this.#gateway = createGateway(parts.runtime, async (workflowId, caller) => {
      // The open gates are read at the arrival of the request; a caller who may not decide receives no gate's name.
      const found = findOpenGate(workflowId, caller);
      found.catch(() => undefined);
      await this.#gateway.authorize(caller, "gate:approve");
      return found;
    });
    const { authorize } = this.#gateway;
    this.schedules = this.#createSchedules();
    const reads = createReads({ ...parts, store: parts.reported, same: parts.resolved.same, authorize });
    this.kernel = checkArguments(
      {
        ...tellStopped(reads, () => this.#stopping !== null),
        tokens: createTokenView({ ...parts, store: parts.reported }),
        ...this.#commands(),
        ...this.#tenantOrders(),
        ...this.#records(),
        ...this.#scheduling(),
        ...this.#insights(),
      },
      () => this.#closed && refuseStopped(),
    );
  }

  async #serve<T>(work: () => Promise<T>): Promise<T> {
    if (this.#stopping !== null) refuseStopped();
    this.#served += 1;
    try {
      return await work();
    } finally {
      this.#served -= 1;
    }
  }

  #commands(): Pick<
    Kernel,
    | "submit"
    | "decideGate"
    | "decideGates"
    | "withdrawVote"
    | "delegateGate"
    | "noteGate"
    | "retry"
    | "fork"
    | "cancel"
    | "rollback"
    | "pause"
    | "resume"
    | "emit"
    | "addInput"
    | "tokenUrl"
    | "answerWait"
    | "authorize"
    | "settled"
    | "execute"
    | "stop"
    | typeof Symbol.asyncDispose
  > {
    const gateway = this.#gateway;
    const { reading, registry } = this.#parts;
    const reach = { gateway, reading, registry, same: this.#parts.resolved.same };
    const answering = { ...this.#parts, gateway, tokens: this.#parts.resolved.waitTokens };
    const retry = (workflowId: string, request: RetryRequest) => retryOrBeginAgain({ ...reach, workflowId, request });
    return {
      submit: (request, options) => this.#serve(() => gateway.submit(request, options)),
      decideGate: (workflowId, request) => this.#serve(() => gateway.decideGate(workflowId, request)),
      decideGates: (request) => this.#serve(() => gateway.decideGates(request)),
      withdrawVote: (workflowId, request) => this.#serve(() => gateway.withdrawVote(workflowId, request)),
      delegateGate: (workflowId, request) => this.#serve(() => gateway.delegateGate(workflowId, request)),
      noteGate: (workflowId, request) => this.#serve(() => orderFor(reach, "noteGate", { workflowId, request })),
      retry: (workflowId, request) => this.#serve(() => retry(workflowId, request)),
      fork: (workflowId, request) => this.#serve(() => forkFor(reach, workflowId, request)),
      cancel: (workflowId, request) => this.#serve(() => orderFor(reach, "cancel", { workflowId, request })),
      rollback: (workflowId, request) => this.#serve(() => orderFor(reach, "rollback", { workflowId, request })),
      pause: (workflowId, request) => this.#serve(() => orderFor(reach, "pause", { workflowId, request })),
      resume: (workflowId, request) => this.#serve(() => orderFor(reach, "resume", { workflowId, request })),
      emit: (request) =>
        this.#serve(async () => {
          const starts = this.#parts.resolved.options.on;
          const parts = { ...this.#parts, starts, submit: (one: SubmitRequest) => gateway.submit(one) };
          return emitEvent(parts, await gateway.admitEvent(request));
        }),
      addInput: (workflowId, request) => this.#serve(() => addInputFor(reach, workflowId, request)),
      tokenUrl: (workflowId, request) => this.#serve(() => readTokenUrl(answering, workflowId, request)),
      answerWait: (answer) => this.#serve(() => answerWait(answering, answer)),
      authorize: (caller, scope) => this.#serve(async () => void (await gateway.authorize(caller, scope))),
      settled: (workflowId, { signal } = {}) => this.#settled(workflowId, signal),
      execute: (workflowId) =>
        this.#serve(async () => {
          await this.#parts.wake(workflowId);
          return this.#settled(workflowId);
        }),
      stop: ({ drainMs = 5_000 } = {}) => this.#stop(drainMs),
      [Symbol.asyncDispose]: () => this.#stop(5_000),
    };
  }

  #tenantOrders(): TenantCalls {
    const parts = { ...this.#parts, store: this.#parts.reported, gateway: this.#gateway };
    const halts = createHalts(parts);
    const { same } = this.#parts.resolved;
    const grants = createGrants({ ...parts, same });
    const standIns = createStandIns({ ...parts, same });
    const queueParts = { ...parts, clock: this.#parts.resolved.clock, serve: () => this.#parts.serve() };
    const { queues } = createQueueReads(queueParts);
    return {
      halt: (request) => this.#serve(() => halts.halt(request)),
      lift: (request) => this.#serve(() => halts.lift(request)),
      halts: (tenantId, caller) => halts.halts(tenantId, caller),
      grant: (request) => this.#serve(() => grants.grant(request)),
      revokeGrant: (request) => this.#serve(() => grants.revokeGrant(request)),
      grants: (filter, caller) => this.#serve(() => grants.grants(filter, caller)),
      standIn: (request) => this.#serve(() => standIns.standIn(request)),
      endStandIn: (request) => this.#serve(() => standIns.endStandIn(request)),
      standIns: (filter, caller) => this.#serve(() => standIns.standIns(filter, caller)),
      decisions: (filter, caller) => this.#serve(() => listDecisions(parts, filter, caller)),
      limitQueue: (request) => this.#serve(() => limitQueue(queueParts, request)),
      queues: (filter, caller) => this.#serve(() => queues(filter, caller)),
      budgets: (filter, caller) => this.#serve(() => listBudgets(queueParts, filter, caller)),
    };
  }

  #createSchedules(): ScheduleDriver {
    const driver = new ScheduleDriver({
      ...this.#parts,
      submit: (request, schedule) => this.#serve(() => this.#gateway.submit(request, { schedule })),
      cancel: (workflowId, tenant_id, principal) => {
        const reason = "a later instant of its schedule takes its place";
        return this.#serve(() => this.#gateway.cancel(workflowId, { tenant_id, principal, reason }));
      },
    });
    this.#parts.lookAtSchedules = () => driver.wake();
    return driver;
  }

  #scheduling() {
    const parts = { ...this.#parts, gateway: this.#gateway, driver: this.schedules, same: this.#parts.resolved.same };
    const commands = createScheduleCommands(parts);
    const reads = createScheduleReads({ ...parts, store: this.#parts.reported });
    return {
      setSchedule: (request) => this.#serve(() => commands.setSchedule(request)),
      pauseSchedule: (request) => this.#serve(() => commands.pauseSchedule(request)),
      resumeSchedule: (request) => this.#serve(() => commands.resumeSchedule(request)),
      triggerSchedule: (request) => this.#serve(() => commands.triggerSchedule(request)),
      backfillSchedule: (request) => this.#serve(() => commands.backfillSchedule(request)),
      deleteSchedule: (request) => this.#serve(() => commands.deleteSchedule(request)),
      schedules: (filter, caller) => this.#serve(() => reads.schedules(filter, caller)),
      schedule: (question, caller) => this.#serve(() => reads.schedule(question, caller)),
    } satisfies Partial<Kernel>;
  }

  #records(): Pick<
    Kernel,
    | "documents"
    | "memory"
    | "attachReport"
    | "of"
    | "registerCapability"
    | "registerOperator"
    | "capabilities"
    | "findOperator"
    | "machines"
    | "getCapability"
  > {
    const { registry } = this.#parts;
    return {
      ...createRecords({
        ...this.#parts,
        store: this.#parts.reported,
        federation: this.#parts.resolved.federation,
        gateway: this.#gateway,
        serve: (work) => this.#serve(work),
      }),
      of: (capability) => checkClientArguments(createCapabilityClient(this.kernel, capability)),
      registerCapability: (capability) => registry.registerCapability(capability),
      registerOperator: (operator) => registry.registerOperator(operator),
      capabilities: () => registry.capabilities(),
      findOperator: (name, version) => registry.findOperator(name, version),
      machines: () => allMachines.map(definitionOf),
      getCapability: (intentType, version) => registry.getCapability(intentType, version),
    };
  }

  #insights(): Pick<
    Kernel,
    | "replay"
    | "whatIf"
    | "doctor"
    | "deliveries"
    | "redeliver"
    | "bus"
    | "ask"
    | "ready"
    | "lag"
    | "holds"
    | "vitals"
    | "system"
    | "lifecycles"
  > {
    const { authorize } = this.#gateway;
    const { bus, executor, lifecycles, feed, timers, supervision, reading, registry, reported, policies } = this.#parts;
    const { notices, runtime, store, registration, places } = this.#parts;
    const ready = createReadiness(store, { clock: runtime.clock, timeoutMs: runtime.limits.checkTimeoutMs });
    return {
      replay: async (workflowId, caller) => replayTurns(await reading.rows(workflowId, caller)),
      async *whatIf(asked, caller) {
        await authorize(caller, "outcome:read");
        return yield* whatIf(asked, { store: reported, registry, caller, ...policies });
      },
      async *doctor(asked = {}, caller) {
        await authorize(caller, "outcome:read");
        return yield* examine(asked, { store: reported, reading, registry }, caller);
      },
      deliveries: async () => (await store.deliveries?.counts()) ?? [],
      redeliver: async (notifier) => {
        const count = (await store.deliveries?.retryFailed(notifier, runtime.clock.now())) ?? 0;
        notices?.wake();
        return count;
      },
      bus: { signals: bus.signals, items: bus.items },
      ask: (tier, signal) => this.#serve(() => bus.ask(tier, signal)),
      ready: () => this.#serve(ready),
      lag: () => this.#serve(async () => (await store.lag?.()) ?? { rows: 0, transactions: 0, oldest_ms: 0 }),
      holds: () => this.#serve(() => countHeld(reported)),
      vitals: () => ({
        workflows: executor.count(),
        actors: lifecycles.count(),
        listeners: feed.listeners() + bus.observers(),
        timers: timers.armed(),
        waiting: bus.waiting(),
        places: places.running,
        submits: places.waiting,
        lease_age: registration.ageMs,
      }),
      system: supervision.root.system,
      lifecycles: (workflowId) => lifecycles.states(workflowId),
    };
  }

  #settled(workflowId: string, signal?: AbortSignal): Promise<WorkflowState> {
    return awaitSettled(this.#parts, workflowId, () => this.#stopping !== null, signal);
  }

  #stop(drainMs: number): Promise<void> {
    this.schedules.stop();
    this.#stopping ??= stopParts(this.#parts, { drainMs, serves: () => this.#served > 0 }).finally(() => {
      this.#closed = true;
    });
    return this.#stopping;
  }
}

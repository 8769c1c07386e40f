/**
 * The embedded host: where turns run by default, in the process that made the kernel.
 *
 * Owns: taking up what nobody holds, waking what falls due, keeping leases alive, noticing what other processes wrote.
 * Never: decides anything about a workflow.
 * H1  Recovery takes only what nobody holds.
 * H2  `stop` leaves no timer behind.
 */
import type { Clock } from "../../ports/clock.ts";
import type { Lease, LedgerStore } from "../../ports/ledger-store.ts";
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
  readonly maxInFlight: number;
  /** Wakes a workflow and lets it go on. */
  readonly wake: (workflowId: string) => Promise<void>;
  /** Logs that are awake here. */
  readonly logs: () => readonly WorkflowLog[];
  /** Something was appended by another process to a workflow that is awake here. */
  readonly onForeign: (log: WorkflowLog) => void;
}

export interface EmbeddedHost {
  /** Takes up unfinished workflows that nobody holds, now and after each lease; resolves when each has been woken. */
  readonly recover: () => Promise<number>;
  /** Looks again at when the next resting workflow falls due. */
  readonly armDue: () => Promise<void>;
  /** Renews leases and watches for foreign appends while anything is awake. */
  readonly watch: () => void;
  /** A workflow has left memory: its due time is kept, its lease given up, a lost one is folded again. */
  readonly rested: (log: WorkflowLog) => void;
  readonly stop: () => void;
}

const page = 256;
const foldAgainAfterMs = 1000;

export function createEmbeddedHost(options: EmbeddedHostOptions): EmbeddedHost {
  const { store, clock, timers, logger } = options;
  let stopped = false;
  let watching = false;
  let armedFor: number | null = null;

  const attempt = (work: () => Promise<unknown>, failure: string) => (): void =>
    void work().catch((error: unknown) => logger.error({ error }, failure));

  const wakeAll = async (ids: readonly string[]): Promise<void> => {
    const wakeOne = (id: string) =>
      options
        .wake(id)
        .catch((error: unknown) => logger.error({ error, workflow_id: id }, "a workflow could not be taken up"));
    await Promise.all(ids.map(wakeOne));
  };

  const fireDue = async (): Promise<void> => {
    if (stopped) return;
    armedFor = null;
    const due = await store.due(clock.now(), page);
    await wakeAll(due.map((h) => h.workflow_id));
    await armDue();
  };

  const armFor = (at: number | null): void => {
    armedFor = at;
    timers.alarm("due", at, attempt(fireDue, "due workflows could not be read"), false);
  };

  const armDue = async (): Promise<void> => {
    if (stopped) return;
    const next = await store.nextDue();
    if (!stopped) armFor(next);
  };

  const renew = async (): Promise<void> => {
    watching = false;
    const logs = options.logs();
    if (logs.length === 0 || stopped) return;
    watch();
    await renewLeases(options, logs);
  };

  const look = async (): Promise<void> => {
    const logs = options.logs();
    if (logs.length === 0 || stopped) return;
    for (const log of logs) if (await log.refresh().catch(() => false)) options.onForeign(log);
    if (!stopped) armLook();
  };

  const armLook = (): void =>
    timers.alarm("tail", clock.now() + options.tailPollMs, attempt(look, "the ledger's tail could not be read"));

  const watch = (): void => {
    if (stopped || watching) return;
    watching = true;
    timers.alarm("leases", clock.now() + options.leaseMs / 3, attempt(renew, "leases could not be renewed"));
    armLook();
  };

  /** Until it works: the ledger may be away for a while. */
  const foldAgain = (log: WorkflowLog): void => {
    const { workflow_id } = log.identity;
    if (stopped || log.lost === null || log.confirmed === 0 || log.lost.code === "T4_WORKFLOW_LEASED") return;
    const again = (): Promise<void> =>
      options.wake(workflow_id).catch((error: unknown) => {
        foldAgain(log);
        throw error;
      });
    const fire = attempt(again, "a lost workflow could not be folded again");
    timers.alarm(`again:${workflow_id}`, clock.now() + foldAgainAfterMs, fire, false);
  };

  const recover = async (): Promise<number> => {
    let taken = 0;
    const seen = new Set<string>();
    armRecovery();
    for (;;) {
      const found = (await store.abandoned(clock.now(), page)).filter((h) => !seen.has(h.workflow_id));
      for (const { workflow_id } of found) seen.add(workflow_id);
      if (found.length === 0 || stopped) return taken;
      await wakeAll(found.map((h) => h.workflow_id));
      taken += found.length;
    }
  };

  /** What a dead process held is free only once its lease has run out, so recovery looks again after each lease. */
  const armRecovery = (): void => {
    if (stopped) return;
    const failure = "abandoned workflows could not be read";
    timers.alarm("recovery", clock.now() + options.leaseMs, attempt(recover, failure));
  };

  return {
    armDue,
    watch,
    rested(log) {
      if (stopped) return;
      foldAgain(log);
      const due = log.due;
      if (due !== null && (armedFor === null || due < armedFor)) armFor(due);
      if (log.lease === null || log.lost !== null) return;
      attempt(() => store.release(log.identity.workflow_id, log.lease as Lease), "a lease could not be given up")();
    },
    recover,
    stop() {
      stopped = true;
      timers.clear();
    },
  };
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

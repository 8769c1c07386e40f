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
  readonly maxInFlight: number;
  /** Wakes a workflow and lets it go on. */
  readonly wake: (workflowId: string) => Promise<void>;
  /** Logs that are awake here. */
  readonly logs: () => readonly WorkflowLog[];
  /** Something was appended by another process to a workflow that is awake here. */
  readonly onForeign: (log: WorkflowLog) => void;
}

export interface EmbeddedHost {
  /** Takes up unfinished workflows that nobody holds, now and again after each lease; resolves when each has been woken. */
  readonly recover: () => Promise<number>;
  /** Looks again at when the next resting workflow falls due. */
  readonly armDue: () => Promise<void>;
  /** Begins renewing leases and watching for foreign appends while anything is awake. */
  readonly watch: () => void;
  readonly stop: () => void;
}

const page = 256;

export function createEmbeddedHost(options: EmbeddedHostOptions): EmbeddedHost {
  const { store, clock, timers, logger } = options;
  let stopped = false;

  const wakeAll = async (ids: readonly string[]): Promise<void> => {
    await Promise.all(
      ids.map((id) =>
        options
          .wake(id)
          .catch((error: unknown) => logger.error({ error, workflow_id: id }, "a workflow could not be taken up")),
      ),
    );
  };

  const fireDue = async (): Promise<void> => {
    if (stopped) return;
    const due = await store.due(clock.now(), page);
    await wakeAll(due.map((h) => h.workflow_id));
    await armDue();
  };

  const armDue = async (): Promise<void> => {
    if (stopped) return;
    const next = await store.nextDue();
    if (!stopped)
      timers.alarm(
        "due",
        next,
        () => void fireDue().catch((error: unknown) => logger.error({ error }, "due workflows could not be read")),
        false,
      );
  };

  const tend = async (): Promise<void> => {
    const logs = options.logs();
    if (logs.length === 0 || stopped) return;
    await renewLeases(options, logs);
    watch();
  };

  const watch = (): void => {
    if (stopped) return;
    timers.alarm(
      "leases",
      clock.now() + options.leaseMs / 3,
      () => void tend().catch((error: unknown) => logger.error({ error }, "leases could not be renewed")),
    );
    timers.alarm(
      "tail",
      clock.now() + options.tailPollMs,
      () => void look().catch((error: unknown) => logger.error({ error }, "the ledger's tail could not be read")),
    );
  };

  const look = async (): Promise<void> => {
    const logs = options.logs();
    if (logs.length === 0 || stopped) return;
    for (const log of logs) if (await log.refresh().catch(() => false)) options.onForeign(log);
    if (!stopped)
      timers.alarm(
        "tail",
        clock.now() + options.tailPollMs,
        () => void look().catch((error: unknown) => logger.error({ error }, "the ledger's tail could not be read")),
      );
  };

  const recover = async (): Promise<number> => {
    let taken = 0;
    const seen = new Set<string>();
    for (;;) {
      const found = (await store.abandoned(clock.now(), page)).filter((h) => !seen.has(h.workflow_id));
      for (const { workflow_id } of found) seen.add(workflow_id);
      if (found.length === 0 || stopped) break;
      await wakeAll(found.map((h) => h.workflow_id));
      taken += found.length;
    }
    armRecovery();
    return taken;
  };

  /** What another process left is free only once its lease has run out: look again after as long. */
  const armRecovery = (): void => {
    if (stopped) return;
    timers.alarm("recovery", clock.now() + options.leaseMs, () =>
      void recover().catch((error: unknown) => {
        logger.error({ error }, "abandoned workflows could not be read");
        armRecovery();
      }),
    );
  };

  return {
    armDue,
    watch,
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
    log.lease === null ? [] : [{ workflow_id: log.identity.workflow_id, lease: log.lease }],
  );
  await store.renew(held, clock.now(), leaseMs);
}

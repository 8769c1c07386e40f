/**
 * The executor: which workflows are awake in this process, and how one is brought to life from the ledger.
 *
 * Owns: the runs. Never: what a run does.
 * E1  One run per workflow at a time; commands to a workflow go through its run.
 * E2  A run that rests leaves memory; the next command folds it again from the ledger.
 * E3  A session (marks `session.open`, `session.close`) lasts from waking to resting; every ledger write of the run is in it.
 */

import { foldEvents } from "../../../machines/fold.ts";
import { type KernelError, raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { LedgerEvent } from "../../contract/event.ts";
import { openTurn, type TurnRow } from "../../contract/turn.ts";
import type { WorkflowRecord } from "../../contract/workflow.ts";
import type { LedgerStore, WorkflowHead } from "../../ports/ledger-store.ts";
import type { Kit } from "../../runtime/kit.ts";
import type { LedgerWriter } from "../../runtime/ledger-writer.ts";
import type { LifecycleHost } from "../../runtime/lifecycle-host.ts";
import { type LogServices, type NewWorkflow, WorkflowLog } from "../../runtime/workflow-log.ts";
import type { Desk } from "./run.ts";
import { oodaRef } from "./run.ts";
import { WorkflowRun } from "./workflow-run.ts";

export interface ExecutorOptions {
  readonly store: LedgerStore;
  readonly writer: LedgerWriter;
  readonly kit: Kit;
  readonly desk: Desk;
  readonly lifecycles: LifecycleHost;
  readonly owner: string;
  /** Told after each commit. */
  readonly onCommitted: (log: WorkflowLog, events: readonly LedgerEvent[]) => void;
  /** Told when a run has ended or rests. */
  readonly onRest: (run: WorkflowRun) => void;
}

export interface Executor {
  /** A run for a workflow that has no events yet. */
  readonly begin: (identity: NewWorkflow, parentId: string | null) => WorkflowRun;
  /** Works on a workflow's run, waking it if need be. @throws T4_WORKFLOW_NOT_FOUND. */
  readonly withRun: <T>(
    workflowId: string,
    parentId: string | null,
    work: (run: WorkflowRun) => Promise<T>,
  ) => Promise<T>;
  /** Appends to a workflow that another process holds: the owner notices and performs. */
  readonly awake: (workflowId: string) => WorkflowRun | null;
  readonly count: () => number;
  readonly runs: () => readonly WorkflowRun[];
  /** Drops every run; they are folded again when needed (after a crash of T4). */
  readonly dropAll: () => readonly string[];
}

const executorRef = oodaRef("execute");

export function createExecutor(options: ExecutorOptions): Executor {
  const { store, kit, desk, lifecycles } = options;
  const runs = new Map<string, WorkflowRun>();
  const waking = new Map<string, Promise<WorkflowRun>>();
  const services: LogServices = {
    kit,
    writer: options.writer,
    owner: options.owner,
    read: (id, after) => store.read(id, after),
    onCommitted(log, events) {
      if (runs.has(log.identity.workflow_id)) lifecycles.deliver(log.identity.workflow_id, events);
      options.onCommitted(log, events);
    },
  };

  const rest = (run: WorkflowRun): void => {
    const id = run.log.identity.workflow_id;
    if (run.isBusy || runs.get(id) !== run || (run.handles.size > 0 && run.log.lost === null)) return;
    runs.delete(id);
    lifecycles.sleep(id);
    kit.telemetry.mark("session.close", { workflow_id: id });
    options.onRest(run);
  };

  const host = { kit, desk, onRest: rest };

  const adopt = (log: WorkflowLog, parentId: string | null): WorkflowRun => {
    const run = new WorkflowRun(log, host, parentId);
    runs.set(log.identity.workflow_id, run);
    kit.telemetry.mark("session.open", { workflow_id: log.identity.workflow_id });
    return run;
  };

  const wake = async (workflowId: string, parentId: string | null): Promise<WorkflowRun> => {
    const head = (await store.head(workflowId)) ?? raise(notFound(workflowId));
    const rows = await store.read(workflowId);
    const record = foldEvents(rows.flatMap(openTurn)) ?? raise(notFound(workflowId));
    const log = new WorkflowLog(identityOf(record), services, { record, last: rows.at(-1) as TurnRow, head });
    adoptLease(log, head, { owner: options.owner, now: kit.clock.now() });
    const run = adopt(log, parentId);
    lifecycles.wake(record);
    return run;
  };

  return {
    begin(identity, parentId) {
      const run = adopt(new WorkflowLog(identity, services), parentId);
      return run;
    },
    async withRun(workflowId, parentId, work) {
      for (;;) {
        const live = runs.get(workflowId);
        if (live !== undefined && live.log.lost === null) return live.use(() => work(live));
        const pending = waking.get(workflowId) ?? wake(workflowId, parentId).finally(() => waking.delete(workflowId));
        waking.set(workflowId, pending);
        await pending;
      }
    },
    awake: (workflowId) => runs.get(workflowId) ?? null,
    count: () => runs.size,
    runs: () => [...runs.values()],
    dropAll() {
      const ids = [...runs.keys()];
      const error = kernelError("T0_TIER_CRASHED", "the execution tier was restarted", executorRef);
      for (const run of runs.values()) {
        run.log.abandon(error);
        run.interrupt();
      }
      runs.clear();
      lifecycles.clear();
      return ids;
    },
  };
}

const notFound = (workflowId: string): KernelError =>
  kernelError("T4_WORKFLOW_NOT_FOUND", `there is no workflow ${workflowId}`, executorRef, {
    detail: { workflow_id: workflowId },
  });

function identityOf(record: WorkflowRecord): NewWorkflow {
  const { tenant_id, workflow_id, thread_id, correlation_id, intent } = record;
  return {
    tenant_id,
    workflow_id,
    thread_id,
    correlation_id,
    intent_id: intent.intent_id,
    plan_id: record.plans[0]?.plan_id ?? record.plan_id,
  };
}

/** The lease this process holds already is kept; one that another holds is refused before anything is decided. */
function adoptLease(
  log: WorkflowLog,
  head: WorkflowHead,
  { owner, now }: { readonly owner: string; readonly now: number },
): void {
  const held = head.owner !== null && (head.expires_at ?? 0) > now;
  if (!held) return;
  if (head.owner === owner) return log.setLease({ owner, epoch: head.epoch, expires_at: head.expires_at as number });
  log.markForeign();
}

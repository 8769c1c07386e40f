/**
 * The executor: which workflows are awake in this process, and how one is brought to life from the ledger.
 *
 * Owns: the runs. Never: what a run does.
 * E1  One run per workflow at a time; commands to a workflow go through its run.
 * E2  A run that rests leaves memory; the next command folds it again from the ledger.
 * E3  A session (marks `session.open`, `session.close`) lasts from waking to resting; every ledger write of the run is in it.
 */

import { type KernelError, raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { LedgerEvent } from "../../contract/event.ts";
import type { TurnRow } from "../../contract/turn.ts";
import type { WorkflowRecord } from "../../contract/workflow.ts";
import type { LedgerStore, WorkflowHead } from "../../ports/ledger-store.ts";
import type { Kit } from "../../runtime/kit.ts";
import type { LedgerWriter } from "../../runtime/ledger-writer.ts";
import type { LifecycleHost } from "../../runtime/lifecycle-host.ts";
import type { LogServices, NewWorkflow } from "../../runtime/log-services.ts";
import { readStream } from "../../runtime/read-turns.ts";
import { createLiveSource, type TurnSource } from "../../runtime/turn-source.ts";
import { WorkflowLog } from "../../runtime/workflow-log.ts";
import type { Desk } from "./run.ts";
import { oodaRef } from "./run.ts";
import { type RunHost, WorkflowRun } from "./workflow-run.ts";

export interface ExecutorOptions {
  readonly store: LedgerStore;
  readonly writer: LedgerWriter;
  readonly kit: Kit;
  readonly desk: Desk;
  readonly lifecycles: LifecycleHost;
  readonly owner: string;
  /** Where turns get their instants and ids; a replay brings its own. */
  readonly sourceOf?: (workflowId: string) => TurnSource;
  /** Told after each commit; `own` is false for what another process appended. */
  readonly onCommitted: (log: WorkflowLog, events: readonly LedgerEvent[], own: boolean) => void;
  /** Told when a run has ended or rests. */
  readonly onRest: (run: WorkflowRun) => void;
}

const executorRef = oodaRef("execute");

export class Executor {
  readonly #options: ExecutorOptions;
  readonly #services: LogServices;
  readonly #host: RunHost;
  readonly #runs = new Map<string, WorkflowRun>();
  readonly #waking = new Map<string, Promise<WorkflowRun>>();

  constructor(options: ExecutorOptions) {
    this.#options = options;
    const { kit, desk, store, writer, owner, sourceOf } = options;
    this.#host = { kit, desk, onRest: (run) => this.#rest(run) };
    this.#services = {
      kit,
      sourceOf: sourceOf ?? (() => createLiveSource(kit)),
      writer,
      owner,
      read: (id, after) => store.read(id, after),
      onCommitted: (log, events) => this.#committed(log, events, true),
      onForeign: (log, events) => this.#overtaken(log, events),
    };
  }

  /** A run for a workflow that has no events yet. */
  begin(identity: NewWorkflow, parentId: string | null): WorkflowRun {
    return this.#adopt(new WorkflowLog(identity, this.#services), parentId);
  }

  /**
   * Works on a workflow's run, waking it if need be. Where another process's append came first, what was decided is
   * decided again on what stands now. @throws T4_WORKFLOW_NOT_FOUND.
   */
  async withRun<T>(workflowId: string, parentId: string | null, work: (run: WorkflowRun) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      const run = await this.#liveRun(workflowId, parentId);
      try {
        return await run.use(() => work(run));
      } catch (thrown) {
        if (!overtaken.has(run.log.lost?.code ?? "") || tries === maxTries) throw thrown;
      }
    }
  }

  async #liveRun(workflowId: string, parentId: string | null): Promise<WorkflowRun> {
    for (;;) {
      const live = this.#runs.get(workflowId);
      if (live !== undefined && live.log.lost === null) return live;
      await this.#wakeOnce(workflowId, parentId);
    }
  }

  awake(workflowId: string): WorkflowRun | null {
    return this.#runs.get(workflowId) ?? null;
  }

  count(): number {
    return this.#runs.size;
  }

  runs(): readonly WorkflowRun[] {
    return [...this.#runs.values()];
  }

  /** Drops every run and names them; they are folded again when needed (after a crash of T4). */
  dropAll(): readonly string[] {
    const ids = [...this.#runs.keys()];
    const error = kernelError("T0_TIER_CRASHED", "the execution tier was restarted", executorRef);
    for (const run of this.#runs.values()) {
      run.log.abandon(error);
      run.interrupt();
    }
    this.#runs.clear();
    this.#options.lifecycles.clear();
    return ids;
  }

  #committed(log: WorkflowLog, events: readonly LedgerEvent[], own: boolean): void {
    const { lifecycles, onCommitted } = this.#options;
    if (this.#runs.get(log.identity.workflow_id)?.log === log) lifecycles.deliver(log.identity.workflow_id, events);
    onCommitted(log, events, own);
  }

  /** What another process appended reaches actors and readers like our own; the run looks at what follows from it. */
  #overtaken(log: WorkflowLog, events: readonly LedgerEvent[]): void {
    this.#committed(log, events, false);
    const run = this.#runs.get(log.identity.workflow_id);
    if (run?.log === log) run.drive();
  }

  #rest(run: WorkflowRun): void {
    const { lifecycles, kit, onRest } = this.#options;
    const id = run.log.identity.workflow_id;
    const holdsCalls = run.handles.size > 0 && run.log.lost === null;
    if (run.isBusy || run.isAsleep || holdsCalls || this.#runs.get(id) !== run) return;
    this.#runs.delete(id);
    lifecycles.sleep(id);
    kit.telemetry.mark("session.close", { workflow_id: id });
    onRest(run);
  }

  #adopt(log: WorkflowLog, parentId: string | null): WorkflowRun {
    const run = new WorkflowRun(log, this.#host, parentId);
    this.#runs.set(log.identity.workflow_id, run);
    this.#options.kit.telemetry.mark("session.open", { workflow_id: log.identity.workflow_id });
    return run;
  }

  #wakeOnce(workflowId: string, parentId: string | null): Promise<WorkflowRun> {
    const begin = (): Promise<WorkflowRun> =>
      this.#wake(workflowId, parentId).finally(() => this.#waking.delete(workflowId));
    const waking = this.#waking.get(workflowId) ?? begin();
    this.#waking.set(workflowId, waking);
    return waking;
  }

  async #wake(workflowId: string, parentId: string | null): Promise<WorkflowRun> {
    const { store, kit, owner, lifecycles } = this.#options;
    const head = (await store.head(workflowId)) ?? raise(notFound(workflowId));
    const rows = await store.read(workflowId);
    const record = readStream(workflowId, rows).record ?? raise(notFound(workflowId));
    const log = new WorkflowLog(identityOf(record), this.#services, { record, last: rows.at(-1) as TurnRow, head });
    adoptLease(log, head, { owner, now: kit.clock.now() });
    const run = this.#adopt(log, parentId);
    lifecycles.wake(record);
    return run;
  }
}

const maxTries = 8;

/** How a log is lost to another process. */
const overtaken: ReadonlySet<string> = new Set(["T0_LEDGER_CONFLICT", "T4_WORKFLOW_LEASED"]);

/** What is said of a workflow that is not there, and of another tenant's: the same, to the byte. */
export const notFound = (workflowId: string): KernelError =>
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

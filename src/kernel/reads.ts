/**
 * The kernel's reads: views and projections of the committed ledger.
 */
import { foldEvents, foldWorkflow } from "../../machines/fold.ts";
import { type Caller, tenantOf } from "../contract/auth-context.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import type { LedgerEvent } from "../contract/event.ts";
import { readStrictly } from "../contract/known-keys.ts";
import { ItemFilter } from "../contract/listed-item.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { KernelProgress } from "../contract/progress.ts";
import { openEnvelope, type TurnRow } from "../contract/turn.ts";
import type { WorkflowRecord } from "../contract/workflow.ts";
import type { WorkflowState } from "../contract/workflow-state.ts";
import type { Registry } from "../engine/actors/registry.ts";
import type { Runtime } from "../engine/actors/runtime.ts";
import type { LedgerReading } from "../engine/follow/ledger-reader.ts";
import type { TenantFeed } from "../engine/follow/tenant-feed.ts";
import type { Projection } from "../engine/follow/workflow-tails.ts";
import { readable } from "../engine/log/read-turns.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import { viewing } from "../protocol/viewing.ts";
import { traceOf, viewWorkflow } from "../tiers/t4-execution/build-trace.ts";
import { composeEvidence } from "../tiers/t6-metacognition/compose-evidence.ts";
import { explainWorkflow } from "../tiers/t6-metacognition/explain.ts";
import { projectAudit } from "../tiers/t6-metacognition/project-audit.ts";
import { projectItems } from "../tiers/t6-metacognition/project-items.ts";
import { assistantDeltas, progressAfter, progressOf } from "../tiers/t6-metacognition/project-progress.ts";
import { completeGates, type ReadGate } from "./complete-gate.ts";
import { gateReader } from "./describe-seat.ts";
import type { AtSequence, Channels, Follow, Kernel, Numbered } from "./kernel-interface.ts";
import { createLists, type ListParts } from "./lists.ts";
import { numberReports, readReports } from "./reports.ts";
import { verifyAll, verifyOne } from "./verify.ts";

type Reads = Pick<
  Kernel,
  | "workflow"
  | "workflows"
  | "gates"
  | "gate"
  | "items"
  | "outcomes"
  | "actions"
  | "events"
  | "progress"
  | "assistant"
  | "channel"
  | "feed"
  | "trace"
  | "explain"
  | "audit"
  | "evidence"
  | "verify"
  | "export"
>;

export const viewOf = (record: WorkflowRecord, registry: Registry, read: ReadGate = null): WorkflowState =>
  completeGates(viewWorkflow(record, progressOf(record)), { known: registry, read });

export interface ReadParts {
  readonly store: LedgerStore;
  readonly reading: LedgerReading;
  readonly tenantFeed: TenantFeed;
  readonly registry: Registry;
  readonly runtime: Runtime;
  readonly same: ListParts["same"];
  /** The tenants that have stand-ins, as this process knows them. */
  readonly standIns: ListParts["standIns"];
  /** Rejects a caller who lacks the scope; the embedding host itself, without a caller, has all scopes. */
  readonly authorize: ListParts["authorize"];
}

export function createReads(parts: ReadParts): Reads {
  const { store, reading, tenantFeed, registry, runtime, authorize } = parts;
  const isModelCall = (operator: string): boolean => registry.findOperator(operator)?.metadata.kind === "llm";
  return {
    ...createLists(parts),
    async workflow(workflowId, caller, options) {
      const read = caller === undefined ? null : await gateReader(parts, caller);
      return reading.tell(workflowId, caller, (now, events) => viewOf(recordAt(now, events, options), registry, read));
    },
    items: async (workflowId, filter = {}, caller) => {
      const read = readStrictly(ItemFilter, filter, { what: "filter", source: readsRef });
      return reading.tell(workflowId, caller, (record) => projectItems(record, read));
    },
    async outcomes(workflowId, caller) {
      await authorize(caller, "outcome:read");
      return reading.tell(workflowId, caller, (record) => ({
        workflow_id: record.workflow_id,
        outcomes: [...record.outcomes.values()].flat(),
      }));
    },
    actions: (workflowId, caller) =>
      reading.tell(workflowId, caller, (record) => [...record.actions.values()].map((a) => a.record)),
    events: (workflowId, options = {}, caller) =>
      followed(options, (by) => items(reading.channel(projections.events, workflowId, by, caller))),
    progress: (workflowId, options = {}, caller) =>
      followed(options, (by) => items(reading.channel(projections.progress, workflowId, by, caller))),
    assistant: (workflowId, options = {}, caller) =>
      followed(options, (by) => items(reading.channel(projections.assistant, workflowId, by, caller))),
    channel: (name, workflowId, options = {}, caller) =>
      followed(options, (by) => reading.channel(projections[name], workflowId, by, caller)),
    feed: (options = {}, caller) =>
      followed(options, async function* (by) {
        await authorize(caller, "outcome:read");
        yield* tenantFeed.follow(by, tenantOf(caller));
      }),
    trace: (workflowId, caller) => reading.tell(workflowId, caller, (record) => traceOf(record, isModelCall)),
    explain: (workflowId, caller, options = {}) =>
      reading.tell(workflowId, caller, (now, events) =>
        explainWorkflow(recordAt(now, events, options), events.slice(0, options.at)),
      ),
    async audit(workflowId, caller) {
      const events = await reading.events(workflowId, caller);
      return readable(workflowId, () => projectAudit(events));
    },
    async *evidence(workflowId, caller, { reports = [] } = {}) {
      const rows = await reading.rows(workflowId, caller);
      const { tenant_id } = openEnvelope(rows[0] as TurnRow);
      const kept = await readReports(store, { tenant_id, workflow_id: workflowId, limit: runtime.limits.maxReports });
      yield* readable(workflowId, () => composeEvidence(rows, [...kept, ...numberReports(reports)]));
    },
    async verify(workflowId, check, caller) {
      if (workflowId === undefined) {
        requireHost(caller);
        return verifyAll(store, check);
      }
      if (caller !== undefined) await reading.requireOwn(workflowId, caller);
      return verifyOne(store, workflowId, check);
    },
    async *export(workflowId, caller) {
      yield* await reading.rows(workflowId, caller);
    },
  };
}

/**
 * Refuses a caller: only the embedding host reads the whole ledger. @throws KernelErrorException T5_IDENTITY_VIOLATION.
 */
function requireHost(caller: Caller | undefined): void {
  if (tenantOf(caller) === undefined) return;
  const message =
    "the whole ledger is verified for the embedding host alone; a caller names a workflow of their tenant";
  raise(kernelError("T5_IDENTITY_VIOLATION", message, moduleRef(5, "identity", "verify")));
}

const readsRef = moduleRef(4, "workflow_log", "read_at");

/** Returns the record as it was after the event with that sequence. @throws T4_SEQUENCE_NOT_FOUND. */
export function recordAt(
  now: WorkflowRecord,
  events: readonly LedgerEvent[],
  options: AtSequence = {},
): WorkflowRecord {
  const { at } = options;
  if (at === undefined) return now;
  return (at <= events.length ? foldEvents(events.slice(0, at)) : null) ?? refuseSequence(at, events.length);
}

function refuseSequence(at: number, last: number): never {
  const message = `the ledger of this workflow has ${last} events; there is none at ${at}`;
  return raise(kernelError("T4_SEQUENCE_NOT_FOUND", message, readsRef, { detail: { at, last } }));
}

/** Progress is a fold of the log: it is rebuilt from the first event, wherever the reader begins. */
const progressChannel: Projection<KernelProgress> = {
  name: "progress",
  folds: true,
  begin() {
    let record: WorkflowRecord | null = null;
    return (event) => {
      record = foldWorkflow(record, event);
      const progress = record === null ? null : progressAfter(record, event);
      return progress === null ? [] : [progress];
    };
  },
};

const projections: { readonly [C in keyof Channels]: Projection<Channels[C]> } = {
  events: { name: "events", folds: false, begin: () => (event) => [event] },
  progress: progressChannel,
  assistant: { name: "assistant", folds: false, begin: () => assistantDeltas },
};

/** Its reader may leave at any time, also while it waits for the next item. */
const followed = <O extends Follow, T>(
  options: O,
  open: (options: O) => AsyncGenerator<T, void, void>,
): AsyncGenerator<T, void, void> => viewing((signal) => open({ ...options, signal }), options);

async function* items<T>(numbered: AsyncGenerator<Numbered<T>, void, void>): AsyncGenerator<T, void, void> {
  for await (const { item } of numbered) yield item;
}

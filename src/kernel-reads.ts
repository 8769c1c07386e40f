/**
 * The kernel's reads: views and projections of the committed ledger.
 */
import { z } from "zod";
import { foldWorkflow } from "../machines/fold.ts";
import { createSignatureAudit, type SignatureCheck } from "./adapters/verify-signatures.ts";
import type { Caller } from "./contract/auth-context.ts";
import { raise } from "./contract/error.ts";
import { kernelError } from "./contract/error-codes.ts";
import { plainGate } from "./contract/gate.ts";
import { ThreadId } from "./contract/ids.ts";
import { moduleRef } from "./contract/module-ref.ts";
import { type KernelProgress, WorkflowStateName } from "./contract/progress.ts";
import { checkRow, genesisHash, type TurnRow, verifyChain } from "./contract/turn.ts";
import type { WorkflowRecord } from "./contract/workflow.ts";
import type { WorkflowState } from "./contract/workflow-state.ts";
import type { Channels, Kernel, Numbered, Verification, WorkflowFilter } from "./kernel-face.ts";
import { tellGate, tellGates } from "./kernel-gates.ts";
import { numberReports, readReports } from "./kernel-reports.ts";
import { whatIf } from "./kernel-whatif.ts";
import type { LedgerStore } from "./ports/ledger-store.ts";
import type { Kit } from "./runtime/kit.ts";
import type { LedgerReading } from "./runtime/ledger-reader.ts";
import type { Registry } from "./runtime/registry.ts";
import type { TenantFeed } from "./runtime/tenant-feed.ts";
import type { Projection } from "./runtime/workflow-tails.ts";
import { traceOf, viewWorkflow } from "./tiers/t4-execution/build-trace.ts";
import type { PolicyEngine } from "./tiers/t5-ego/policy/evaluate-policies.ts";
import { composeEvidence } from "./tiers/t6-metacognition/compose-evidence.ts";
import { explainWorkflow } from "./tiers/t6-metacognition/explain.ts";
import { projectAudit } from "./tiers/t6-metacognition/project-audit.ts";
import { assistantDeltas, progressAfter, progressOf } from "./tiers/t6-metacognition/project-progress.ts";

type Reads = Pick<
  Kernel,
  | "workflow"
  | "workflows"
  | "gates"
  | "outcomes"
  | "actions"
  | "events"
  | "progress"
  | "assistant"
  | "channel"
  | "feed"
  | "trace"
  | "explain"
  | "whatIf"
  | "audit"
  | "evidence"
  | "verify"
  | "export"
>;

const pageSize = 50;
const page = { after: z.string().optional(), limit: z.int().positive().optional() };
const workflowFilter = z.object({
  states: z.array(WorkflowStateName).optional(),
  thread_id: ThreadId.optional(),
  intent_type: z.string().optional(),
  ...page,
});
const gateFilter = z.object({ workflow_id: z.string().optional(), ...page });

/** @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
function parseFilter<S extends z.ZodType>(schema: S, raw: unknown): z.output<S> {
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const message = `filter: ${z.prettifyError(parsed.error)}`;
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, moduleRef(0, "gateway", "list")));
}

export const viewOf = (record: WorkflowRecord, registry: Registry): WorkflowState =>
  tellGates(viewWorkflow(record, progressOf(record)), registry);

export interface ReadParts {
  readonly store: LedgerStore;
  readonly reading: LedgerReading;
  readonly tenantFeed: TenantFeed;
  readonly registry: Registry;
  readonly engine: PolicyEngine;
  /** Whether the kernel has the default stance. */
  readonly withDefault: boolean;
  readonly kit: Kit;
  /** Rejects for a caller who lacks the scope; the embedding host itself, without a caller, has all. */
  readonly authorize: (caller: Caller | undefined, needs: string) => Promise<void>;
}

export function createReads(parts: ReadParts): Reads {
  const { store, reading, tenantFeed, registry, kit, authorize, engine, withDefault } = parts;
  const tenant = (caller: Caller | undefined) => (caller === undefined ? {} : { tenant_id: caller.tenant_id });
  const isModelCall = (operator: string): boolean => registry.findOperator(operator)?.metadata.kind === "llm";
  return {
    workflow: async (workflowId, caller) => viewOf(await reading.readWorkflowState(workflowId, caller), registry),
    async workflows(filter: WorkflowFilter = {}, caller) {
      const heads = await store.heads({ limit: pageSize, ...parseFilter(workflowFilter, filter), ...tenant(caller) });
      return Promise.all(
        heads.map(async (head) => viewOf(await reading.readWorkflowState(head.workflow_id), registry)),
      );
    },
    // The index keeps gates as they were written; those of an older kernel lack what is new.
    gates: async (filter = {}, caller) =>
      (await store.gates({ ...parseFilter(gateFilter, filter), ...tenant(caller) })).map((gate) =>
        tellGate({ ...plainGate, ...gate }, registry),
      ),
    async outcomes(workflowId, caller) {
      await authorize(caller, "outcome:read");
      const record = await reading.readWorkflowState(workflowId, caller);
      return { workflow_id: record.workflow_id, outcomes: [...record.outcomes.values()].flat() };
    },
    actions: async (workflowId, caller) =>
      [...(await reading.readWorkflowState(workflowId, caller)).actions.values()].map((a) => a.record),
    events: (workflowId, options = {}, caller) =>
      items(reading.channel(projections.events, workflowId, options, caller)),
    progress: (workflowId, options = {}, caller) =>
      items(reading.channel(projections.progress, workflowId, options, caller)),
    assistant: (workflowId, options = {}, caller) =>
      items(reading.channel(projections.assistant, workflowId, options, caller)),
    channel: (name, workflowId, options = {}, caller) =>
      reading.channel(projections[name], workflowId, options, caller),
    async *feed(options = {}, caller) {
      await authorize(caller, "outcome:read");
      yield* tenantFeed.follow(options, caller?.tenant_id);
    },
    trace: async (workflowId, caller) => traceOf(await reading.readWorkflowState(workflowId, caller), isModelCall),
    async explain(workflowId, caller) {
      return explainWorkflow(
        await reading.readWorkflowState(workflowId, caller),
        await reading.events(workflowId, caller),
      );
    },
    async *whatIf(asked, caller) {
      await authorize(caller, "outcome:read");
      return yield* whatIf(asked, { store, registry, caller, engine, withDefault });
    },
    audit: async (workflowId, caller) => projectAudit(await reading.events(workflowId, caller)),
    async *evidence(workflowId, caller, { reports = [] } = {}) {
      const rows = await reading.rows(workflowId, caller);
      const { tenant_id } = JSON.parse((rows[0] as TurnRow).envelope) as { readonly tenant_id: string | number };
      const kept = await readReports(store, { tenant_id, workflow_id: workflowId, limit: kit.limits.maxReports });
      yield* composeEvidence(rows, [...kept, ...numberReports(reports)]);
    },
    verify: (workflowId, check) =>
      workflowId === undefined ? verifyAll(store, check) : verifyOne(store, workflowId, check),
    async *export(workflowId, caller) {
      yield* await reading.rows(workflowId, caller);
    },
  };
}

/** Progress is a fold of the log: it is rebuilt from the first event, whatever is told of it. */
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

async function* items<T>(numbered: AsyncGenerator<Numbered<T>, void, void>): AsyncGenerator<T, void, void> {
  for await (const { item } of numbered) yield item;
}

async function verifyOne(store: LedgerStore, stream: string, check?: SignatureCheck): Promise<Verification> {
  const rows = await store.read(stream);
  const link = verifyChain(rows);
  const audit = createSignatureAudit(check);
  if (link === null) rows.forEach(audit.see);
  const broken = link === null ? await audit.end() : [link];
  return { ok: broken.length === 0, checked: rows.length, broken };
}

const chunk = 1000;

/** All streams in one pass over the store, in position order. */
async function verifyAll(store: LedgerStore, check?: SignatureCheck): Promise<Verification> {
  const heads = new Map<string, { hash: string; next: number }>();
  const broken = new Map<string, Verification["broken"][number]>();
  const audit = createSignatureAudit(check);
  let checked = 0;
  for (let position = 0; ; ) {
    const rows = await store.tail(position, chunk);
    for (const { row } of rows) {
      checkNext(row, heads, broken);
      if (!broken.has(row.stream)) audit.see(row);
    }
    checked += rows.length;
    const last = rows.at(-1);
    if (last === undefined) {
      const all = [...broken.values(), ...(await audit.end())];
      return { ok: all.length === 0, checked, broken: all };
    }
    position = last.position;
  }
}

function checkNext(
  row: TurnRow,
  heads: Map<string, { hash: string; next: number }>,
  broken: Map<string, Verification["broken"][number]>,
): void {
  if (broken.has(row.stream)) return;
  const head = heads.get(row.stream) ?? { hash: genesisHash, next: 1 };
  const wrong = checkRow(row, head.hash, head.next);
  if (wrong !== null) broken.set(row.stream, wrong);
  heads.set(row.stream, { hash: row.hash, next: row.last_sequence + 1 });
}

/**
 * A workflow's log as its owner holds it: the folded record, and the events decided but not yet in the ledger.
 *
 * Owns: the turn's order: note (check, give id and sequence, fold) → commit (seal one row, append, then tell).
 * Never: decides anything.
 * L1  Memory may run ahead of the disk between `note` and `commit`, never outside a turn: nothing is told or performed
 *     before `commit` resolves.
 * L2  One row is under way at a time; what is noted meanwhile shares the next row.
 * L3  When somebody else's append came first (a decision of another process), the log is read again and what was noted
 *     is put behind it; what no longer fits the charts is dropped and logged.
 * L4  After a failed append the log is lost: every later use rejects, and the workflow is folded again from the ledger.
 */
import { acceptsEvent, foldEvents, foldWorkflow } from "../../machines/fold.ts";
import { type KernelError, KernelErrorException, raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import type { Actor, EventDraft, LedgerEvent } from "../contract/event.ts";
import type { Gate } from "../contract/gate.ts";
import type { JsonObject } from "../contract/json.ts";
import { moduleRef } from "../contract/module-ref.ts";
import {
  genesisHash,
  openTurn,
  sealTurn,
  type TurnEnvelope,
  type TurnEvent,
  type TurnRow,
  toLedgerEvent,
  turnSchemaVersion,
} from "../contract/turn.ts";
import type { WorkflowRecord } from "../contract/workflow.ts";
import { isTerminal } from "../contract/workflow.ts";
import type { AppendIndexes, Lease, WorkflowHead } from "../ports/ledger-store.ts";
import type { Kit } from "./kit.ts";
import type { LedgerWriter } from "./ledger-writer.ts";
import { errorOf } from "./within.ts";

const system: Actor = Object.freeze({ type: "system", id: "kernel" });
const logRef = moduleRef(4, "ledger", "commit");

/** Identity of a workflow before its first event. */
export interface NewWorkflow {
  readonly tenant_id: string | number;
  readonly workflow_id: string;
  readonly thread_id: string | number | null;
  readonly intent_id: string;
  readonly plan_id: string;
  readonly correlation_id: string;
}

export interface LogServices {
  readonly kit: Kit;
  readonly writer: LedgerWriter;
  readonly read: (workflowId: string, after: number) => Promise<readonly TurnRow[]>;
  readonly owner: string;
  /** Told after each commit, with the events that are now durable. */
  readonly onCommitted: (log: WorkflowLog, events: readonly LedgerEvent[]) => void;
}

interface Noted {
  readonly draft: EventDraft;
  readonly event: TurnEvent;
}

export class WorkflowLog {
  readonly identity: NewWorkflow;
  readonly #services: LogServices;
  #record: WorkflowRecord | null;
  #hash: string;
  #confirmed: number;
  #noted: Noted[] = [];
  #now = 0;
  #lease: Lease | null = null;
  #known: { state: string | null; due_at: number | null };
  #commit: Promise<void> | null = null;
  #lost: KernelError | null = null;
  #release = false;
  #foreign = false;

  constructor(
    identity: NewWorkflow,
    services: LogServices,
    rows: readonly TurnRow[] = [],
    head: WorkflowHead | null = null,
  ) {
    this.identity = identity;
    this.#services = services;
    this.#record = foldEvents(rows.flatMap(openTurn));
    this.#hash = rows.at(-1)?.hash ?? genesisHash;
    this.#confirmed = rows.at(-1)?.last_sequence ?? 0;
    this.#known = { state: head?.state ?? null, due_at: head?.due_at ?? null };
  }

  /** The record with everything noted so far. */
  get record(): WorkflowRecord {
    if (this.#record === null)
      return raise(kernelError("T4_WORKFLOW_NOT_FOUND", "the workflow has no events yet", logRef));
    return this.#record;
  }

  get exists(): boolean {
    return this.#record !== null;
  }

  get lease(): Lease | null {
    return this.#lease;
  }

  get lost(): KernelError | null {
    return this.#lost;
  }

  /** The last sequence that is durable. */
  get confirmed(): number {
    return this.#confirmed;
  }

  setLease(lease: Lease): void {
    this.#lease = lease;
  }

  /** Another process holds the workflow: appends carry no lease, and only decisions may be appended. */
  markForeign(): void {
    this.#foreign = true;
  }

  get foreign(): boolean {
    return this.#foreign;
  }

  /** Whether the charts let this happen now. */
  accepts(draft: EventDraft): boolean {
    return this.#record !== null && acceptsEvent(this.#record, draft);
  }

  /** Decides events: they get ids, a place and their effect on the record. @throws when lost or not accepted. */
  note(...drafts: readonly EventDraft[]): void {
    if (this.#lost !== null) raise(this.#lost);
    for (const draft of drafts) this.#noteOne(draft, system);
  }

  /** As `note`, in the name of a person. */
  noteBy(actor: Actor, ...drafts: readonly EventDraft[]): void {
    if (this.#lost !== null) raise(this.#lost);
    for (const draft of drafts) this.#noteOne(draft, actor);
  }

  #noteOne(draft: EventDraft, actor: Actor): void {
    if (this.#record !== null && !acceptsEvent(this.#record, draft)) {
      const detail = { event_type: draft.type, state: this.#record.state, step_id: draft.step_id };
      raise(
        kernelError(
          "T4_WORKFLOW_CONFLICT",
          `${draft.type} cannot happen while the workflow is ${this.#record.state}`,
          logRef,
          { detail },
        ),
      );
    }
    if (this.#noted.length === 0) this.#now = this.#services.kit.clock.now();
    const base = { id: this.#services.kit.ids.next("event"), type: draft.type, step: draft.step_id };
    const event: TurnEvent = { ...base, ...this.#differences(actor), payload: draft.payload as unknown as JsonObject };
    this.#noted.push({ draft, event });
    this.#fold(event, this.#confirmed + this.#noted.length);
  }

  #differences(actor: Actor): Partial<TurnEvent> {
    const plan = this.#record?.plan_id ?? this.identity.plan_id;
    return { ...(plan === this.identity.plan_id ? {} : { plan }), ...(actor === system ? {} : { actor }) };
  }

  #fold(event: TurnEvent, sequence: number): void {
    const envelope = this.#envelope(sequence, 1);
    this.#record = foldWorkflow(this.#record, toLedgerEvent(envelope, event, 0, new Date(this.#now).toISOString()));
  }

  #envelope(first: number, count: number): TurnEnvelope {
    const { tenant_id, workflow_id, thread_id, intent_id, plan_id, correlation_id } = this.identity;
    return {
      v: turnSchemaVersion,
      stream: workflow_id,
      tenant_id,
      workflow_id,
      thread_id,
      intent_id,
      plan_id,
      correlation_id,
      actor: system,
      now: this.#now,
      first,
      count,
    };
  }

  /** Gives the lease up with the next commit: the workflow parks or has ended. */
  releaseWithNext(): void {
    this.#release = true;
  }

  /** Makes everything noted durable. @throws KernelErrorException when the log is lost. */
  async commit(): Promise<void> {
    while (this.#commit !== null) await this.#commit;
    if (this.#lost !== null) raise(this.#lost);
    if (this.#noted.length === 0) return;
    this.#commit = this.#flush();
    try {
      await this.#commit;
    } finally {
      this.#commit = null;
    }
  }

  async #flush(): Promise<void> {
    for (let tries = 0; tries < 16; tries += 1) {
      if (await this.#appendNoted()) return;
      await this.#rebase();
      if (this.#noted.length === 0) return;
    }
    this.#lose(kernelError("T0_LEDGER_CONFLICT", "the workflow's log kept changing under its owner", logRef));
  }

  async #appendNoted(): Promise<boolean> {
    const noted = this.#noted;
    const envelope = this.#envelope(this.#confirmed + 1, noted.length);
    const row = sealTurn(
      envelope,
      noted.map((n) => n.event),
      this.#hash,
    );
    this.#noted = [];
    const at = this.#now;
    const indexes = this.#indexes(noted);
    const claims =
      this.#lease === null && !this.#foreign
        ? { owner: this.#services.owner, expires_at: at + this.#services.kit.limits.leaseMs }
        : undefined;
    const entry = {
      tenant_id: this.identity.tenant_id,
      row,
      now: at,
      indexes,
      ...(this.#lease === null ? {} : { lease: this.#lease }),
      ...(claims === undefined ? {} : { claim: claims }),
    };
    const receipt = await this.#services.writer
      .append(entry)
      .catch((error: unknown) => this.#lose(errorOf(error, "T0_LEDGER_UNAVAILABLE", logRef)));
    if (!receipt.ok) return this.#refused(receipt.reason, noted);
    if (claims !== undefined && receipt.epoch !== null) this.#lease = { ...claims, epoch: receipt.epoch };
    this.#confirmed = row.last_sequence;
    this.#hash = row.hash;
    if (indexes.release === true) this.#lease = null;
    const timestamp = new Date(at).toISOString();
    this.#services.onCommitted(
      this,
      noted.map((n, i) => toLedgerEvent(envelope, n.event, i, timestamp)),
    );
    return true;
  }

  #refused(reason: "clash" | "fenced" | "missing", noted: Noted[]): boolean {
    if (reason !== "clash")
      this.#lose(
        kernelError("T4_WORKFLOW_LEASED", "another process owns this workflow", logRef, { detail: { reason } }),
      );
    this.#noted = [...noted, ...this.#noted];
    return false;
  }

  /** Index changes that these events bring (LED-01). */
  #indexes(noted: readonly Noted[]): AppendIndexes {
    const record = this.#record;
    if (record === null) return {};
    const create = this.#confirmed === 0 ? this.#head(record) : undefined;
    const state = record.state === this.#known.state ? undefined : record.state;
    const due = dueOf(record);
    const dueChanged = due !== this.#known.due_at;
    this.#known = { state: record.state, due_at: due };
    const touched = noted.filter(({ draft }) => draft.type === "MEMORY_WRITTEN" || draft.type === "DOCUMENT_RECORDED");
    const release = this.#release || isTerminal(record.state);
    this.#release = false;
    return {
      ...(create === undefined ? {} : { create }),
      ...(state === undefined ? {} : { state }),
      ...(dueChanged ? { due_at: due } : {}),
      ...(release ? { release: true } : {}),
      ...gatesOf(record, noted),
      ...keysOf(record, noted),
      ...(touched.length === 0
        ? {}
        : {
            memory: touched.flatMap(({ draft }) => (draft.type === "MEMORY_WRITTEN" ? [draft.payload.record] : [])),
            documents: touched.flatMap(({ draft }) =>
              draft.type === "DOCUMENT_RECORDED" ? [draft.payload.record] : [],
            ),
          }),
    };
  }

  #head(record: WorkflowRecord): AppendIndexes["create"] {
    const { tenant_id, workflow_id, thread_id, correlation_id, intent } = record;
    return {
      tenant_id,
      workflow_id,
      thread_id,
      correlation_id,
      principal_id: intent.actor.id,
      intent_id: intent.intent_id,
      intent_type: intent.type,
      state: record.state,
      created_at: this.#now,
      updated_at: this.#now,
      due_at: null,
    };
  }

  /** Reads what others appended and puts what was noted behind it. */
  async #rebase(): Promise<void> {
    const rows = await this.#services
      .read(this.identity.workflow_id, 0)
      .catch((error: unknown) => this.#lose(errorOf(error, "T0_LEDGER_UNAVAILABLE", logRef)));
    const noted = this.#noted;
    const now = this.#now;
    this.#noted = [];
    this.#record = foldEvents(rows.flatMap(openTurn));
    this.#hash = rows.at(-1)?.hash ?? genesisHash;
    this.#confirmed = rows.at(-1)?.last_sequence ?? 0;
    this.#now = now;
    for (const item of noted) this.#noteAgain(item);
  }

  #noteAgain(item: Noted): void {
    if (this.#record !== null && !acceptsEvent(this.#record, item.draft)) {
      this.#services.kit.logger.warn(
        { workflow_id: this.identity.workflow_id, event_type: item.draft.type },
        "dropped: another append came first",
      );
      return;
    }
    this.#noted.push(item);
    this.#fold(item.event, this.#confirmed + this.#noted.length);
  }

  /** Takes in what another process appended, when nothing of ours is under way. True when there was something. */
  async refresh(): Promise<boolean> {
    if (this.#commit !== null || this.#noted.length > 0) return false;
    const before = this.#confirmed;
    const rows = await this.#services.read(this.identity.workflow_id, before);
    if (rows.length === 0 || this.#commit !== null || this.#noted.length > 0 || this.#confirmed !== before)
      return false;
    for (const event of rows.flatMap(openTurn)) this.#record = foldWorkflow(this.#record, event);
    this.#hash = rows.at(-1)?.hash ?? this.#hash;
    this.#confirmed = rows.at(-1)?.last_sequence ?? before;
    return true;
  }

  #lose(error: KernelError): never {
    this.#lost = error;
    throw new KernelErrorException(error);
  }
}

/** When something of this workflow falls due while it rests; null for none. */
export function dueOf(record: WorkflowRecord): number | null {
  if (isTerminal(record.state)) return null;
  const gates = [...record.gates.values()]
    .filter((g) => g.status === "open" && g.due_at !== null)
    .map((g) => Date.parse(g.due_at as string));
  const retries = [...record.steps.values()]
    .filter((s) => s.retry_due !== null)
    .map((s) => Date.parse(s.retry_due as string));
  const all = [...gates, ...retries];
  return all.length === 0 ? null : Math.min(...all);
}

const gateEvents: ReadonlySet<string> = new Set([
  "GATE_OPENED",
  "GATE_REVISED",
  "GATE_EXPIRED",
  "GATE_ESCALATED",
  "GATE_SUSPENDED",
  "USER_APPROVED",
  "USER_REJECTED",
]);

function gatesOf(record: WorkflowRecord, noted: readonly Noted[]): AppendIndexes {
  if (record.gates.size === 0) return {};
  const ended = isTerminal(record.state);
  const ids = new Set<string>();
  for (const { draft } of noted) {
    if (gateEvents.has(draft.type))
      ids.add(
        "gate_id" in draft.payload ? (draft.payload.gate_id as string) : (draft.payload as { gate: Gate }).gate.gate_id,
      );
  }
  if (ended) for (const id of record.gates.keys()) ids.add(id);
  const gates = [...ids].flatMap((id) => record.gates.get(id) ?? []);
  return gates.length === 0 ? {} : { gates };
}

/** Keys that other workflows must find: those bound to an applied outcome. */
function keysOf(record: WorkflowRecord, noted: readonly Noted[]): AppendIndexes {
  const keys = noted.flatMap(({ draft }) =>
    draft.type === "ACTION_STARTED" &&
    draft.payload.key.startsWith("apply:") &&
    record.keys.get(draft.payload.key) === draft.payload.action_id
      ? [{ key: draft.payload.key, action_id: draft.payload.action_id }]
      : [],
  );
  return keys.length === 0 ? {} : { keys };
}

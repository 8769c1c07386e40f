/**
 * A workflow's log as its owner holds it: the folded record, and the events decided but not yet in the ledger.
 *
 * Owns: the turn's order: note (check, give id and sequence, fold) → commit (seal one row, append, then tell).
 * Never: decides anything.
 * L1  Memory may run ahead of the disk between `note` and `commit`, never outside a turn: nothing is told or performed
 *     before `commit` resolves.
 * L2  One row is under way at a time; what is noted meanwhile shares the next row.
 * L3  When somebody else's append came first (a decision of another process), the log is read again and what was noted
 *     is put behind it; where anything no longer fits the charts, what rested on it does not either: the log is lost.
 * L4  After a failed append the log is lost: every later use rejects, and the workflow is folded again from the ledger.
 */
import { acceptsEvent } from "../../machines/charts.ts";
import { foldWorkflow } from "../../machines/fold.ts";
import { type KernelError, KernelErrorException, raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { type Actor, draft, type EventDraft, type EventPayloads, type EventType } from "../contract/event.ts";
import type { JsonObject } from "../contract/json.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { PolicyStage } from "../contract/policy.ts";
import {
  eventText,
  genesisHash,
  sealTexts,
  type TurnEnvelope,
  type TurnEvent,
  toLedgerEvent,
  turnSchemaVersion,
} from "../contract/turn.ts";
import { isTerminal, type WorkflowRecord } from "../contract/workflow.ts";
import type { Append, AppendIndexes, Lease } from "../ports/ledger-store.ts";
import { deriveIndexes, dueOf, headAfter, type KnownHead } from "./derive-indexes.ts";
import type { FoldedLog, LogServices, NewWorkflow } from "./log-services.ts";
import { type ReadStream, readStream } from "./read-turns.ts";
import type { DrawnId, TurnSource } from "./turn-source.ts";
import { errorOf } from "./within.ts";

const system: Actor = Object.freeze({ type: "system", id: "kernel" });
const logRef = moduleRef(4, "workflow_log", "commit");

interface Noted {
  readonly draft: EventDraft;
  readonly event: TurnEvent;
  /** The event as it will lie in the ledger: what is no JSON is refused here, and no commit can fail for it. */
  readonly text: string;
}

interface Sealed {
  readonly entry: Append;
  readonly noted: Noted[];
  readonly envelope: TurnEnvelope;
  /** What the head says once this row is in. */
  readonly known: KnownHead;
}

/** What somebody else may have written is written again with the next row. */
const unknownHead: KnownHead = { state: null, percent: null, due_at: undefined };

export class WorkflowLog {
  readonly identity: NewWorkflow;
  readonly #services: LogServices;
  readonly #source: TurnSource;
  #record: WorkflowRecord | null = null;
  #hash = genesisHash;
  #confirmed = 0;
  #noted: Noted[] = [];
  #now = 0;
  #stamped = { now: -1, text: "" };
  #lease: Lease | null = null;
  #known: KnownHead;
  #commit: Promise<void> | null = null;
  /** Events of the row that is being appended. */
  #underWay = 0;
  #lost: KernelError | null = null;
  #release = false;
  #foreign = false;

  constructor(identity: NewWorkflow, services: LogServices, past: FoldedLog | null = null) {
    this.identity = identity;
    this.#services = services;
    this.#source = services.sourceOf(identity.workflow_id);
    this.#takeIn({ record: past?.record ?? null, last: past?.last ?? null });
    this.#known = past?.head ?? { ...unknownHead, due_at: null };
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

  /** When something of the workflow falls due while it rests; epoch ms. */
  get due(): number | null {
    return this.#record === null ? null : dueOf(this.#record);
  }

  /** Whether anything is noted that is not durable yet. */
  get isDirty(): boolean {
    return this.#noted.length > 0;
  }

  /** Makes the log useless: its workflow is folded again elsewhere. */
  abandon(error: KernelError): void {
    this.#lost ??= error;
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

  /**
   * The instant of the turn under way, epoch ms; reading it begins one. To be read where the event that carries it is
   * noted, without waiting between, so that payload and envelope say the same.
   */
  instantOf(type: EventType, stepId: string | null): number {
    return this.#source.now(type, stepId);
  }

  /** The instant that a question to policy names; epoch ms. */
  instantOfQuestion(stage: PolicyStage, stepId: string | null): number {
    return this.#source.asked(stage, stepId);
  }

  /** When a step, or the workflow itself, may go on to what it notes next; null: at once. */
  turnOf(stepId: string | null): Promise<void> | null {
    return this.#source.turnOf(stepId);
  }

  /** An id for a record that an event of this step will carry. */
  drawId(kind: DrawnId, stepId: string | null): string {
    return this.#source.drawId(kind, stepId);
  }

  /** Decides events: they get ids, a place and their effect on the record. @throws when lost or not accepted. */
  note(...drafts: readonly EventDraft[]): void {
    this.noteBy(system, ...drafts);
  }

  /** As `note`, in the name of a person. */
  noteBy(actor: Actor, ...drafts: readonly EventDraft[]): void {
    for (const draft of drafts) this.#noteOne(draft, actor);
  }

  /** The ledger service of seed 003 section 5.8: each call gives the id of what it stored. Durable with the next commit. */
  appendEvent(draft: EventDraft): string {
    return this.#noteOne(draft, system);
  }

  /** The start of a key's action; gives the action's id. */
  recordAction(started: EventPayloads["ACTION_STARTED"], stepId: string): string {
    this.appendEvent(draft("ACTION_STARTED", started, stepId));
    return started.action_id;
  }

  /** A new version of an outcome, draft or final; gives the outcome's id. */
  recordOutcome(recorded: EventPayloads["OUTCOME_DRAFTED"], stepId: string): string {
    this.appendEvent(
      draft(recorded.outcome.status === "final" ? "OUTCOME_FINALIZED" : "OUTCOME_DRAFTED", recorded, stepId),
    );
    return recorded.outcome.outcome_id;
  }

  #noteOne(draft: EventDraft, actor: Actor): string {
    if (this.#lost !== null) raise(this.#lost);
    if (this.#record !== null && !acceptsEvent(this.#record, draft)) {
      const detail = { event_type: draft.type, state: this.#record.state, step_id: draft.step_id };
      const message = `${draft.type} cannot happen while the workflow is ${this.#record.state}`;
      raise(kernelError("T4_WORKFLOW_CONFLICT", message, logRef, { detail }));
    }
    const { id, now } = this.#source.stamp(draft);
    this.#now = now;
    const base = { id, type: draft.type, step: draft.step_id };
    const event: TurnEvent = {
      ...base,
      ...this.#differences(draft, actor),
      payload: draft.payload as unknown as JsonObject,
    };
    this.#noted.push({ draft, event, text: eventText(event) });
    this.#fold(event, this.#confirmed + this.#underWay + this.#noted.length);
    return event.id;
  }

  /** A plan's own event belongs to that plan already. */
  #differences(draft: EventDraft, actor: Actor): Partial<TurnEvent> {
    const current = this.#record?.plan_id ?? this.identity.plan_id;
    const plan = draft.type === "PLAN_CREATED" ? draft.payload.plan.plan_id : current;
    return { ...(plan === this.identity.plan_id ? {} : { plan }), ...(actor === system ? {} : { actor }) };
  }

  #fold(event: TurnEvent, sequence: number): void {
    this.#record = foldWorkflow(this.#record, toLedgerEvent(this.#envelope(sequence, 1), event, 0, this.#timestamp()));
  }

  /** One ISO text per instant: formatting a date costs more than folding an event. */
  #timestamp(): string {
    if (this.#stamped.now !== this.#now) this.#stamped = { now: this.#now, text: new Date(this.#now).toISOString() };
    return this.#stamped.text;
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

  /** The row is sealed when its transaction begins: whatever was noted until then is in it. */
  async #appendNoted(): Promise<boolean> {
    let sealed: Sealed | null = null;
    const receipt = await this.#services.writer
      .append(() => {
        // Lost while it waited for its turn: nothing of it may be written any more.
        if (this.#lost !== null) raise(this.#lost);
        sealed = this.#seal();
        return sealed.entry;
      })
      .catch((error: unknown) => this.#fail(error));
    this.#underWay = 0;
    const { entry, noted, envelope, known } = sealed as unknown as Sealed;
    if (!receipt.ok) return this.#refused(receipt.reason, sealed as unknown as Sealed);
    if (this.#lost !== null) raise(this.#lost);
    this.#known = known;
    if (entry.claim !== undefined && receipt.epoch !== null) this.#lease = { ...entry.claim, epoch: receipt.epoch };
    this.#confirmed = entry.row.last_sequence;
    this.#hash = entry.row.hash;
    if (entry.indexes?.release === true) this.#lease = null;
    const timestamp = new Date(entry.now).toISOString();
    const events = noted.map((n, i) => toLedgerEvent(envelope, n.event, i, timestamp));
    this.#services.onCommitted(this, events);
    return true;
  }

  #seal(): Sealed {
    const noted = this.#noted;
    const now = this.#now;
    const envelope = this.#envelope(this.#confirmed + 1, noted.length);
    const texts = noted.map((n) => n.text);
    const row = sealTexts(envelope, texts, this.#hash);
    this.#noted = [];
    this.#source.end();
    this.#underWay = noted.length;
    const { owner, kit } = this.#services;
    const claims = this.#lease === null && !this.#foreign;
    const indexes = this.#indexes(noted.map((n) => n.draft));
    const entry: Append = {
      tenant_id: this.identity.tenant_id,
      row,
      now,
      indexes,
      ...(this.#lease === null ? {} : { lease: this.#lease }),
      ...(claims ? { claim: { owner, expires_at: now + kit.limits.leaseMs } } : {}),
    };
    return { entry, noted, envelope, known: headAfter(this.#known, indexes) };
  }

  #indexes(drafts: readonly EventDraft[]): AppendIndexes {
    const record = this.#record;
    if (record === null) return {};
    const release = this.#release || isTerminal(record.state);
    this.#release = false;
    return deriveIndexes({ record, drafts, known: this.#known, isNew: this.#confirmed === 0, release, now: this.#now });
  }

  #refused(reason: "clash" | "fenced" | "missing" | "taken", { entry, noted }: Sealed): boolean {
    if (reason === "taken") this.#lose(kernelError("T4_WORKFLOW_CONFLICT", "another workflow has this key", logRef));
    if (reason !== "clash")
      this.#lose(
        kernelError("T4_WORKFLOW_LEASED", "another process owns this workflow", logRef, { detail: { reason } }),
      );
    this.#source.again(entry.now);
    this.#noted = [...noted, ...this.#noted];
    this.#release = entry.indexes?.release === true;
    return false;
  }

  /** Reads what others appended and puts what was noted behind it. */
  async #rebase(): Promise<void> {
    const { workflow_id } = this.identity;
    const reading = this.#services.read(workflow_id, 0).then((rows) => readStream(workflow_id, rows));
    const read = await reading.catch((error: unknown) => this.#fail(error));
    const [noted, before] = [this.#noted, this.#confirmed];
    this.#noted = [];
    this.#takeIn(read);
    for (const item of noted) this.#noteAgain(item);
    const theirs = read.events.filter((event) => event.sequence > before);
    this.#services.onForeign(this, theirs);
  }

  #takeIn({ record, last }: Pick<ReadStream, "record" | "last">): void {
    this.#known = unknownHead;
    this.#record = record;
    this.#hash = last?.hash ?? genesisHash;
    this.#confirmed = last?.last_sequence ?? 0;
  }

  #noteAgain(item: Noted): void {
    if (this.#record !== null && !acceptsEvent(this.#record, item.draft)) {
      const detail = { event_type: item.draft.type, state: this.#record.state };
      this.#lose(kernelError("T0_LEDGER_CONFLICT", "another process's append came first", logRef, { detail }));
    }
    this.#noted.push(item);
    this.#fold(item.event, this.#confirmed + this.#noted.length);
  }

  /** Takes in what another process appended, when nothing of ours is under way. True when there was something. */
  async refresh(): Promise<boolean> {
    if (this.#commit !== null || this.#noted.length > 0) return false;
    const before = this.#confirmed;
    const { workflow_id } = this.identity;
    const rows = await this.#services.read(workflow_id, before);
    if (rows.length === 0 || this.#commit !== null || this.#noted.length > 0 || this.#confirmed !== before)
      return false;
    const read = readStream(workflow_id, rows, { after: before, record: this.#record });
    this.#takeIn(read);
    this.#services.onForeign(this, read.events);
    return true;
  }

  #fail(thrown: unknown): never {
    return this.#lose(errorOf(thrown, "T0_LEDGER_UNAVAILABLE", logRef));
  }

  #lose(error: KernelError): never {
    this.#lost = error;
    throw new KernelErrorException(error);
  }
}

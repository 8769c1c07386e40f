/**
 * A workflow's log as its owner holds it: the folded record, and the events decided but not yet in the ledger.
 *
 * Owns: the turn's order: note (check, give id and sequence, fold) → flush (seal one row, append, tell the listener).
 * Never: decides anything, waits for anything.
 * 1.  Memory may be ahead of the disk between `note` and the listener's `committed`, never outside a turn.
 * 2.  One row is under way at a time; events that are noted meanwhile form the next row.
 * 3.  When another process's append came first, events that are not in the ledger are dropped, the log takes over the
 *     ledger's state, and the inputs are decided again.
 * 4.  After a failed append every later use throws, and the workflow is folded again from the ledger.
 * 5.  A parked log accepts nothing more. Only a parked log is handed over, and only once all noted events are in the
 *     ledger.
 * 6.  A row's result is reported while the lease is valid: if it ran out meanwhile, the store is asked first.
 */
import { acceptsEvent } from "../../../machines/charts.ts";
import { foldWorkflow } from "../../../machines/fold.ts";
import { type KernelError, KernelErrorException, raise } from "../../contract/error.ts";
import { type ErrorCode, kernelError } from "../../contract/error-codes.ts";
import { type Actor, draft, type EventDraft, type EventPayloads } from "../../contract/event.ts";
import { neverDue } from "../../contract/instant.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { endOf, type Shared, type StreamEnd, streamStart, system } from "../../contract/turn.ts";
import { isTerminal, type WorkflowRecord } from "../../contract/workflow.ts";
import type { Append, AppendIndexes, AppendReceipt, Lease } from "../../ports/ledger-store.ts";
import { errorOf } from "../actors/within.ts";
import { headAfter, type KnownHead } from "./derive-head.ts";
import { deriveIndexes, dueOf } from "./derive-indexes.ts";
import { heldLease } from "./held-lease.ts";
import { LogDurability } from "./log-durability.ts";
import type { FoldedLog, LogListener, LogServices, NewWorkflow } from "./log-services.ts";
import { NotedTurn, refuseEvent, type Sealed, sharedOfWorkflow, unknownHead } from "./noted-turn.ts";
import { type ReadStream, readStream } from "./read-turns.ts";
import { createTurnSource, type DrawnId, type TurnSource } from "./turn-source.ts";

const logRef = moduleRef(4, "workflow_log", "commit");

export class WorkflowLog {
  readonly identity: NewWorkflow;
  readonly #shared: Shared;
  readonly #services: LogServices;
  readonly #source: TurnSource;
  #record: WorkflowRecord | null = null;
  #end: StreamEnd;
  #confirmed = 0;
  #turn: NotedTurn;
  /** The position up to which committed events are durable as well. */
  readonly durability: LogDurability;
  #lease: Lease | null = null;
  #known: KnownHead;
  /** Events of the row that is being appended. */
  #underWay = 0;
  #flushing = false;
  #reading = false;
  #lost: KernelError | null = null;
  #rests = false;
  #release = false;
  #elsewhere = false;
  #listener: LogListener | null = null;
  #waiting: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];

  constructor(identity: NewWorkflow, services: LogServices, past: FoldedLog | null = null) {
    this.identity = identity;
    this.#shared = sharedOfWorkflow(identity);
    this.#services = services;
    this.#source = createTurnSource(services.runtime);
    this.durability = new LogDurability(services, {
      synced: () => {
        this.#listener?.synced();
        this.#notifyWaiting();
      },
      failed: (error) => this.#lose(errorOf(error, "T0_LEDGER_UNAVAILABLE", logRef)),
    });
    this.#end = past?.end ?? streamStart;
    this.#turn = new NotedTurn(this.#shared, this.#end);
    this.#takeIn({ record: past?.record ?? null, end: this.#end });
    this.#known = past?.head ?? { ...unknownHead, due_at: null };
  }

  listen(listener: LogListener): void {
    this.#listener = listener;
  }

  /** Returns the record with everything noted so far. */
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

  /** Returns whether no other process can have taken the workflow: this one sent its heartbeat in time. */
  get isHeld(): boolean {
    return this.#lease !== null && this.#lost === null && this.#services.registration.isValid;
  }

  /** Returns whether the store may name this kernel as the holder. */
  get mayBeHeld(): boolean {
    return this.#lease !== null || (this.#underWay > 0 && !this.#elsewhere);
  }

  get lost(): KernelError | null {
    return this.#lost;
  }
  /** Returns the instant at which something of the parked workflow falls due; epoch ms. */
  get due(): number | null {
    const due = this.#record === null ? null : dueOf(this.#record);
    return due === neverDue ? null : due;
  }

  /** Returns whether there are events that no row under way holds. */
  get isDirty(): boolean {
    return this.#turn.count > 0;
  }

  /** Returns whether the noted events must be written before more is decided: they are long, or end the workflow. */
  get isFull(): boolean {
    if (this.#turn.count === 0 || this.#elsewhere || this.#lost !== null) return false;
    return this.#turn.chars >= this.#services.runtime.limits.maxRowChars || isTerminal(this.record.state);
  }

  /** Returns whether everything noted is in the ledger. */
  get isSettled(): boolean {
    return this.#turn.count === 0 && !this.#flushing;
  }

  /** Returns whether another process's append is being read: until then nothing may be decided. */
  get isReading(): boolean {
    return this.#reading;
  }

  /** Fails the log: its workflow is folded again elsewhere. */
  abandon(error: KernelError): void {
    this.#lost ??= error;
  }

  /** Closes the log of a workflow that leaves memory: it accepts nothing, and calls its listener no more. */
  rest(): void {
    this.#rests = true;
    this.#listener = null;
  }

  /**
   * Hands its fold over to another log; null if not parked, or ahead of the ledger. This one is unusable afterwards.
   */
  handOver(error: KernelError): Pick<FoldedLog, "record" | "end"> | null {
    if (!this.#rests || !this.isSettled || this.#lost !== null) return null;
    const { record } = this;
    this.abandon(error);
    return { record, end: this.#end };
  }

  /** Returns the last committed sequence. */
  get confirmed(): number {
    return this.#confirmed;
  }

  /** Returns the sequence of the last noted event. */
  get position(): number {
    return this.#confirmed + this.#underWay + this.#turn.count;
  }

  setLease(lease: Lease): void {
    this.#lease = lease;
    this.#elsewhere = false;
  }

  /** Marks the workflow as held by another process: only decisions may be appended, without a lease. */
  markOwnedElsewhere(): void {
    this.#elsewhere = true;
  }

  get isOwnedElsewhere(): boolean {
    return this.#elsewhere;
  }

  /** Returns whether the charts let this happen now. */
  accepts(draft: EventDraft): boolean {
    return this.#record !== null && acceptsEvent(this.#record, draft);
  }

  /** Returns the instant at which an input is decided: that of its turn; epoch ms. */
  beginInput(): number {
    // An input without events began no turn; keeping its instant would stop time for the next input.
    if (this.#turn.count === 0) this.#source.end();
    return this.#source.begin();
  }

  /** Draws an id for a record that an event of this step will carry. */
  drawId(kind: DrawnId): string {
    return this.#source.drawId(kind);
  }

  /** Gives decided events ids and sequences and folds them. @throws if the log failed or a chart refuses one. */
  note(...drafts: readonly EventDraft[]): void {
    this.noteBy(system, ...drafts);
  }

  /** Adds events as `note` does, in the name of a person. */
  noteBy(actor: Actor, ...drafts: readonly EventDraft[]): void {
    for (const draft of drafts) this.#noteOne(draft, actor);
  }

  /** Appends an event for a ledger service; returns the id of the record. Durable with the next commit. */
  appendEvent(draft: EventDraft): string {
    return this.#noteOne(draft, system);
  }

  /** Records the start of a key's action, and returns the action's id. */
  recordAction(started: EventPayloads["ACTION_STARTED"], stepId: string): string {
    this.appendEvent(draft("ACTION_STARTED", started, stepId));
    return started.action_id;
  }

  /** Records a new version of an outcome, draft or final; returns the outcome's id. */
  recordOutcome(recorded: EventPayloads["OUTCOME_DRAFTED"], stepId: string): string {
    const type = recorded.outcome.status === "final" ? "OUTCOME_FINALIZED" : "OUTCOME_DRAFTED";
    this.appendEvent(draft(type, recorded, stepId));
    return recorded.outcome.outcome_id;
  }

  #noteOne(draft: EventDraft, actor: Actor): string {
    if (this.#lost !== null) raise(this.#lost);
    if (this.#rests) raise(kernelError("T4_WORKFLOW_CONFLICT", `${draft.type} was noted in a resting log`, logRef));
    if (this.#record !== null && !acceptsEvent(this.#record, draft)) raise(refuseEvent(draft, this.#record.state));
    const plan = this.#record?.plan_id ?? this.identity.plan_id;
    const { at } = this.#services.halts.of(this.identity.tenant_id);
    const event = this.#turn.add(draft, { id: this.#source.drawEventId(), actor, plan, at }, this.#source.begin());
    this.#record = foldWorkflow(this.#record, event);
    return event.event_id;
  }

  /** Gives the lease up with the next row: the workflow parks or has ended. */
  releaseWithNext(): void {
    this.#release = true;
  }

  /** Writes the noted events, with those noted before the transaction begins, and notifies the listener. */
  flush(): void {
    if (this.#flushing || this.#lost !== null || this.#turn.count === 0) return;
    this.#flushing = true;
    let sealed: Sealed | null = null;
    this.#services.writer.post({
      seal: () => {
        // A log that failed while it was queued writes nothing any more.
        if (this.#lost !== null) raise(this.#lost);
        sealed = this.#seal();
        return sealed.entry;
      },
      resolve: (receipt) => this.#appended(receipt, sealed as unknown as Sealed),
      reject: (error) => this.#lose(errorOf(error, "T0_LEDGER_UNAVAILABLE", logRef)),
    });
  }

  /** Flushes; resolves when all noted events are durable. @throws KernelErrorException if the log has failed. */
  commit(): Promise<void> {
    if (this.#lost !== null) return Promise.reject(new KernelErrorException(this.#lost));
    const saved = new Promise<void>((resolve, reject) => this.#waiting.push({ resolve, reject }));
    this.#notifyWaiting();
    return saved;
  }

  #seal(): Sealed {
    const { now, drafts, events, haltsAt } = this.#turn;
    const row = this.#turn.seal(this.#listener?.sealing(now, drafts));
    this.#end = endOf(row);
    this.#turn = new NotedTurn(this.#shared, this.#end);
    this.#source.end();
    this.#underWay = events.length;
    const indexes = this.#indexes(drafts, now);
    const { tenant_id } = this.identity;
    const entry: { -readonly [K in keyof Append]: Append[K] } = { tenant_id, row, now, indexes };
    if (haltsAt !== null) entry.halts_at = haltsAt;
    if (this.#services.mayBeLazy && this.#waiting.length === 0 && this.#listener?.mayBeLazy() === true)
      entry.lazy = true;
    if (this.#lease !== null) entry.lease = this.#lease;
    else if (!this.#elsewhere) entry.claim = this.#services.registration.owner;
    return { entry, events, known: headAfter(this.#known, indexes) };
  }

  #indexes(drafts: readonly EventDraft[], now: number): AppendIndexes {
    const record = this.#record;
    if (record === null) return {};
    const release = this.#release || isTerminal(record.state);
    this.#release = false;
    return deriveIndexes({ record, drafts, known: this.#known, isNew: this.#confirmed === 0, release, now });
  }

  #appended(receipt: AppendReceipt, sealed: Sealed): void {
    this.#flushing = false;
    if (!receipt.ok) return this.#refused(receipt.reason);
    const { registration } = this.#services;
    const held = heldLease(sealed.entry, receipt.epoch);
    if (held === null || registration.isValid) return this.#taken(held, sealed);
    // The lease ran out before the result arrived: the store is asked whether another process has continued.
    this.#flushing = true;
    registration.confirm().then(
      (kept) => {
        this.#flushing = false;
        if (!kept) return this.#refused("fenced");
        this.#taken(held, sealed);
      },
      (error: unknown) => this.#lose(errorOf(error, "T0_LEDGER_UNAVAILABLE", logRef)),
    );
  }

  #taken(held: Lease | null, { entry, events, known }: Sealed): void {
    this.#underWay = 0;
    this.#known = known;
    if (held !== null || entry.indexes?.release === true) this.#lease = held;
    this.#confirmed = entry.row.last_sequence;
    this.durability.committed(this.#confirmed, entry.lazy === true);
    if (this.#lost !== null) return this.#lose(this.#lost);
    this.#services.onCommitted(this, events);
    this.#listener?.committed();
    this.#notifyWaiting();
  }

  #notifyWaiting(): void {
    if (!this.isSettled) return this.flush();
    if (this.#waiting.length > 0 && this.durability.isBehind(this.#confirmed))
      return this.durability.sync(this.#confirmed);
    for (const { resolve } of this.#waiting.splice(0)) resolve();
  }

  #refused(reason: (AppendReceipt & { readonly ok: false })["reason"]): void {
    const lose = (code: ErrorCode, why: string) => this.#lose(kernelError(code, why, logRef, { detail: { reason } }));
    const isFirst = this.#confirmed === 0;
    // A call that another workflow has begun under a shared key is not made here: its end is asked for.
    if (reason === "taken" && isFirst) return lose("T4_WORKFLOW_CONFLICT", "another workflow has this key");
    if (reason === "full" && isFirst) return lose("T7_QUEUE_FULL", "as many workflows wait in the queue as may");
    if (reason === "fenced" || reason === "missing")
      return lose("T4_WORKFLOW_LEASED", "another process owns this workflow");
    this.#flushing = true;
    this.#reading = true;
    const { workflow_id } = this.identity;
    const { halts, read } = this.#services;
    const known = reason === "halted" ? halts.refresh() : Promise.resolve();
    const reading = known.then(() => read(workflow_id, 0)).then((rows) => readStream(workflow_id, rows));
    reading.then(
      (read) => this.#overtaken(read),
      (error: unknown) => this.#lose(errorOf(error, "T0_LEDGER_UNAVAILABLE", logRef)),
    );
  }

  #overtaken(read: ReadStream): void {
    const before = this.#confirmed;
    this.#flushing = false;
    this.#reading = false;
    this.#underWay = 0;
    this.#release = false;
    this.#source.end();
    this.#takeIn(read);
    if (this.#lost !== null) return this.#lose(this.#lost);
    const events = read.events.filter(({ sequence }) => sequence > before);
    this.#services.onForeign(this, events);
    this.#listener?.overtaken(before);
    this.#notifyWaiting();
  }

  /** Folds another process's events, if no row is under way, and notifies the listener in the same moment. */
  async refresh(): Promise<void> {
    if (!this.#mayRefresh) return;
    const before = this.#confirmed;
    const { workflow_id } = this.identity;
    const rows = await this.#services.read(workflow_id, before);
    if (rows.length === 0 || !this.#mayRefresh || this.#confirmed !== before) return;
    const read = readStream(workflow_id, rows, { end: this.#end, record: this.#record });
    this.#takeIn(read);
    this.#services.onForeign(this, read.events);
    this.#listener?.overtaken(this.#confirmed);
  }

  get #mayRefresh(): boolean {
    return this.isSettled && !this.#rests && this.#lost === null;
  }

  /** Drops all events that are not in the ledger. */
  #takeIn({ record, end }: Pick<ReadStream, "record" | "end">): void {
    this.#known = unknownHead;
    this.#record = record;
    this.#end = end;
    this.#turn = new NotedTurn(this.#shared, end);
    this.#confirmed = end.last;
    this.durability.read(this.#confirmed);
  }

  #lose(error: KernelError): void {
    this.#flushing = false;
    this.#reading = false;
    this.#lost ??= error;
    this.#listener?.lost();
    for (const { reject } of this.#waiting.splice(0)) reject(new KernelErrorException(this.#lost));
  }
}

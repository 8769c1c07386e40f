/**
 * One workflow while it is awake: its mailbox, and the interpreter of its questions and intentions.
 *
 * Owns: the order of inputs, turns, rows and intentions. Never: the meaning of an input, the making of a call.
 * 1.  An input is handled to its end before the next. Questions that are answered at once are part of the same turn.
 * 2.  An intention of a turn is performed once the row with the events before it is committed.
 * 3.  Inputs from outside are kept until their row is committed. After a conflicting append they are decided again from
 *     the new state, and every tier is asked anew.
 * 4.  A mailbox is open until it rests. An input is given to it at the moment at which it is found open.
 * 5.  After a lost log nothing more is done and waiting callers get the error; the workflow is folded again.
 */
import { type KernelError, KernelErrorException } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { EventDraft } from "../../contract/event.ts";
import { isHeldBack, isTerminal } from "../../contract/workflow.ts";
import type { RunIn } from "../../engine/actors/async-context.ts";
import { inNextTurn } from "../../engine/actors/next-turn.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import { errorOf } from "../../engine/actors/within.ts";
import type { WorkflowLog } from "../../engine/log/workflow-log.ts";
import { nextDue, waitsForTime } from "./decide/gate/expire-gates.ts";
import { endsCalls } from "./decide/plan/cancel-workflow.ts";
import { decide, endCrashed, receive } from "./decide/plan/decide.ts";
import { mayGoOn } from "./decide/plan/work-plan.ts";
import { PassScopes, type Place } from "./decide/run/answers.ts";
import type { CallEnd, CallOf, Input } from "./decide/run/input.ts";
import type { Intention } from "./decide/run/intention.ts";
import { oodaRef, type Run, RunMemory, type Settings } from "./decide/run/run.ts";
import { DueAlarm } from "./due-alarm.ts";
import { InputJournal } from "./input-journal.ts";
import { IntentionQueue } from "./intention-queue.ts";
import type { MailboxHost } from "./mailbox-host.ts";
import { putQuestion } from "./perform/ask.ts";
import type { Calling } from "./perform/call-operator.ts";
import { Performer } from "./perform/perform-intention.ts";
import { Replies, type Reply } from "./perform/replies.ts";
import type { Services } from "./perform/services.ts";

/** The Signal that woke the workflow in this process, and the async context in which its host code runs. */
export interface Origin extends Pick<Calling, "parentId" | "context"> {}

export class Mailbox extends RunMemory implements Run, Calling {
  readonly log: WorkflowLog;
  readonly runtime: Runtime;
  readonly settings: Settings;
  readonly services: Services;
  readonly parentId: string | null;
  readonly context: RunIn;
  readonly scopes: PassScopes;
  readonly mark: Run["mark"];
  interrupted = false;
  now = 0;
  #state: "open" | "rested" = "open";
  readonly #host: MailboxHost;
  readonly #inputs: Input[] = [];
  readonly #intentions = new IntentionQueue(this);
  readonly #journal: InputJournal;
  readonly #alarm: DueAlarm;
  readonly #replies = new Replies();
  readonly #performer = new Performer(this);
  #handling = false;
  #scheduled = false;
  #users = 0;
  #isOverdue = false;
  #idle: (() => void)[] = [];

  constructor(log: WorkflowLog, host: MailboxHost, { parentId, context }: Origin) {
    super();
    this.log = log;
    this.runtime = host.runtime;
    this.services = host.services;
    this.parentId = parentId;
    this.context = context;
    this.mark = host.runtime.telemetry.mark && this.#mark.bind(this);
    this.#host = host;
    this.scopes = new PassScopes((place, question) => this.#put(place, question));
    this.#alarm = new DueAlarm(log.identity.workflow_id, host.services.timers, () => this.post({ type: "due" }));
    this.#journal = new InputJournal(this, { isNew: !log.exists, isForeign: () => log.isOwnedElsewhere });
    this.settings = this.#journal.watch(host.settings);
    if (host.isStopping()) this.#stopHere();
    log.listen({
      sealing: (now, drafts) => this.#journal.seal(now, drafts),
      mayBeLazy: () => this.#intentions.onlyComputes() && !host.isAwaited(log),
      committed: () => context(() => this.#committed()),
      synced: () => context(() => this.#performDue()),
      overtaken: (confirmed) => context(() => this.#overtaken(confirmed)),
      lost: () => context(() => this.#lost()),
    });
  }

  get run(): Run {
    return this;
  }

  get signal(): AbortSignal {
    return this.#performer.signal;
  }

  /** True while anything is in progress or somebody works with it. */
  get isBusy(): boolean {
    return (
      this.log.lost === null &&
      (this.#users > 0 ||
        this.#handling ||
        this.#scheduled ||
        this.#inputs.length > 0 ||
        this.#intentions.size > 0 ||
        this.#replies.size > 0 ||
        (this.calls.size > 0 && !this.isOver) ||
        this.scopes.anyWaits() ||
        !this.log.isSettled ||
        this.#pauses)
    );
  }

  /** True once the workflow has ended: the end of a running call is recorded, but not waited for. */
  get isOver(): boolean {
    return this.log.exists && isTerminal(this.log.record.state);
  }

  /** True while a step waits for a time that this process keeps. */
  get #pauses(): boolean {
    return this.log.lease !== null && mayGoOn(this) && waitsForTime(this.log.record) && !this.#rests;
  }

  /** True if the next due time is far enough away to be kept in the ledger, not in memory. */
  get #rests(): boolean {
    const { due, record } = this.log;
    if (isHeldBack(record) || record.state === "waiting_for_user" || record.state === "cancelling") return true;
    return due === null ? record.state === "waiting" : due - this.now > this.runtime.limits.restAfterMs;
  }

  /** False once it has rested, or its log is lost; a sender must then wake the workflow first. */
  get isOpen(): boolean {
    return this.#state === "open" && this.log.lost === null;
  }

  /** True while a call's operator has not ended. Its end arrives here, even if no step waits for it. */
  get #isHeld(): boolean {
    return this.handles.size > 0 && this.log.lost === null && this.log.exists;
  }

  /** True while a command holds the workflow back; it stays in memory, because only this process knows the command. */
  get isAsleep(): boolean {
    return this.asleep && this.log.exists && this.log.lost === null && !this.isOver;
  }

  post(input: Input): void {
    if (!this.isOpen) return;
    this.#inputs.push(input);
    if (!this.#handling) this.context(() => this.#drain());
  }

  /** Queues an input from inside another delivery. The turn begins after it, and is answered at once. */
  postSoon(input: Input): void {
    if (!this.isOpen) return;
    this.#inputs.push(input);
    if (this.#handling || this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      if (!this.#handling) this.context(() => this.#drain());
    });
  }

  /** Queues a command; resolves to its answer after the commit. @throws KernelErrorException if it is refused. */
  command<T>(make: (re: number) => Input): Promise<T> {
    if (!this.isOpen) return Promise.reject(new KernelErrorException(this.log.lost ?? hasRested));
    return this.#replies.await((re) => this.postSoon(make(re)));
  }

  /** Checks what can continue. */
  wake(): void {
    this.postSoon({ type: "woken" });
  }

  /** Stops without ending the workflow: the owner stops, or another process took over. */
  interrupt(): void {
    this.#stopHere();
    this.context(() => this.#performer.abort("interrupted"));
    this.#alarm.set(null);
    if (!this.#handling) this.#restIfIdle();
  }

  #stopHere(): void {
    if (!this.interrupted) this.#journal.stop();
    this.interrupted = true;
  }

  /** Resolves when nothing is in progress. */
  idle(): Promise<void> {
    return this.isBusy ? new Promise((resolve) => this.#idle.push(resolve)) : Promise.resolve();
  }

  #drain(): void {
    if (this.log.isReading) return;
    this.#handling = true;
    try {
      this.#handleAll();
      for (let calls = 0; calls < this.runtime.limits.maxBurst && this.#callEarly(); calls += 1) this.#handleAll();
    } finally {
      this.#handling = false;
    }
    this.#leave();
  }

  #handleAll(): void {
    while (this.#inputs.length > 0 && !this.log.isFull) this.#handle(this.#inputs.shift() as Input);
  }

  #callEarly(): boolean {
    const call = this.log.isFull ? undefined : this.#intentions.takeEarly();
    if (call !== undefined) this.#perform(call);
    return call !== undefined;
  }

  /** Ends a turn: writes its row, sets its timer, and lets an idle workflow rest. */
  #leave(): void {
    const { log } = this;
    if (log.lost !== null) return this.#restIfIdle();
    if (this.#mayPark()) log.releaseWithNext();
    // A foreign row with half of a command would make another process decide anew, and its row this one: for ever.
    if (!log.isOwnedElsewhere || this.#intentions.size > 0 || !this.scopes.anyWaits()) log.flush();
    this.#keepTime(this.#nextTime());
    if (log.isSettled) this.#performDue();
    else this.#restIfIdle();
  }

  #mayPark(): boolean {
    const { log } = this;
    if (!log.isDirty || log.isOwnedElsewhere || !log.exists || !this.#rests || this.#inputs.length > 0) return false;
    return this.handles.size === 0 && this.#users === 0 && !this.asleep && !this.scopes.anyWaits();
  }

  /** Returns the next due time. An input that is due and undecided waits for an answer, not for a time. */
  #nextTime(): number | null {
    const due = mayGoOn(this) ? nextDue(this) : Number.POSITIVE_INFINITY;
    return Number.isFinite(due) && due > this.now ? due : null;
  }

  /** Sets the timer. Anything due while a turn waits for its row is decided after that row. */
  #keepTime(at: number | null): void {
    this.#isOverdue = at !== null && this.log.isDirty && at <= this.runtime.clock.now();
    this.#alarm.set(this.#isOverdue ? null : at);
  }

  #handle(input: Input): void {
    if (this.log.lost !== null) return;
    this.now = this.log.beginInput();
    const received = receive(this, input);
    this.#journal.begin(received, this.now, this.log);
    this.#turn(received);
    this.#journal.end(this.log);
  }

  #turn(input: Input): void {
    try {
      decide(this, input);
    } catch (thrown) {
      if (this.log.lost !== null) return;
      const error = errorOf(thrown, "T0_TIER_CRASHED", oodaRef("drive"));
      this.runtime.logger.error({ error, thrown }, "workflow crashed");
      if ("re" in input) this.intend({ do: "refuse", re: input.re, error });
      this.#endCrashed(error);
    }
  }

  #endCrashed(error: KernelError): void {
    try {
      endCrashed(this, error);
    } catch (again) {
      const reported = errorOf(again, "T0_TIER_CRASHED", oodaRef("drive"));
      this.runtime.logger.error({ error: reported }, "a failed workflow could not be recorded");
      this.log.abandon(reported);
    }
  }

  readonly intend = (intention: Intention): void => {
    this.#intentions.add(intention);
  };

  #mark(stage: string, detail?: Readonly<Record<string, unknown>>): void {
    const { workflow_id } = this.log.identity;
    if (!this.scopes.isMarked()) this.runtime.telemetry.mark?.(stage, { workflow_id, ...detail });
  }

  readonly drawId: Run["drawId"] = (kind) => this.#journal.drew(this.log.drawId(kind));
  readonly warn = (detail: object, message: string): void => this.runtime.logger.warn(detail, message);

  #put(place: Place, question: Parameters<typeof putQuestion>[0]) {
    const answer = putQuestion(question, this);
    if (!(answer instanceof Promise)) return this.#journal.received(place, question, answer);
    this.#journal.asked(place, question);
    void answer.then((given) => this.post({ type: "answered", ...place, answer: given }));
    return null;
  }

  readonly saved = (): Promise<void> => this.log.commit();

  #committed(): void {
    const { confirmed } = this.log;
    this.#journal.committed(confirmed);
    if (this.#isOverdue && !this.log.isDirty) this.#inputs.push({ type: "due" });
    this.#performDue();
  }

  /** Performs the intentions that wait for no row; their immediate consequences are part of the next turn. */
  #performDue(): void {
    this.#handling = true;
    try {
      for (let next = this.#intentions.takeDue(); next !== undefined; next = this.#intentions.takeDue()) {
        this.#perform(next);
        if (this.log.lost !== null) break;
      }
    } finally {
      this.#handling = false;
    }
    if (this.#inputs.length > 0) this.#drain();
    else this.#restIfIdle();
  }

  #perform(intention: Intention): void {
    if (intention.do === "answer" || intention.do === "refuse") this.#answer(intention);
    else this.#performer.perform(intention);
  }

  /** Queues the end of a call, from the operator boundary. */
  readonly tell = ({ step_id, action_id, attempt, run }: CallOf, end: CallEnd): void =>
    this.post({ type: "ended", step_id, action_id, attempt, run, end });

  /** Queues the events that a call reports while it is running. */
  readonly note = ({ step_id, action_id, attempt, run }: CallOf, drafts: readonly EventDraft[]): Promise<boolean> =>
    this.command((re) => ({ type: "reported", step_id, action_id, attempt, run, drafts, re }));

  #answer(reply: Reply): void {
    this.#replies.answer(reply);
    if (this.log.exists && this.log.record.sequence === 1) this.#beginLater();
  }

  /** Begins the work in the next turn of the event loop, after the caller is answered (INT-04). */
  #beginLater(): void {
    this.#users += 1;
    inNextTurn(() => {
      this.#users -= 1;
      this.post({ type: "woken" });
    });
  }

  /** Decides uncommitted inputs again after a conflicting append; earlier answers no longer count. */
  #overtaken(confirmed: number): void {
    this.scopes.clear();
    this.forgetUndecided();
    this.#intentions.forgetBehind(confirmed);
    this.#inputs.unshift(...this.#replies.askAnew(this.#journal.restart((id) => this.#performer.isMade(id))));
    this.#inputs.push({ type: "woken" });
    if (this.log.exists && endsCalls(this)) this.#performer.abort("cancelled");
    this.#drain();
  }

  #lost(): void {
    const error = this.log.lost as KernelError;
    this.#intentions.clear();
    this.#journal.drop();
    this.#inputs.length = 0;
    this.scopes.clear();
    this.calls.clear();
    this.#alarm.set(null);
    // Another owner acts: the calls that it takes up must not continue here.
    if (error.code === "T4_WORKFLOW_LEASED") this.#performer.abort("overtaken");
    const { workflow_id } = this.log.identity;
    this.runtime.logger.error({ error, workflow_id }, "workflow log lost; it will be folded again");
    this.#restIfIdle();
  }

  #restIfIdle(): void {
    if (this.log.lost !== null) this.#replies.refuseAll(this.log.lost);
    if (this.isBusy || this.#state === "rested") return;
    for (const resolve of this.#idle.splice(0)) resolve();
    if (this.isAsleep && !this.interrupted) return;
    if (this.#isHeld) return this.isOver ? this.#host.onOver(this) : undefined;
    this.#state = "rested";
    this.#alarm.set(null);
    this.log.rest();
    this.#host.onRest(this);
  }
}

const hasRested = kernelError("T4_WORKFLOW_CONFLICT", "the workflow has left memory; wake it first", oodaRef("drive"));

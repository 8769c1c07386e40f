/**
 * One workflow while it is awake: its mailbox, and the one interpreter of what its turns ask for.
 *
 * Owns: one input after another; turn, row, what waits for the row. Never: what an input means, how a call is made.
 * 1.  An input is handled to its end before the next. Questions that are answered at once are part of the same turn.
 * 2.  What a turn wants is performed once the row that holds what was decided before it is committed.
 * 3.  Inputs from outside stay until their row is committed; where another process's append came first, they are decided
 *     again on what stands then, and every tier is asked anew.
 * 4.  A mailbox is open until it rests, and takes nothing more then: it is handed an input in the moment it is found open.
 * 5.  After a lost log nothing more is done, and who waits is told so; the workflow is folded again from the ledger.
 */
import { type KernelError, KernelErrorException } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { EventDraft } from "../../contract/event.ts";
import { isCancelled, isHeldBack, isTerminal } from "../../contract/workflow.ts";
import type { RunIn } from "../../engine/actors/async-context.ts";
import { inNextTurn } from "../../engine/actors/next-turn.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import { errorOf } from "../../engine/actors/within.ts";
import type { WorkflowLog } from "../../engine/log/workflow-log.ts";
import { nextDue, waitsForTime } from "./decide/gate/expire-gates.ts";
import { decide, endCrashed, hear } from "./decide/plan/decide.ts";
import { mayGoOn } from "./decide/plan/work-plan.ts";
import { PassScopes, type Place } from "./decide/run/answers.ts";
import type { CallEnd, CallOf, Input } from "./decide/run/input.ts";
import type { Intention } from "./decide/run/intention.ts";
import { oodaRef, type Run, RunMemory, type Settings } from "./decide/run/run.ts";
import { DueAlarm } from "./due-alarm.ts";
import { InputJournal } from "./input-journal.ts";
import { IntentionQueue } from "./intention-queue.ts";
import { putQuestion } from "./perform/ask.ts";
import type { Calling } from "./perform/call-operator.ts";
import { Performer } from "./perform/perform-intention.ts";
import { Replies, type Reply } from "./perform/replies.ts";
import type { Services } from "./perform/services.ts";

/** What all mailboxes work with. */
export interface MailboxHost {
  readonly runtime: Runtime;
  readonly settings: Settings;
  readonly services: Services;
  /** The process stops: what comes yet is taken in, and gone on with by another. */
  readonly isStopping: () => boolean;
  /** The workflow has ended, and nothing more is done for it; a call that was made for it goes on, whose end is heard here. */
  readonly onOver: (mailbox: Mailbox) => void;
  /** The workflow has come to rest, ended, or lost its log: forget it. */
  readonly onRest: (mailbox: Mailbox) => void;
}

/** By which Signal the workflow was woken here, and in whose async context its host code runs. */
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
    this.#journal = new InputJournal(this, { isNew: !log.exists, isForeign: () => log.foreign });
    this.settings = this.#journal.watch(host.settings);
    if (host.isStopping()) this.#stopHere();
    log.listen({
      sealing: (now, drafts) => this.#journal.seal(now, drafts),
      mayBeLazy: () => this.#intentions.onlyComputes(),
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

  /** True while something is under way or somebody works with it. */
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

  /** It has ended: who still calls for it is heard, and not waited for. */
  get isOver(): boolean {
    return this.log.exists && isTerminal(this.log.record.state);
  }

  /** A step waits for a time, and this process keeps it. */
  get #pauses(): boolean {
    return this.log.lease !== null && mayGoOn(this) && waitsForTime(this.log.record) && !this.#rests;
  }

  /** Nothing goes on before a time that is far enough away: it is kept in the ledger, not here. */
  get #rests(): boolean {
    const { due, record } = this.log;
    if (isHeldBack(record) || record.state === "waiting_for_user" || record.state === "cancelling") return true;
    return due === null ? record.state === "waiting" : due - this.now > this.settings.limits.restAfterMs;
  }

  /** False once it has rested, or its log is lost: who has something to say to the workflow wakes it first. */
  get isOpen(): boolean {
    return this.#state === "open" && this.log.lost === null;
  }

  /** A call whose operator has not ended keeps its workflow in memory, where its end is heard, even if nothing waits for it. */
  get #isHeld(): boolean {
    return this.handles.size > 0 && this.log.lost === null && this.log.exists;
  }

  /** True while a command holds it back; it stays in memory, where the command is known. */
  get isAsleep(): boolean {
    return this.asleep && this.log.exists && this.log.lost === null && !this.isOver;
  }

  post(input: Input): void {
    if (!this.isOpen) return;
    this.#inputs.push(input);
    if (!this.#handling) this.context(() => this.#drain());
  }

  /** From inside somebody else's delivery: the turn begins when that is over, and its questions are answered at once. */
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

  /** An input that is answered, once what it led to is committed. @throws KernelErrorException what it is refused with. */
  command<T>(make: (re: number) => Input): Promise<T> {
    if (!this.isOpen) return Promise.reject(new KernelErrorException(this.log.lost ?? hasRested));
    return this.#replies.await((re) => this.postSoon(make(re)));
  }

  /** Looks at what can go on. */
  wake(): void {
    this.postSoon({ type: "woken" });
  }

  /** Stops without ending the workflow: the owner stops, or another one took over. */
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

  /** Resolves when nothing is under way. */
  idle(): Promise<void> {
    return this.isBusy ? new Promise((resolve) => this.#idle.push(resolve)) : Promise.resolve();
  }

  #drain(): void {
    if (this.log.isReading) return;
    this.#handling = true;
    try {
      this.#handleAll();
      for (let calls = 0; calls < this.settings.limits.maxBurst && this.#callEarly(); calls += 1) this.#handleAll();
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

  /** The turn is over: its row is written, its times are kept, and who has nothing left rests. */
  #leave(): void {
    const { log } = this;
    if (log.lost !== null) return this.#restIfIdle();
    if (this.#mayPark()) log.releaseWithNext();
    // A row with half of a word would have another process that decides one begin anew, and its row this one: for ever.
    if (!log.foreign || this.#intentions.size > 0 || !this.scopes.anyWaits()) log.flush();
    this.#keepTime(this.#nextTime());
    if (log.isSettled) this.#performDue();
    else this.#restIfIdle();
  }

  #mayPark(): boolean {
    const { log } = this;
    if (!log.isDirty || log.foreign || !log.exists || !this.#rests || this.#inputs.length > 0) return false;
    return this.handles.size === 0 && this.#users === 0 && !this.asleep && !this.scopes.anyWaits();
  }

  /** What was due at the last input and was not decided with it waits for an answer, which is an input too, and for no time. */
  #nextTime(): number | null {
    const due = mayGoOn(this) ? nextDue(this) : Number.POSITIVE_INFINITY;
    return Number.isFinite(due) && due > this.now ? due : null;
  }

  /** What fell due while a turn waits for its row is decided behind that row: at the turn's own instant it is not due yet. */
  #keepTime(at: number | null): void {
    this.#isOverdue = at !== null && this.log.isDirty && at <= this.runtime.clock.now();
    this.#alarm.set(this.#isOverdue ? null : at);
  }

  #handle(input: Input): void {
    if (this.log.lost !== null) return;
    this.now = this.log.beginInput();
    const heard = hear(this, input);
    this.#journal.begin(heard, this.now, this.log);
    this.#turn(heard);
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
      const told = errorOf(again, "T0_TIER_CRASHED", oodaRef("drive"));
      this.runtime.logger.error({ error: told }, "a failed workflow could not be recorded");
      this.log.abandon(told);
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

  /** Performs what no row is waited for any more; what follows from it at once is part of the next turn. */
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

  /** An end of a call, from the operator boundary. */
  readonly tell = ({ step_id, action_id, attempt, run }: CallOf, end: CallEnd): void =>
    this.post({ type: "ended", step_id, action_id, attempt, run, end });

  /** What a call says while it runs. */
  readonly note = ({ step_id, action_id, attempt, run }: CallOf, drafts: readonly EventDraft[]): Promise<boolean> =>
    this.command((re) => ({ type: "told", step_id, action_id, attempt, run, drafts, re }));

  #answer(reply: Reply): void {
    this.#replies.answer(reply);
    if (this.log.exists && this.log.record.sequence === 1) this.#beginLater();
  }

  /** The caller has its answer before anything is fetched or run (INT-04). */
  #beginLater(): void {
    this.#users += 1;
    inNextTurn(() => {
      this.#users -= 1;
      this.post({ type: "woken" });
    });
  }

  /** What was decided and not committed is decided again on what stands now; no tier's answer of before counts. */
  #overtaken(confirmed: number): void {
    this.scopes.clear();
    this.forgetUndecided();
    this.#intentions.forgetBehind(confirmed);
    this.#inputs.unshift(...this.#replies.askAnew(this.#journal.restart((id) => this.#performer.isMade(id))));
    this.#inputs.push({ type: "woken" });
    // A cancellation that another process appended ends what is under way here.
    if (this.log.exists && isCancelled(this.log.record.state)) this.#performer.abort("cancelled");
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
    // Another owner acts: what it takes up is not to be gone on with here.
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

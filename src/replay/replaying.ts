/**
 * A run whose inputs and answers come out of a record: the same deciding as live, and nothing else.
 *
 * P1  Each of what may lead to the next event is tried once; what nothing leads to is the difference.
 */

import { type EventType, type LedgerEvent, payloadOf } from "../contract/event.ts";
import type { KernelOptions } from "../kernel/options.ts";
import type { KernelParts } from "../kernel/parts.ts";
import { createServices } from "../kernel/tiers.ts";
import { errorOf, isPromise } from "../runtime/within.ts";
import { PassScopes } from "../tiers/t4-execution/answers.ts";
import { decide } from "../tiers/t4-execution/decide/decide.ts";
import type { Answered, Input } from "../tiers/t4-execution/decide/input.ts";
import type { Intention, Question } from "../tiers/t4-execution/decide/intention.ts";
import { oodaRef, type Run, RunMemory, type Settings } from "../tiers/t4-execution/decide/run.ts";
import { putQuestion } from "../tiers/t4-execution/perform/ask.ts";
import { inputOf } from "./read-inputs.ts";
import { answerOf } from "./recorded-answers.ts";
import { type RecordedLog, replayOver } from "./recorded-log.ts";

interface Stage {
  readonly settings: Settings;
  readonly parts: KernelParts;
  readonly options: KernelOptions;
}

interface Held {
  readonly scope: string;
  readonly key: string;
  readonly question: Question;
  /** Asked already; heard when the record holds what follows from it. */
  readonly asked?: Promise<Answered>;
}

const ends: ReadonlySet<EventType> = new Set(["ACTION_SUCCEEDED", "ACTION_FAILED"]);
const turns: ReadonlySet<EventType> = new Set([...ends, "ACTION_STARTED", "ACTION_IN_DOUBT"]);

export class Replaying extends RunMemory implements Run {
  readonly log: RecordedLog;
  readonly settings: Settings;
  readonly scopes: PassScopes;
  readonly interrupted = false;
  readonly #stage: Stage;
  readonly #signal = new AbortController().signal;
  #held: Held[] = [];
  /** Where the record stood when the input that is decided came. */
  #from = 0;

  constructor(log: RecordedLog, stage: Stage) {
    super();
    this.log = log;
    this.settings = stage.settings;
    this.#stage = stage;
    this.scopes = new PassScopes((scope, key, question) => this.#put({ scope, key, question }));
  }

  /** An input is decided at the instant of the row that it leads to. */
  get now(): number {
    return this.log.position === this.#from ? this.log.now : this.log.before;
  }

  readonly intend = (_intention: Intention): void => undefined;
  readonly mark = (): void => undefined;
  readonly warn = (): void => undefined;

  /** Feeds the record until it is through, or a difference is known. */
  async run(): Promise<void> {
    const { log } = this;
    this.#give({ type: "begin", facts: payloadOf(log.events[0] as LedgerEvent, "INTENT_RECEIVED"), re: 0 });
    while (log.next !== undefined && !log.isOver && (await this.#goOn()));
    if (log.next !== undefined && !log.isOver) log.stop();
    if (log.next === undefined && !log.isOver) this.#give({ type: "woken" });
  }

  /** Whether anything led to the next event. */
  async #goOn(): Promise<boolean> {
    const from = this.log.position;
    for (const attempt of [this.#nothing, this.#giveInput, this.#wake, this.#crash]) {
      await attempt.call(this);
      await this.#answer();
      if (this.log.position !== from || this.log.isOver) return true;
    }
    return false;
  }

  async #nothing(): Promise<void> {}

  /** The questions whose answer the next event may follow from, first of all; then any. */
  async #answer(): Promise<void> {
    for (const isFit of [(one: Held) => this.#leadsOn(one), () => true]) {
      const from = this.log.position;
      for (const held of this.#held.filter(isFit)) {
        if (!this.#held.includes(held)) continue;
        this.#held = this.#held.filter((one) => one !== held);
        const { scope, key } = held;
        this.#give({ type: "answered", scope, key, answer: await (held.asked ?? this.#ask(held)) });
        if (this.log.position !== from || this.log.isOver) return;
      }
      if (this.#hasInput()) return;
    }
  }

  #hasInput(): boolean {
    const { next } = this.log;
    return next !== undefined && inputOf(next, this.log, this) !== null;
  }

  async #giveInput(): Promise<void> {
    const { next } = this.log;
    const input = next === undefined ? null : inputOf(next, this.log, this);
    if (input !== null) this.#give(input);
  }

  async #wake(): Promise<void> {
    this.#give({ type: "woken" });
  }

  /** As a process that ends and another that takes up what it left; what that one has begun itself goes on. */
  async #crash(): Promise<void> {
    for (const [step, { action_id }] of this.calls) if (!this.#isHeard(step, action_id)) this.calls.delete(step);
    for (const id of this.handles.keys()) {
      const [step = "", action] = id.split("/");
      if (this.calls.get(step)?.action_id !== action) this.handles.delete(id);
    }
    this.forgetUndecided();
    this.contexts.clear();
    this.scopes.clear();
    this.#held = [];
    this.initialized = false;
    this.#give({ type: "woken" });
  }

  /** A call whose end comes before the step begins another, or asks about it, was not lost. */
  #isHeard(stepId: string, actionId: string): boolean {
    const { events, position } = this.log;
    const next = events.slice(position).find((event) => event.step_id === stepId && turns.has(event.event_type));
    return next !== undefined && ends.has(next.event_type) && next.payload["action_id"] === actionId;
  }

  #give(input: Input): void {
    this.#from = this.log.position;
    if (input.type === "answered") this.scopes.answered(input);
    try {
      decide(this, input);
    } catch (thrown) {
      // A fault of deciding is what a live workflow fails with.
      if (thrown !== replayOver)
        this.ending = { how: "fail", error: errorOf(thrown, "T0_TIER_CRASHED", oodaRef("drive")) };
    }
  }

  /** Answered at once where the record's next event is what follows from it; else when it is. */
  #put(held: Held): Answered | null {
    const comesLater = this.log.position !== this.#from && this.log.beginsRow;
    const answer = this.#leadsOn(held) && !comesLater ? this.#ask(held) : null;
    if (answer !== null && !isPromise(answer)) return answer;
    // One that nobody waits for any more has its failure heard by nobody.
    answer?.catch(() => undefined);
    this.#held.push(answer === null ? held : { ...held, asked: answer });
    return null;
  }

  #leadsOn({ scope }: Held): boolean {
    const { next } = this.log;
    if (next === undefined || scope === "initialize" || scope === "gates") return true;
    if (inputOf(next, this.log, this)?.type === "commanded") return scope.startsWith("command:");
    return !scope.startsWith("step:") || next.step_id === scope.slice("step:".length);
  }

  #ask({ scope, question }: Held): Answered | Promise<Answered> {
    const { options, parts } = this.#stage;
    const stepId = scope.startsWith("step:") ? scope.slice("step:".length) : (this.log.next?.step_id ?? null);
    const hasPlanner = options.planner !== undefined;
    const hasBudgets = (options.budgets?.limits ?? []).length > 0;
    const recorded = answerOf(question, { log: this.log, stepId, hasPlanner, hasBudgets });
    if (recorded !== undefined) return recorded;
    const { kit, resolved, store, reading, timers } = parts;
    const services = createServices({ resolved, store, reading, timers });
    const saved = (): Promise<void> => Promise.resolve();
    return putQuestion(question, { run: this, kit, services, parentId: null, signal: this.#signal, saved });
  }
}

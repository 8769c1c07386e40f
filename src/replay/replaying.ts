/**
 * A record fed to the same deciding as live: its inputs in their order, and nothing else.
 *
 * P1  Each row says which inputs led to it; what they carried stands in their events.
 * P2  A question is answered at once where it was, and by a later input where the record says so.
 * P3  Who began with nothing but the ledger is a new run; who does not own the workflow is a run of its own, also once it does;
 *     who was overtaken goes on as the run that it was.
 */

import type { Json } from "../contract/json.ts";
import { isPromise } from "../contract/maybe-promise.ts";
import type { SchemaReading } from "../contract/schema-reading.ts";
import { errorOf } from "../engine/actors/within.ts";
import type { KernelOptions } from "../kernel/options.ts";
import type { KernelParts } from "../kernel/parts.ts";
import { createServices } from "../kernel/tiers.ts";
import { decide, endCrashed, hear } from "../tiers/t4-execution/decide/plan/decide.ts";
import type { Place } from "../tiers/t4-execution/decide/run/answers.ts";
import { type Answered, answered, type Input } from "../tiers/t4-execution/decide/run/input.ts";
import type { Question } from "../tiers/t4-execution/decide/run/intention.ts";
import { oodaRef, type Settings } from "../tiers/t4-execution/decide/run/run.ts";
import { putQuestion } from "../tiers/t4-execution/perform/ask.ts";
import { questionName } from "../tiers/t4-execution/turn-trace.ts";
import { readAsRecorded } from "./filled-payloads.ts";
import { isUnknown, readInput } from "./read-inputs.ts";
import { answerOf, type Recorded } from "./recorded-answers.ts";
import { type RecordedLog, replayOver } from "./recorded-log.ts";
import { answersAfter, type RecordedInput, type RecordedRow } from "./recorded-rows.ts";
import { type Held, ReplayedRun } from "./replayed-run.ts";

interface Stage {
  readonly settings: Settings;
  readonly parts: KernelParts;
  readonly options: KernelOptions;
  /** How long the record stood still while a question was out; ms. */
  readonly waits: (ms: number) => void;
}

export class Replaying {
  readonly #log: RecordedLog;
  readonly #stage: Stage;
  readonly #signal = new AbortController().signal;
  #own: ReplayedRun;
  /** Runs by the last event of each row that they wrote: one may go on behind rows of another that owned the workflow meanwhile. */
  readonly #runs = new Map<string, ReplayedRun>();
  #foreign: ReplayedRun;
  #input: RecordedInput | null = null;
  /** Questions of the input that is decided which were not answered at once, by the record; and those that are not now. */
  #asks: string[] = [];
  #unforeseen: string[] = [];
  /** Words of which nothing is on record, by scope: what they asked was answered, and they were refused then. */
  readonly #refused = new Map<string, Input>();
  /** Gates of words that came with an edit, by scope. */
  readonly #edits = new Map<string, string>();

  constructor(log: RecordedLog, stage: Stage) {
    this.#log = log;
    this.#stage = stage;
    this.#own = this.#begin();
    this.#foreign = this.#begin();
  }

  #begin(): ReplayedRun {
    return new ReplayedRun(this.#log, this.#stage.settings, (run, place, question) => this.#put(run, place, question));
  }

  /** Feeds the record until it is through, or a difference is known. */
  async run(): Promise<void> {
    for (const row of this.#log.rows) {
      await this.#feed(row);
      if (this.#log.isOver) return;
    }
  }

  async #feed(row: RecordedRow): Promise<void> {
    const log = this.#log;
    log.foreign = row.foreign;
    const again = row.inputs.find(({ told }) => told.in === "again")?.told.of ?? "";
    this.#own = this.#runs.get(again) ?? this.#own;
    for (const input of row.inputs) {
      const run = log.foreign ? this.#foreign : this.#own;
      if (input.told.in === "opened") this.#open();
      else if (input.told.in === "owned") this.#takeOver();
      else if (input.told.in === "again") run.overtaken();
      else if (input.told.in === "stopped") run.interrupted = true;
      else if (input.told.in !== "foreign") await this.#give(run, input);
      if (log.isOver) return;
    }
    log.closeAt(row.last);
    if (!log.foreign) this.#runs.set(String(row.last), this.#own);
  }

  #open(): void {
    if (this.#log.foreign) this.#foreign = this.#begin();
    else this.#own = this.#begin();
  }

  /** Who did not own the workflow does from here on, and knows what it knew. */
  #takeOver(): void {
    this.#own = this.#foreign;
    this.#log.foreign = false;
  }

  async #give(run: ReplayedRun, recorded: RecordedInput): Promise<void> {
    this.#input = recorded;
    this.#asks = [...(recorded.told.asks ?? [])];
    const { in: type, of = "", edit = false } = recorded.told;
    this.#log.begin(recorded, edit || this.#edits.has(scopeOf(of)));
    if (type === "answered") await this.#answer(run, of);
    else this.#decide(run, this.#read(recorded));
    while (!this.#log.isOver && this.#unforeseen.length > 0)
      await this.#answer(run, this.#unforeseen.shift() as string);
    this.#log.close();
  }

  #read(recorded: RecordedInput): Input {
    const input = readInput(recorded, this.#log);
    if (input.type !== "decided") return input;
    const scope = `command:${input.re}`;
    if (isUnknown(input.word)) this.#refused.set(scope, input);
    if (recorded.told.edit === true) this.#edits.set(scope, input.word.request.gate_id ?? "");
    return input;
  }

  async #answer(run: ReplayedRun, name: string): Promise<void> {
    const held = run.take(name);
    if (held === null) return this.#decide(run, this.#refused.get(scopeOf(name)) ?? { type: "woken" });
    const { scope, key, nr } = held;
    const answer =
      answerOf(held.question, this.#recorded(held)) ?? (await (held.asked ?? this.#ask(run, held.question)));
    this.#decide(run, { type: "answered", scope, key, nr, answer });
  }

  /** A fault of deciding is what a live workflow fails with. */
  #decide(run: ReplayedRun, input: Input): void {
    try {
      decide(run, hear(run, input));
    } catch (thrown) {
      if (thrown !== replayOver) this.#fail(run, thrown);
    }
  }

  #fail(run: ReplayedRun, thrown: unknown): void {
    try {
      endCrashed(run, errorOf(thrown, "T0_TIER_CRASHED", oodaRef("drive")));
    } catch {
      // The difference is known, or it is what a live workflow would be lost with.
    }
  }

  #put(run: ReplayedRun, place: Place, question: Question): Answered | null {
    const name = this.#nameOf(place);
    if (this.#asks.includes(name)) return this.#putLater(run, { ...place, question }, name);
    const at = this.#recorded({ ...place, question });
    const answer =
      question.ask === "parse" ? this.#parse(run, question, at) : (answerOf(question, at) ?? this.#ask(run, question));
    if (!isPromise(answer)) return answer;
    this.#unforeseen.push(name);
    return run.hold(name, { ...place, question, asked: quiet(answer) });
  }

  /** A schema answers at once. */
  #parse(
    run: ReplayedRun,
    question: Extract<Question, { readonly ask: "parse" }>,
    { log, stepId }: Recorded,
  ): Answered {
    const read = (params: Json): SchemaReading =>
      (this.#ask(run, { ...question, params }) as Answered).data as SchemaReading;
    return answered(readAsRecorded(question.params, { log, stepId, read }));
  }

  /** As the record has it: of an edit that it holds masked, policy was asked by the digest of what the person sent. */
  #nameOf({ scope, key }: Place): string {
    const name = questionName(scope, key);
    const kind = "policy:";
    if (!this.#log.hasEdit || !key.startsWith(kind) || this.#asks.includes(name)) return name;
    return this.#asks.find((asked) => asked.startsWith(questionName(scope, kind))) ?? name;
  }

  /** Asked when it was; of one that nobody heard the answer to, nothing is asked. */
  #putLater(run: ReplayedRun, asked: Omit<Held, "asked">, name: string): null {
    this.#asks.splice(this.#asks.indexOf(name), 1);
    const input = this.#input as RecordedInput;
    const [heard] = answersAfter(this.#log.rows, input, (of) => of === name);
    if (heard === undefined || answerOf(asked.question, this.#recorded(asked)) !== undefined)
      return run.hold(name, { ...asked, asked: null });
    this.#stage.waits(heard.now - input.now);
    return run.hold(name, { ...asked, asked: quiet(this.#ask(run, asked.question)) });
  }

  #recorded({ scope, key, question }: Pick<Held, "scope" | "key" | "question">): Recorded {
    const { options } = this.#stage;
    const edits = scope.startsWith("command:") && this.#log.hasEdit;
    const edited = edits ? this.#log.record.gates.get(this.#edits.get(scope) ?? "") : undefined;
    const stepId = stepOf(scope, question) ?? edited?.step_id ?? this.#log.next?.step_id ?? null;
    const hasBudgets = (options.budgets?.limits ?? []).length > 0;
    const fails = this.#input?.told.fails ?? {};
    return {
      log: this.#log,
      stepId,
      hasPlanner: options.planner !== undefined,
      hasBudgets,
      key,
      failureOf: (of) => fails[questionName(scope, of)] ?? null,
      hasFailed: (start) => Object.keys(fails).some((name) => name.startsWith(questionName(scope, start))),
      waitsFor: this.#waitsFor(scope),
      edits,
    };
  }

  /** A pass has one question out. */
  #waitsFor(scope: string): string | null {
    const start = questionName(scope, "");
    const [kind = null] =
      this.#asks
        .find((name) => name.startsWith(start))
        ?.slice(start.length)
        .split(/[: ]/) ?? [];
    return kind;
  }

  #ask(run: ReplayedRun, question: Question): Answered | Promise<Answered> {
    const { runtime, resolved, store, reading, timers } = this.#stage.parts;
    const services = createServices({ resolved, store, reading, timers });
    const saved = (): Promise<void> => Promise.resolve();
    return putQuestion(question, { run, runtime, services, parentId: null, signal: this.#signal, saved });
  }
}

/** Of a question's name. */
const scopeOf = (name: string): string => name.slice(0, name.indexOf(" "));

/** The step that is asked about: what a word asks says it, where it is about a call. Null where neither does. */
function stepOf(scope: string, question: Question): string | null {
  if (scope.startsWith("step:")) return scope.slice("step:".length);
  return "step_id" in question ? question.step_id : null;
}

/** One that nobody waits for any more has its failure heard by nobody. */
function quiet(answer: Answered | Promise<Answered>): Answered | Promise<Answered> {
  if (isPromise(answer)) answer.catch(() => undefined);
  return answer;
}

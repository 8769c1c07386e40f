/**
 * The replay of a record: its inputs and answers are given to the function that decided live, in their order.
 *
 * 1.  A question is answered by the row that holds its answer; where the row says so, by a later input.
 * 2.  A process that began with nothing but the ledger is a new run. A process that does not own the workflow is a run
 *     of its own, also once it owns it. A process that lost an append race goes on as the run that it was.
 */
import type { Json } from "../contract/json.ts";
import type { TurnAnswer, TurnInput } from "../contract/turn-input.ts";
import { errorOf } from "../engine/actors/within.ts";
import { decide, endCrashed, receive } from "../tiers/t4-execution/decide/plan/decide.ts";
import { PassScopes, type Place, questionName } from "../tiers/t4-execution/decide/run/answers.ts";
import { type Answered, answered, type Input } from "../tiers/t4-execution/decide/run/input.ts";
import type { Question } from "../tiers/t4-execution/decide/run/intention.ts";
import { usualAnswer } from "../tiers/t4-execution/decide/run/recorded-answers.ts";
import { oodaRef, type Run, RunMemory, type Settings } from "../tiers/t4-execution/decide/run/run.ts";
import { settingsOf } from "../tiers/t4-execution/host-facts.ts";
import { type RecordedRow, readAnswer, readInput, readRow } from "./read-row.ts";
import { type RecordedLog, replayOver } from "./recorded-log.ts";

/** The state that one process kept between its turns. */
class ReplayedRun extends RunMemory implements Run {
  readonly log: RecordedLog;
  readonly scopes: PassScopes;
  readonly drawId: Run["drawId"];
  /** Numbers of the questions that wait for a later input, by name. */
  readonly asked = new Map<string, number>();
  /** Facts of the host as this process read them, by name. */
  readonly facts = new Map<string, Json>();
  #settings: Settings | null = null;
  interrupted = false;
  now = 0;
  readonly intend = (): void => undefined;
  readonly mark = undefined;
  readonly warn = (): void => undefined;

  constructor(replaying: Pick<Replaying, "log" | "put" | "drawId">) {
    super();
    this.log = replaying.log;
    this.scopes = new PassScopes((place, question) => replaying.put(this, place, question));
    this.drawId = () => replaying.drawId();
  }

  get settings(): Settings {
    this.#settings ??= settingsOf(
      (name) => this.facts.get(name),
      (name) => this.log.endUnanswered(name),
    );
    return this.#settings;
  }

  /** Drops the questions on the record before another process's append. */
  overtaken(): void {
    this.scopes.clear();
    this.asked.clear();
    this.forgetUndecided();
  }
}

export class Replaying {
  readonly log: RecordedLog;
  #own: ReplayedRun;
  #foreignRun: ReplayedRun;
  /** Runs by the last event of each row that they wrote: one may go on behind rows of another owner. */
  readonly #runs = new Map<number, ReplayedRun>();
  /** The results of the present input: questions, drawn ids, and answers that were not given yet. */
  #asks: readonly string[] = [];
  #ids: string[] = [];
  #answers: TurnAnswer[] = [];

  constructor(log: RecordedLog) {
    this.log = log;
    this.#own = new ReplayedRun(this);
    this.#foreignRun = new ReplayedRun(this);
  }

  /** Replays the rows until they are through, or until a difference is known. */
  run(): void {
    try {
      for (const turn of this.log.turns) this.#replay(readRow(turn));
    } catch (thrown) {
      if (thrown !== replayOver) throw thrown;
    }
  }

  #replay(row: RecordedRow): void {
    const { log } = this;
    log.isOwnedElsewhere = row.inputs.some((input) => input.in === "foreign");
    for (const input of row.inputs) this.#take(input, row);
    log.closeAt(row.last);
    if (!log.isOwnedElsewhere) this.#runs.set(row.last, this.#own);
  }

  #take(input: TurnInput, row: RecordedRow): void {
    switch (input.in) {
      case "foreign":
        return;
      case "opened":
        return this.#open();
      case "owned":
        this.#own = this.#foreignRun;
        this.log.isOwnedElsewhere = false;
        return;
      case "again":
        this.#own = this.#runs.get(input.of ?? 0) ?? this.#own;
        return this.#current.overtaken();
      case "stopped":
        this.#current.interrupted = true;
        return;
      default:
        return this.#give(this.#current, input, row);
    }
  }

  get #current(): ReplayedRun {
    return this.log.isOwnedElsewhere ? this.#foreignRun : this.#own;
  }

  #open(): void {
    if (this.log.isOwnedElsewhere) this.#foreignRun = new ReplayedRun(this);
    else this.#own = new ReplayedRun(this);
  }

  #give(run: ReplayedRun, recorded: TurnInput, row: RecordedRow): void {
    run.now = recorded.at ?? row.now;
    this.#asks = recorded.asks ?? [];
    this.#ids = [...(recorded.ids ?? [])];
    this.#answers = [...(recorded.answers ?? [])];
    for (const [name, fact] of Object.entries(recorded.host ?? {})) run.facts.set(name, fact);
    const { scope = "", key = "" } = recorded.in === "answered" ? recorded : {};
    const input = readInput(recorded, run.asked.get(questionName(scope, key)) ?? 0);
    this.#decide(run, receive(run, input));
  }

  /** Decides as a mailbox does: a fault of deciding ends the workflow. */
  #decide(run: ReplayedRun, input: Input): void {
    try {
      decide(run, input);
    } catch (thrown) {
      if (thrown === replayOver) throw thrown;
      this.#endCrashed(run, thrown);
    }
    if (this.log.difference !== null) throw replayOver;
  }

  #endCrashed(run: ReplayedRun, thrown: unknown): void {
    try {
      endCrashed(run, errorOf(thrown, "T0_TIER_CRASHED", oodaRef("drive")));
    } catch {
      // A live workflow would fail here: the record holds nothing more of it.
    }
  }

  /** Returns the recorded answer; null where a later input answers. */
  put(run: ReplayedRun, { scope, key, nr }: Place, question: Question): Answered | null {
    const name = questionName(scope, key);
    const at = this.#answers.findIndex((one) => one.scope === scope && one.key === key);
    if (at >= 0) return readAnswer(this.#answers.splice(at, 1)[0] as TurnAnswer);
    if (this.#asks.includes(name)) {
      run.asked.set(name, nr);
      return null;
    }
    const usual = usualAnswer(question);
    return usual === undefined ? this.log.endUnanswered(name) : answered(usual);
  }

  drawId(): string {
    return this.#ids.shift() ?? this.log.endUnanswered("an id");
  }
}

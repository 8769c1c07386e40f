/**
 * The journal of a mailbox: the inputs since the last row, with the answers that deciding received. They are recorded
 * in the row of the events that they led to. The journal also keeps the calls that this process knew when that row was
 * sealed.
 *
 * Owns: which inputs and answers a row records, and which inputs are decided again. Never: decides, writes.
 * 1.  A row records each input that appended an event, put a question, or changed the state that this process keeps
 *     between turns, in the order in which the inputs were handled. A replay gives the same inputs and answers in that
 *     order.
 * 2.  Inputs and answers are kept as they are, and become JSON when the row is sealed. A value that an event of the row
 *     holds becomes a reference.
 * 3.  After a lost append race the known calls are those of the last row of this process, and the inputs from outside
 *     since then are decided again.
 */
import type { EventDraft } from "../../contract/event.ts";
import { ReferenceWriter } from "../../contract/event-reference.ts";
import type { Json } from "../../contract/json.ts";
import type { TurnCause, TurnInput } from "../../contract/turn-input.ts";
import { type Place, questionName } from "./decide/run/answers.ts";
import { type Answered, type Input, isExternal } from "./decide/run/input.ts";
import type { Question } from "./decide/run/intention.ts";
import { callIdOf, type Handle, type RunMemory, type Settings, type UnderWay } from "./decide/run/run.ts";
import { reportFacts, settingsName, writeSettings } from "./host-facts.ts";
import { recordInput } from "./record-input.ts";

/** An entry of the journal that belongs to no input, such as a change of owner. */
type Mark = Extract<TurnInput, { readonly in: "opened" | "foreign" | "owned" | "again" | "stopped" }>;
const isMark = (one: Handled | Mark): one is Mark => "in" in one;

export interface Received extends Place {
  readonly question: Question;
  readonly answer: Answered;
}

/** An input that was handled, with the answers that deciding received and the questions that it put meanwhile. */
export interface Handled {
  readonly input: Input;
  readonly now: number;
  readonly answers: Received[];
  readonly asks: string[];
  readonly ids: string[];
  /** Facts of the host that were read for the first time, or have changed. */
  host: Record<string, Json> | null;
  /** The number of events that it appended. */
  left: number;
  /** The question, if the input is an answer. */
  readonly question: Question | null;
}

/** An input from outside. It is kept until the row with the last event that it led to is committed. */
interface Kept {
  readonly input: Input;
  at: number;
}

/** A copy of the known calls, by step and by call. */
interface KnownCalls {
  readonly calls: readonly (readonly [string, UnderWay])[];
  readonly handles: readonly (readonly [string, Handle])[];
}

const copyCalls = ({ calls, handles }: Pick<RunMemory, "calls" | "handles">): KnownCalls => ({
  calls: calls.size === 0 ? none : [...calls],
  handles: handles.size === 0 ? none : [...handles],
});
const none: readonly never[] = [];

/** The part of a log that gives the position of an input. */
interface LogPlace {
  readonly position: number;
  readonly isDirty: boolean;
}

export class InputJournal {
  readonly #memory: RunMemory;
  readonly #isForeign: () => boolean;
  #handled: (Handled | Mark)[] = [];
  #kept: Kept[] = [];
  #current: Handled | null = null;
  #from = 0;
  /** Unanswered questions by their numbers. */
  readonly #asked = new Map<number, Question>();
  /** Facts of the host by name, as they were recorded last. */
  readonly #facts = new Map<string, unknown>();
  #settings: Settings | null = null;
  /** Whether the marks say that the deciding process does not own the workflow. */
  #recordsForeign = false;
  /** The known calls at the last row, and at the row that is being written. */
  #known: KnownCalls;
  #sealed: KnownCalls;
  /** The last event that this process wrote. */
  #last = 0;
  /** The marks in the row that is being written. */
  #sealedMarks: readonly Mark[] = [];

  constructor(memory: RunMemory, { isNew, isForeign }: { readonly isNew: boolean; readonly isForeign: () => boolean }) {
    this.#memory = memory;
    this.#isForeign = isForeign;
    this.#known = copyCalls(memory);
    this.#sealed = this.#known;
    if (!isNew) this.#open();
  }

  /** Records that the owner stops. */
  stop(): void {
    this.#handled.push({ in: "stopped" });
  }

  /**
   * Records that the process knows only the ledger from here on. Each row of a process that does not own the workflow
   * records this.
   */
  #open(): void {
    this.#markOwner();
    this.#handled.push({ in: "opened" });
  }

  /** Records a change of owner: a process that did not own the workflow may have claimed it since. */
  #markOwner(): void {
    const isForeign = this.#isForeign();
    if (isForeign !== this.#recordsForeign) this.#handled.push({ in: isForeign ? "foreign" : "owned" });
    this.#recordsForeign = isForeign;
  }

  begin(input: Input, now: number, { position }: LogPlace): void {
    if (this.#recordsForeign) this.#markOwner();
    this.#from = position;
    const question = this.#takeQuestion(input);
    this.#current = { input, now, answers: [], asks: [], ids: [], host: null, left: 0, question };
    const settings = this.#settings;
    if (settings !== null) this.#readFact(settingsName, settings, () => writeSettings(settings));
    if (isExternal(input)) this.#kept.push({ input, at: Number.POSITIVE_INFINITY });
  }

  #takeQuestion(input: Input): Question | null {
    if (input.type !== "answered") return null;
    const question = this.#asked.get(input.nr) ?? null;
    this.#asked.delete(input.nr);
    return question;
  }

  /** Records an immediate answer. */
  received(place: Place, question: Question, answer: Answered): Answered {
    this.#current?.answers.push({ ...place, question, answer });
    return answer;
  }

  /** Records that a later input will answer this question. */
  asked({ scope, key, nr }: Place, question: Question): void {
    this.#asked.set(nr, question);
    this.#current?.asks.push(questionName(scope, key));
  }

  /** Records an id that was drawn. */
  drew(id: string): string {
    this.#current?.ids.push(id);
    return id;
  }

  /** Returns settings whose facts are recorded as deciding reads them. */
  watch(settings: Settings): Settings {
    this.#settings = settings;
    return reportFacts(settings, (name, value, write) => this.#readFact(name, value, write));
  }

  /** Records a fact of the host that deciding read, unless this process has recorded the same value before. */
  #readFact(name: string, value: unknown, write: () => Json): void {
    const current = this.#current;
    if (current === null || (this.#facts.has(name) && this.#facts.get(name) === value)) return;
    this.#facts.set(name, value);
    current.host = { ...current.host, [name]: write() };
  }

  end({ position, isDirty }: LogPlace): void {
    const handled = this.#current as Handled;
    this.#current = null;
    handled.left = position - this.#from;
    if (isRecorded(handled)) this.#handled.push(handled);
    else for (const name in handled.host) this.#facts.delete(name);
    for (const kept of this.#kept) if (!isDeciding(kept.input, this.#memory)) kept.at = Math.min(kept.at, position);
    // The changes that it made in memory are in no row before the next.
    const own = this.#kept.at(-1);
    if (handled.input.type === "ended" && own?.input === handled.input && !isDirty) own.at = position + 1;
  }

  /** Returns the inputs and answers for the row that is sealed now. */
  seal(now: number, drafts: readonly EventDraft[]): TurnCause {
    this.#sealed = copyCalls(this.#memory);
    const references = new ReferenceWriter(drafts.map(({ payload }) => payload));
    const waits = (re: number): boolean => this.#memory.commands.has(re);
    const row = { now, drafts, references, waits };
    const inputs = this.#handled.map((one) => (isMark(one) ? one : recordInput(one, row)));
    this.#sealedMarks = this.#handled.filter(isMark);
    this.#handled = [];
    this.#recordsForeign = false;
    this.#markOwner();
    return { inputs };
  }

  committed(confirmed: number): void {
    this.#last = confirmed;
    this.#known = this.#sealed;
    this.#sealedMarks = [];
    this.#kept = this.#kept.filter(({ at }) => at > confirmed);
  }

  /**
   * Forgets the decisions ahead of the ledger and returns the inputs to decide again. `isMade` returns whether a call's
   * operator is running.
   */
  restart(isMade: (callId: string) => boolean): readonly Input[] {
    const { calls, handles } = this.#memory;
    const again = this.#kept.map(({ input }) => input);
    const ended = new Set(again.flatMap((input) => (input.type === "ended" ? [callIdOf(input)] : [])));
    calls.clear();
    handles.clear();
    for (const [id, call] of this.#known.calls) if (call.made) calls.set(id, call);
    for (const [id, handle] of this.#known.handles) if (isMade(id) || ended.has(id)) handles.set(id, handle);
    this.#kept = [];
    this.#asked.clear();
    this.#facts.clear();
    this.#markAgain();
    return again;
  }

  /** Keeps the marks that no row holds. A process that does not own the workflow knows only the ledger anyway. */
  #markAgain(): void {
    const marked = [...this.#sealedMarks, ...this.#handled.filter(isMark)];
    this.#sealedMarks = [];
    this.#handled = [];
    if (this.#isForeign()) {
      this.#recordsForeign = false;
      return this.#open();
    }
    this.#handled = marked.filter((mark) => mark.in !== "again");
    this.#handled.push(this.#last === 0 ? { in: "again" } : { in: "again", of: this.#last });
  }

  drop(): void {
    this.#kept = [];
    this.#handled = [];
    this.#asked.clear();
  }
}

/** Returns whether an input is a command that is not decided yet, because it waits for an answer. */
const isDeciding = (input: Input, { commands }: RunMemory): boolean =>
  (input.type === "decided" || input.type === "commanded") && commands.has(input.re);

const ofMemory: ReadonlySet<string> = new Set(["sleep", "activate", "pivot"]);

/** Returns whether an input changed the record or the state that this process keeps between turns. */
function isRecorded({ input, left, asks, answers }: Handled): boolean {
  if (left > 0 || asks.length > 0 || answers.length > 0) return true;
  if (input.type === "commanded") return ofMemory.has(input.command.kind);
  return input.type === "ended" || input.type === "answered";
}

/**
 * What of a workflow is decided ahead of its ledger: the inputs since its last row, told to the row that holds what they led
 * to, and what this process knew of calls when that row was sealed.
 *
 * Owns: which inputs a row tells of, which are decided again. Never: decides, writes.
 * T1  A row tells each input that left an event, put a question that was not answered at once, or changed what this process
 *     keeps between its turns; so a replay gives the same inputs in the same order (INV-40).
 * T2  Where another process's append came first, what is known of calls is what stood at the last row of this process, and
 *     the inputs from outside since then are decided again.
 */
import type { EventDraft } from "../../contract/event.ts";
import { plainInput, type TurnInput } from "../../contract/turn-input.ts";
import type { Ended } from "./decide/call/end-call.ts";
import { type Answered, type Input, isExternal, type Word } from "./decide/run/input.ts";
import { callIdOf, type Handle, type RunMemory, type UnderWay } from "./decide/run/run.ts";

/** What a row tells that no input led to. */
type Mark = TurnInput & { readonly in: "opened" | "foreign" | "owned" | "again" | "stopped" };
const isMark = (one: Traced | Mark): one is Mark => "in" in one;

interface Traced {
  readonly input: Input;
  readonly now: number;
  readonly asks: string[];
  fails?: TurnInput["fails"];
  left: number;
}

/** An input from outside, until the row with the last event that it led to is committed. */
interface Kept {
  readonly input: Input;
  at: number;
}

/** A copy of what is known of calls, by step and by call. */
interface KnownCalls {
  readonly calls: readonly (readonly [string, UnderWay])[];
  readonly handles: readonly (readonly [string, Handle])[];
}

const copyCalls = ({ calls, handles }: Pick<RunMemory, "calls" | "handles">): KnownCalls => ({
  calls: calls.size === 0 ? none : [...calls],
  handles: handles.size === 0 ? none : [...handles],
});
const none: readonly never[] = [];

/** What of a log says where an input stands. */
interface Place {
  readonly position: number;
  readonly isDirty: boolean;
}

export const questionName = (scope: string, key: string): string => `${scope} ${key}`;

export class TurnTrace {
  readonly #memory: RunMemory;
  readonly #isForeign: () => boolean;
  #traced: (Traced | Mark)[] = [];
  #kept: Kept[] = [];
  #current: Traced | null = null;
  #from = 0;
  /** Whether the marks say that who decides does not own the workflow. */
  #saysForeign = false;
  /** As of the last row, and as of the one that is under way. */
  #known: KnownCalls;
  #sealed: KnownCalls;
  /** The last event that it wrote itself. */
  #last = 0;
  /** Marks in the row that is under way. */
  #sealedMarks: readonly Mark[] = [];

  constructor(memory: RunMemory, { isNew, isForeign }: { readonly isNew: boolean; readonly isForeign: () => boolean }) {
    this.#memory = memory;
    this.#isForeign = isForeign;
    this.#known = copyCalls(memory);
    this.#sealed = this.#known;
    if (!isNew) this.#open();
  }

  mark(name: Mark["in"], detail: Pick<Mark, "of"> = {}): void {
    this.#traced.push({ in: name, ...detail });
  }

  /** Who goes on from here knows nothing but the ledger; of who does not own the workflow each row says so. */
  #open(): void {
    this.#tellOwner();
    this.mark("opened");
  }

  /** Who did not own the workflow may have been given it since. */
  #tellOwner(): void {
    const isForeign = this.#isForeign();
    if (isForeign !== this.#saysForeign) this.mark(isForeign ? "foreign" : "owned");
    this.#saysForeign = isForeign;
  }

  begin(input: Input, now: number, { position }: Place): void {
    if (this.#saysForeign) this.#tellOwner();
    this.#from = position;
    this.#current = { input, now, asks: [], left: 0 };
    if (input.type === "answered") this.hears(input.scope, input.key, input.answer);
    if (isExternal(input)) this.#kept.push({ input, at: Number.POSITIVE_INFINITY });
  }

  asksLater(scope: string, key: string): void {
    this.#current?.asks.push(questionName(scope, key));
  }

  /** Which question failed is not always told by what came of it; what a hook on the way back fails with changes nothing. */
  hears(scope: string, key: string, answer: Answered): Answered {
    const { error } = answer;
    if (this.#current !== null && error !== null && !/^(after|onError):/.test(key))
      this.#current.fails = { ...this.#current.fails, [questionName(scope, key)]: error };
    return answer;
  }

  end({ position, isDirty }: Place): void {
    const traced = this.#current as Traced;
    this.#current = null;
    traced.left = position - this.#from;
    if (isTold(traced)) this.#traced.push(traced);
    for (const kept of this.#kept) if (!isDeciding(kept.input, this.#memory)) kept.at = Math.min(kept.at, position);
    // What it changed here is in no row before the next.
    const own = this.#kept.at(-1);
    if (traced.input.type === "ended" && own?.input === traced.input && !isDirty) own.at = position + 1;
  }

  /** What the row that is sealed now tells; undefined where its first event does. */
  seal(now: number, drafts: readonly EventDraft[]): readonly TurnInput[] | undefined {
    this.#sealed = copyCalls(this.#memory);
    let at = 0;
    const told = this.#traced.map((one) => {
      if (isMark(one)) return one;
      at += one.left;
      return tell(one, now, drafts.slice(at - one.left, at));
    });
    this.#sealedMarks = this.#traced.filter(isMark);
    this.#traced = [];
    this.#saysForeign = false;
    this.#tellOwner();
    return told.length === 1 && isPlain(told[0] as TurnInput, drafts) ? undefined : told;
  }

  committed(confirmed: number): void {
    this.#last = confirmed;
    this.#known = this.#sealed;
    this.#sealedMarks = [];
    this.#kept = this.#kept.filter(({ at }) => at > confirmed);
  }

  /** Forgets what was decided ahead; gives the inputs to decide again. `isMade`: whether a call's operator goes on. */
  restart(isMade: (callId: string) => boolean): readonly Input[] {
    const { calls, handles } = this.#memory;
    const again = this.#kept.map(({ input }) => input);
    const ended = new Set(again.flatMap((input) => (input.type === "ended" ? [callIdOf(input)] : [])));
    calls.clear();
    handles.clear();
    for (const [id, call] of this.#known.calls) if (call.made) calls.set(id, call);
    for (const [id, handle] of this.#known.handles) if (isMade(id) || ended.has(id)) handles.set(id, handle);
    this.#kept = [];
    this.#markAgain();
    return again;
  }

  /** The marks that no row holds stay; who does not own the workflow knows nothing but the ledger anyway. */
  #markAgain(): void {
    const marked = [...this.#sealedMarks, ...this.#traced.filter(isMark)];
    this.#sealedMarks = [];
    this.#traced = [];
    if (this.#isForeign()) {
      this.#saysForeign = false;
      return this.#open();
    }
    this.#traced = marked.filter((mark) => mark.in !== "again");
    this.mark("again", this.#last === 0 ? {} : { of: String(this.#last) });
  }

  drop(): void {
    this.#kept = [];
    this.#traced = [];
  }
}

/** Whether an input tells no more than the plain one of its row. */
function isPlain(told: TurnInput, drafts: readonly EventDraft[]): boolean {
  const plain = plainInput(drafts[0]?.type ?? "", drafts.length);
  for (const member in told) if (told[member as keyof TurnInput] !== plain[member as keyof TurnInput]) return false;
  return told.left !== undefined;
}

/** A command that waits for an answer is not decided yet. */
const isDeciding = (input: Input, { commands }: RunMemory): boolean =>
  (input.type === "decided" || input.type === "commanded") && commands.has(input.re);

const ofMemory: ReadonlySet<string> = new Set(["sleep", "activate", "pivot"]);

/** Whether anything came of an input, for the record or for what this process keeps between turns. */
function isTold({ input, left, asks }: Traced): boolean {
  if (left > 0 || asks.length > 0) return true;
  if (input.type === "commanded") return ofMemory.has(input.command.kind);
  return input.type === "ended" || input.type === "answered";
}

function tell({ input, now, left, asks, fails }: Traced, rowNow: number, drafts: readonly EventDraft[]): TurnInput {
  const told: TurnInput = { in: input.type };
  if (left !== 0) told.left = left;
  if (now !== 0 && now !== rowNow) told.at = now;
  if (asks.length > 0) told.asks = asks;
  if (fails !== undefined) told.fails = fails;
  tellDetail(told, input, asks, drafts);
  return told;
}

function tellDetail(told: TurnInput, input: Input, asks: readonly string[], drafts: readonly EventDraft[]): void {
  const { type } = input;
  if (type === "ended") tellEnd(told, input, drafts);
  if (type === "answered") told.of = questionName(input.scope, input.key);
  if (type === "told" && input.drafts.length !== 1) told.said = Math.min(input.drafts.length, drafts.length);
  if (type === "commanded") told.of = input.command.kind;
  if ((type === "commanded" || type === "decided") && asks.some((name) => name.startsWith(`command:${input.re} `)))
    told.re = input.re;
  if (type === "decided" && isEdit(input.word)) told.edit = true;
  if (type === "commanded" && input.command.kind === "pivot") told.objective = input.command.objective;
}

const isEdit = (word: Word): boolean => word.kind === "decision" && word.request.payload.edit !== undefined;

/** The end itself stands in its event, where the step had an ear for it. */
function tellEnd(told: TurnInput, ended: Ended, drafts: readonly EventDraft[]): void {
  const { end, run } = ended;
  const isNoted = drafts.some((one) => isOf(ended, one));
  if (!isNoted) {
    told.of = callIdOf(ended);
    told.ok = end.status === "succeeded";
  }
  if (!end.over) told.over = false;
  if (run !== 1 && isNoted) told.run = run;
}

function isOf(ended: Ended, { type, step_id, payload }: EventDraft): boolean {
  if (type !== (ended.end.status === "succeeded" ? "ACTION_SUCCEEDED" : "ACTION_FAILED")) return false;
  const { action_id, attempt } = payload as { readonly action_id?: string; readonly attempt?: number };
  return step_id === ended.step_id && action_id === ended.action_id && attempt === ended.attempt;
}

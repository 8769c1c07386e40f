/**
 * A run that is fed from a record: what one process kept between its turns, and the questions it has out.
 *
 * Never: knows where the record stands, or what comes next.
 */
import { PassScopes, type Place } from "../tiers/t4-execution/decide/run/answers.ts";
import type { Answered } from "../tiers/t4-execution/decide/run/input.ts";
import type { Intention, Question } from "../tiers/t4-execution/decide/run/intention.ts";
import { type DecidingLog, type Run, RunMemory, type Settings } from "../tiers/t4-execution/decide/run/run.ts";

/** A question whose answer comes later. */
export interface Held extends Place {
  readonly question: Question;
  /** Asked already. */
  readonly asked: Promise<Answered> | Answered | null;
}

export type Put = (run: ReplayedRun, place: Place, question: Question) => Answered | null;

export class ReplayedRun extends RunMemory implements Run {
  readonly log: DecidingLog & { readonly now: number };
  readonly settings: Settings;
  readonly scopes: PassScopes;
  readonly held = new Map<string, Held>();
  interrupted = false;

  constructor(log: ReplayedRun["log"], settings: Settings, put: Put) {
    super();
    this.log = log;
    this.settings = settings;
    this.scopes = new PassScopes((place, question) => put(this, place, question));
  }

  get now(): number {
    return this.log.now;
  }

  readonly intend = (_intention: Intention): void => undefined;
  readonly mark = undefined;
  readonly warn = (): void => undefined;

  hold(name: string, held: Held): null {
    this.held.set(name, held);
    return null;
  }

  /** The question that is answered now; nobody has it out any more. */
  take(name: string): Held | null {
    const held = this.held.get(name) ?? null;
    this.held.delete(name);
    return held;
  }

  /** Another process's append came first: what was asked on the record before it counts no more. */
  overtaken(): void {
    this.scopes.clear();
    this.held.clear();
    this.forgetUndecided();
  }
}

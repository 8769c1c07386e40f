/**
 * What a workflow's turns want done, until it may be: once the row that holds what was decided before it is committed, and
 * durable where anything outside rests on it.
 *
 * Never: performs. W1  Intentions keep their order, but for calls without effect that need not wait (W2).
 * W2  Under `durability: "effects"` the first call of an action, of an operator that declares no effect, and that sets
 *     nothing aside, needs no commit: what a power cut takes back of it is done again, and so is what a refused row does; the
 *     two are told apart by their action. Without a lease nothing is called (E4).
 */
import type { WorkflowLog } from "../../engine/log/workflow-log.ts";
import { findKnownOperator } from "./decide/payload/prepare-step.ts";
import type { Intention } from "./decide/run/intention.ts";
import { callIdOf, type Run, stepOf } from "./decide/run/run.ts";

interface One {
  readonly intention: Intention;
  /** The sequence that it waits for. */
  readonly at: number;
}

export class IntentionQueue {
  readonly #run: Run & { readonly log: WorkflowLog };
  #waiting: One[] = [];

  constructor(run: Run & { readonly log: WorkflowLog }) {
    this.#run = run;
  }

  get size(): number {
    return this.#waiting.length;
  }

  add(intention: Intention): void {
    this.#waiting.push({ intention, at: this.#run.log.position });
  }

  /** The next that may be performed; where it waits for a sync alone, one is asked for. */
  takeDue(): Intention | undefined {
    const [next] = this.#waiting;
    if (next === undefined || !this.#mayPerform(next)) return undefined;
    return this.#waiting.shift()?.intention;
  }

  /** A call that need not wait for its row (W2). */
  takeEarly(): Intention | undefined {
    const { lease, lost } = this.#run.log;
    if (this.#run.settings.durability === "full" || lease === null || lost !== null) return undefined;
    const at = this.#waiting.findIndex(({ intention }) => this.#isHarmless(intention) && isFirst(intention));
    return at === -1 ? undefined : this.#waiting.splice(at, 1)[0]?.intention;
  }

  /** Whether nothing outside waits for what is noted. */
  isHarmless(): boolean {
    return this.#waiting.every(({ intention }) => this.#isHarmless(intention));
  }

  /** What was decided behind this sequence did not happen. */
  forgetBehind(sequence: number): void {
    this.#waiting = this.#waiting.filter(({ at }) => at <= sequence);
  }

  clear(): void {
    this.#waiting = [];
  }

  #mayPerform({ intention, at }: One): boolean {
    const { confirmed, durability } = this.#run.log;
    if (at > confirmed) return false;
    if (!durability.isBehind(at) || this.#isHarmless(intention)) return true;
    durability.sync(confirmed);
    return false;
  }

  #isHarmless(intention: Intention): boolean {
    if (intention.do !== "call" || this.#run.handles.get(callIdOf(intention))?.charged !== null) return false;
    // By what is registered now: a release may have given it an effect since it was planned.
    return findKnownOperator(this.#run, stepOf(this.#run, intention.step_id).step)?.metadata.effect === "none";
  }
}

const isFirst = (intention: Intention): boolean => intention.do === "call" && intention.isFirst;

/**
 * The queue of a workflow's intentions. An intention is performed once the row with the events before it is committed,
 * and durable if an effect outside rests on it.
 *
 * Never: performs.
 * 1.  Intentions keep their order, except calls without effect that need not wait (rule 2).
 * 2.  Under `durability: "effects"` a computation may begin before its row is committed. A computation is the first
 *     call of an action whose operator has the effect `none` or `read`, which reserves nothing from a budget, and whose
 *     step has no gate. If a power cut or a refused row undoes it, it is computed again as another action. A process
 *     without the lease calls nothing, nor does one whose lease may have expired.
 */
import { gateIdOf } from "../../contract/gate.ts";
import { isHarmless } from "../../contract/operator.ts";
import type { WorkflowLog } from "../../engine/log/workflow-log.ts";
import { findKnownOperator } from "./decide/payload/prepare-step.ts";
import type { Intention } from "./decide/run/intention.ts";
import { callIdOf, type Run, stepOf } from "./decide/run/run.ts";

interface One {
  readonly intention: Intention;
  /** The sequence that must be committed first. */
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

  /** Takes the next intention that may be performed; requests a sync if it waits for that alone. */
  takeDue(): Intention | undefined {
    const [next] = this.#waiting;
    if (next === undefined || !this.#mayPerform(next)) return undefined;
    return this.#waiting.shift()?.intention;
  }

  /** Takes the next computation that need not wait for its row (rule 2). */
  takeEarly(): Intention | undefined {
    if (this.#run.settings.durability === "full" || !this.#run.log.isHeld) return undefined;
    const at = this.#waiting.findIndex(({ intention }) => this.#computes(intention) && isFirst(intention));
    return at === -1 ? undefined : this.#waiting.splice(at, 1)[0]?.intention;
  }

  /** Returns whether no effect outside waits for the appended events, so that their row needs no sync. */
  onlyComputes(): boolean {
    return this.#waiting.every(({ intention }) => this.#computes(intention));
  }

  /** Forgets the intentions behind this sequence, whose events were not committed. */
  forgetBehind(sequence: number): void {
    this.#waiting = this.#waiting.filter(({ at }) => at <= sequence);
  }

  clear(): void {
    this.#waiting = [];
  }

  #mayPerform({ intention, at }: One): boolean {
    const { confirmed, durability } = this.#run.log;
    if (at > confirmed) return false;
    if (!durability.isBehind(at) || this.#computes(intention)) return true;
    durability.sync(confirmed);
    return false;
  }

  #computes(intention: Intention): boolean {
    if (intention.do !== "call" || this.#run.handles.get(callIdOf(intention))?.charged !== null) return false;
    if (this.#run.log.record.gates.has(gateIdOf(intention.step_id))) return false;
    // The present registration counts: a release may have given the operator an effect since the plan was made.
    const operator = findKnownOperator(this.#run, stepOf(this.#run, intention.step_id).step);
    return operator !== null && isHarmless(operator.metadata.effect);
  }
}

const isFirst = (intention: Intention): boolean => intention.do === "call" && intention.isFirst;

/**
 * The DAG executor: runs steps in dependency order, a bounded number at a time.
 *
 * Owns: bounds, cascade cancellation; the ready queue has the order: priority, then place in the plan. Never: what a
 * step does, nor where its state is kept.
 * 1.  A step starts only after all it depends on completed, and at most once per offer.
 * 2.  A failed or blocked step cancels its transitive dependents, unstarted; independent branches go on.
 * 3.  The budget is asked before each start; a refusal, or a check that fails, starts nothing more and cancels what has
 *     not started.
 * 4.  A parked step (it waits for a person) is neither done nor failed; `resume` offers it again.
 * 5.  Nothing is rethrown: a throw of `executeFn` is a FAILED result.
 * 6.  Nothing is forgotten: a step that can never start, for want of what it depends on, is cancelled.
 * 7.  While paused nothing starts and nothing is cancelled for it; a run that ends paused leaves the rest open.
 */

import { isPromise } from "../contract/maybe-promise.ts";
import type { StepResult } from "../contract/step.ts";
import { ReadyQueue } from "../engine/actors/ready-queue.ts";
import { messageOf } from "../engine/actors/within.ts";

/** The answer of `executeFn` for a step that waits for a person. */
export const parked: unique symbol = Symbol("parked");
export type Parked = typeof parked;

export interface DagStep {
  readonly step_id: string;
  readonly depends_on: readonly string[];
  readonly priority?: number;
}

export type DagStatus = "COMPLETED" | "FAILED" | "BLOCKED" | "CANCELLED";

export interface DagOptions<S extends DagStep> {
  readonly steps: readonly S[];
  readonly executeFn: (step: S) => StepResult | Parked | Promise<StepResult | Parked>;
  readonly budgetCheckFn?: (step: S) => boolean | Promise<boolean>;
  readonly maxConcurrent?: number;
  /** The present states of steps, those of earlier plans included. */
  readonly settled?: ReadonlyMap<string, DagStatus>;
  readonly onCancel?: (step: S, because: string) => void;
}

/** The result of a run of steps. */
export interface DAGResult {
  readonly success: boolean;
  readonly completed: readonly string[];
  readonly failed: readonly string[];
  readonly cancelled: readonly string[];
  readonly waiting: readonly string[];
  readonly results: Readonly<Record<string, StepResult>>;
  readonly summary: string;
}

/** Runs steps in the order of what they depend on, so many at once. */
export class DagExecutor<S extends DagStep> {
  readonly #options: DagOptions<S>;
  readonly #status: Map<string, DagStatus>;
  readonly #steps: ReadonlyMap<string, S>;
  /** The steps that are open and not parked. */
  readonly #queue = new ReadyQueue<string>();
  readonly #running = new Set<string>();
  readonly #parked = new Set<string>();
  readonly #results = new Map<string, StepResult>();
  #refused = false;
  #paused = false;
  #scheduling = false;
  #finish: ((result: DAGResult) => void) | null = null;

  constructor(options: DagOptions<S>) {
    this.#options = options;
    this.#status = new Map(options.settled);
    this.#steps = new Map(options.steps.map((step) => [step.step_id, step]));
    for (const step of this.#steps.values()) if (!this.#status.has(step.step_id)) this.#offer(step);
  }

  /** Runs until nothing is running and nothing can start. */
  run(): Promise<DAGResult> {
    return new Promise((resolve) => {
      this.#finish = resolve;
      this.#cascade();
      void this.#schedule();
    });
  }

  /** Offers a parked step again. */
  resume(stepId: string): void {
    const step = this.#parked.delete(stepId) ? this.#steps.get(stepId) : undefined;
    if (step === undefined) return;
    this.#offer(step);
    void this.#schedule();
  }

  /** Starts nothing more until it is lifted; what runs may end. */
  pause(paused: boolean): void {
    this.#paused = paused;
    if (!paused) void this.#schedule();
  }

  /** Starts nothing more and cancels what has not started; what runs may end. */
  halt(because: string): void {
    this.#refused = true;
    for (const step of this.#options.steps)
      if (this.#isOpen(step) && !this.#parked.has(step.step_id)) this.#cancel(step, because);
  }

  #isOpen(step: S): boolean {
    return !this.#status.has(step.step_id) && !this.#running.has(step.step_id);
  }

  #offer(step: S): void {
    this.#queue.add({
      id: step.step_id,
      priority: step.priority ?? 0,
      sequence: this.#options.steps.indexOf(step),
      dependencies: step.depends_on.filter((id) => this.#status.get(id) !== "COMPLETED"),
    });
  }

  #nextReady(): S | undefined {
    const next = this.#queue.next();
    return next === undefined ? undefined : this.#steps.get(next);
  }

  async #schedule(): Promise<void> {
    if (this.#scheduling || this.#finish === null) return;
    this.#scheduling = true;
    const limit = Math.max(1, this.#options.maxConcurrent ?? 5);
    for (
      let step = this.#nextReady();
      step !== undefined && this.#running.size < limit && !this.#refused && !this.#paused;
      step = this.#nextReady()
    ) {
      if (!(await this.#mayStart(step))) this.halt("budget");
      else if (this.#isOpen(step) && !this.#paused) this.#start(step);
    }
    this.#scheduling = false;
    this.#finishIfIdle();
  }

  async #mayStart(step: S): Promise<boolean> {
    try {
      const answer = this.#options.budgetCheckFn?.(step) ?? true;
      return isPromise(answer) ? await answer : answer;
    } catch {
      return false;
    }
  }

  #start(step: S): void {
    this.#queue.remove(step.step_id);
    this.#running.add(step.step_id);
    const end = (result: StepResult | Parked): void => {
      this.#running.delete(step.step_id);
      this.#take(step, result);
      void this.#schedule();
    };
    const failed = (thrown: unknown): void => end({ data: null, output_text: messageOf(thrown), status: "FAILED" });
    try {
      const answer = this.#options.executeFn(step);
      if (isPromise(answer)) answer.then(end, failed);
      else end(answer);
    } catch (thrown) {
      failed(thrown);
    }
  }

  #take(step: S, result: StepResult | Parked): void {
    if (result === parked) {
      this.#parked.add(step.step_id);
      return;
    }
    this.#results.set(step.step_id, result);
    this.#status.set(step.step_id, result.status);
    if (result.status === "COMPLETED") this.#queue.complete(step.step_id);
    else this.#cascade();
  }

  /** Cancels every open step that depends, however far, on one that did not complete. */
  #cascade(): void {
    for (let changed = true; changed; ) {
      changed = false;
      for (const step of this.#options.steps) {
        const because = this.#isOpen(step) ? step.depends_on.find((id) => this.#isDead(id)) : undefined;
        if (because === undefined) continue;
        this.#cancel(step, because);
        changed = true;
      }
    }
  }

  /**
   * Cancels steps that are still open with nothing running, ready or waiting: they depend on a cycle or on a missing
   * step.
   */
  #cancelUnreachable(): void {
    for (const step of this.#options.steps)
      if (this.#isOpen(step)) this.#cancel(step, step.depends_on.find((id) => !this.#status.has(id)) ?? "unreachable");
  }

  #isDead(stepId: string): boolean {
    const status = this.#status.get(stepId);
    return status !== undefined && status !== "COMPLETED";
  }

  #cancel(step: S, because: string): void {
    this.#status.set(step.step_id, "CANCELLED");
    this.#parked.delete(step.step_id);
    this.#queue.remove(step.step_id);
    this.#options.onCancel?.(step, because);
  }

  #finishIfIdle(): void {
    if (this.#running.size > 0 || this.#scheduling || this.#finish === null) return;
    if (!this.#refused && !this.#paused && this.#nextReady() !== undefined) return;
    if (this.#parked.size === 0 && !this.#paused) this.#cancelUnreachable();
    const finish = this.#finish;
    this.#finish = null;
    finish(this.#result());
  }

  #result(): DAGResult {
    const ids = this.#options.steps.map((s) => s.step_id);
    const having = (...wanted: readonly DagStatus[]): string[] =>
      ids.filter((id) => wanted.includes(this.#status.get(id) as DagStatus));
    const [completed, failed, cancelled, waiting] = [
      having("COMPLETED"),
      having("FAILED", "BLOCKED"),
      having("CANCELLED"),
      [...this.#parked],
    ];
    const summary =
      `${completed.length} completed, ${failed.length} failed, ${cancelled.length} ` +
      `cancelled${waiting.length > 0 ? `, ${waiting.length} waiting` : ""}`;
    return {
      success: completed.length === ids.length,
      completed,
      failed,
      cancelled,
      waiting,
      results: Object.fromEntries(this.#results),
      summary,
    };
  }
}

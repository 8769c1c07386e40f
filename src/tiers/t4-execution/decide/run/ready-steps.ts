/**
 * What of the newest plan is ready: the queue that the DAG executor and the token kernel take from, kept in step with the
 * record. What happened since it was asked last is read from the record, not looked for in every step.
 *
 * Never: begins a step, nor changes the record.
 * 1.  It follows from the record alone: another record, another plan, or a step that is queued again begins it anew.
 */
import { isMet, isStepDone, isThrough, type WorkflowRecord } from "../../../../contract/workflow.ts";
import { ReadyQueue } from "../../../../engine/actors/ready-queue.ts";

export class ReadySteps {
  #queue = new ReadyQueue<string>();
  #record: WorkflowRecord | null = null;
  #plan: WorkflowRecord["plan"] = null;
  #seen = 0;
  #hasDied = false;

  /** The ready step of the highest priority, among equals the first of the plan. */
  next(record: WorkflowRecord): string | undefined {
    this.#catchUp(record);
    return this.#queue.next();
  }

  /** Returns whether a step has ended without success, or was queued, since this was asked last. */
  hasDied(record: WorkflowRecord): boolean {
    this.#catchUp(record);
    const hasDied = this.#hasDied;
    this.#hasDied = false;
    return hasDied;
  }

  #catchUp(record: WorkflowRecord): void {
    const { moved } = record.standing;
    if (record !== this.#record || record.plan !== this.#plan) return this.#begin(record);
    for (; this.#seen < moved.length; this.#seen += 1) {
      const id = moved[this.#seen] as string;
      const step = record.steps.get(id);
      if (step === undefined || step.state === "queued") return this.#begin(record);
      this.#queue.remove(id);
      if (!isStepDone(step.state)) continue;
      this.#queue.complete(endOf(id));
      if (isThrough(step)) this.#queue.complete(id);
      else this.#hasDied = true;
    }
  }

  #begin(record: WorkflowRecord): void {
    const { plan, steps, standing } = record;
    this.#record = record;
    this.#plan = plan;
    this.#seen = standing.moved.length;
    this.#hasDied = true;
    this.#queue = new ReadyQueue();
    for (const [sequence, step] of (plan?.steps ?? []).entries()) {
      const { step_id: id, priority, depends_on, settled = [] } = step;
      const unmet = depends_on.filter((on) => !isMet(record, step, on));
      const dependencies = unmet.map((on) => (settled.includes(on) ? endOf(on) : on));
      if (steps.get(id)?.state === "queued") this.#queue.add({ id, priority, sequence, dependencies });
    }
  }
}

/** Returns the name of any end of a step in the queue; its success has the id of the step. */
const endOf = (id: string): string => `end ${id}`;

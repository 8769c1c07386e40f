/**
 * The ready steps of the newest plan: the queue from which the DAG executor and the token kernel take steps. It is
 * updated from the changes of the record since the last call, without a walk over all steps.
 *
 * Never: begins a step, nor changes the record.
 * 1.  It follows from the record alone: another record, another plan, or a step that is queued again rebuilds it.
 * 2.  Steps that a step has added wait in their group, which offers as many at once as it allows; the end of one offers
 *     the next.
 */
import { addedIdOf } from "../../../../../machines/added-id.ts";
import { roomIn } from "../../../../contract/step-group.ts";
import { isMet, isStepDone, isThrough, type WorkflowRecord } from "../../../../contract/workflow.ts";
import { ReadyQueue } from "../../../../engine/actors/ready-queue.ts";

/** The position in a group up to which its steps were examined, and the steps that were offered and have not begun. */
interface Offering {
  next: number;
  readonly offered: Set<string>;
}

export class ReadySteps {
  #queue = new ReadyQueue<string>();
  #offerings = new Map<string, Offering>();
  #record: WorkflowRecord | null = null;
  #plan: WorkflowRecord["plan"] = null;
  #seen = 0;
  #hasDied = false;

  /** Returns the ready step with the highest priority; among equals, the first of the plan. */
  next(record: WorkflowRecord): string | undefined {
    this.#catchUp(record);
    return this.#queue.next();
  }

  /** Returns whether a step of the plan has ended without success, or was queued, since the last call. */
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
      this.#offer(record, id, id);
      if (step.added !== null) this.#offer(record, step.added.of, id);
      if (!isStepDone(step.state) || step.added !== null) continue;
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
    this.#offerings = new Map();
    for (const [sequence, step] of (plan?.steps ?? []).entries()) {
      const { step_id: id, priority, depends_on, settled = [] } = step;
      const unmet = depends_on.filter((on) => !isMet(record, step, on));
      const dependencies = unmet.map((on) => (settled.includes(on) ? endOf(on) : on));
      if (steps.get(id)?.state === "queued") this.#queue.add({ id, priority, sequence, dependencies });
    }
    for (const of of standing.groups.keys()) this.#offer(record, of, of);
  }

  /** Offers as many steps of a group as may begin, after one of them, or the step that adds them, has moved. */
  #offer(record: WorkflowRecord, of: string, moved: string): void {
    const group = record.standing.groups.get(of);
    const owner = record.steps.get(of);
    if (group === undefined || owner === undefined) return;
    const offering = this.#offerings.get(of) ?? { next: 0, offered: new Set<string>() };
    const { offered } = offering;
    offered.delete(moved);
    const room = roomIn(group, owner);
    if (room === 0) for (const id of offered) this.#queue.remove(id);
    // What was taken back is looked for again, should there be room for it.
    if (room === 0 && offered.size > 0) return void this.#offerings.delete(of);
    this.#offerings.set(of, offering);
    for (; offered.size < room && offering.next < group.ids.size; offering.next += 1) {
      const id = addedIdOf(of, group.as, offering.next);
      if (record.steps.get(id)?.state !== "queued") continue;
      offered.add(id);
      const sequence = record.standing.places.get(id) ?? 0;
      this.#queue.add({ id, priority: owner.step.priority, sequence, dependencies: [] });
    }
  }
}

/** Returns the name in the queue of any end of a step; its success has the id of the step. */
const endOf = (id: string): string => `end ${id}`;

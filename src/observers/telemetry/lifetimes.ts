/**
 * Lifetimes: derived from committed events, with the instants of the ledger. Spans and durations are both derived from
 * these.
 *
 * Owns: the events that begin and end a workflow's run, a step, an attempt (a call) and a gate. Never: reads a clock.
 * 1.  A life that began before this process, or was dropped, is found again in the folded record when it ends.
 * 2.  A life whose beginning was reported ends once, at the latest with its workflow's run; or it is dropped.
 * 3.  At most `maxLives` are remembered, those of the most recently active workflows; none of an ended run.
 * 4.  Events of another process end lives that are remembered here and begin none: that process reports those.
 */
import { type LedgerEvent, payloadOf } from "../../contract/event.ts";
import { factsOf, typesWhere } from "../../contract/events.ts";
import type { AttemptTrace } from "../../contract/trace.ts";
import type { StepRecord, WorkflowRecord } from "../../contract/workflow.ts";
import type { Commit } from "../../index.ts";
import {
  keyOfRun,
  keyOfStep,
  type Lifetime,
  type LifetimeEnd,
  lifeOfAttempt,
  lifeOfGate,
  lifeOfRun,
  lifeOfStep,
} from "./lifetime.ts";
import { attemptOutcome, cutOf, gateOutcome, type Outcome, runOutcome, stepOutcome } from "./outcomes.ts";

export interface LifeListener {
  /** Called when a life has begun, or was found again to be under way. */
  readonly began: (life: Lifetime, record: WorkflowRecord) => void;
  readonly ended: (life: Lifetime, end: LifetimeEnd) => void;
  /** Called when a life is dropped: nothing more is reported of it, unless it is found again. */
  readonly forgotten: (life: Lifetime) => void;
}

/** The types of events that begin or end a lifetime. */
const turning = typesWhere(({ begins, ends }) => begins !== undefined || ends !== undefined);

/** The context in which an event is read. */
interface Reading {
  readonly record: WorkflowRecord;
  readonly own: boolean;
  readonly event: LedgerEvent;
  readonly at: number;
  readonly lives: Map<string, Lifetime>;
}

interface End {
  readonly how: Outcome;
  /** Whether the event itself ends the life; a life that is cut off has none. */
  readonly reported: boolean;
}

export class Lifetimes {
  readonly #listener: LifeListener;
  readonly #maxLives: number;
  /** The workflow that stirred last comes last. */
  readonly #workflows = new Map<string, Map<string, Lifetime>>();
  #size = 0;

  constructor(listener: LifeListener, maxLives: number) {
    this.#listener = listener;
    this.#maxLives = maxLives;
  }

  /** Returns the number of remembered lives. */
  get size(): number {
    return this.#size;
  }

  take({ events, record, own }: Commit): void {
    if (record === null) return;
    const id = record.workflow_id;
    const lives = this.#workflows.get(id) ?? new Map<string, Lifetime>();
    this.#workflows.delete(id);
    this.#workflows.set(id, lives);
    for (const event of events)
      if (turning.has(event.event_type)) this.#read({ record, own, event, at: Date.parse(event.timestamp), lives });
    if (lives.size === 0) this.#workflows.delete(id);
    while (this.#size > this.#maxLives) this.#forgetOldest();
  }

  /** Returns the running attempt of a step. */
  attemptOf(workflowId: string, stepId: string, attempt: number): Lifetime | null {
    for (const life of this.#workflows.get(workflowId)?.values() ?? [])
      if (life.kind === "attempt" && life.stepId === stepId && life.number === attempt) return life;
    return null;
  }

  forgetAll(): void {
    while (this.#workflows.size > 0) this.#forgetOldest();
  }

  #forgetOldest(): void {
    for (const [workflowId, lives] of this.#workflows) {
      this.#workflows.delete(workflowId);
      this.#size -= lives.size;
      for (const life of lives.values()) this.#listener.forgotten(life);
      return;
    }
  }

  #read(reading: Reading): void {
    if (reading.own) this.#readBeginning(reading);
    this.#readEnd(reading);
  }

  #readBeginning(reading: Reading): void {
    const { event, record } = reading;
    switch (factsOf(event.event_type).begins) {
      case "workflow":
        return this.#begin(reading, lifeOfRun(record));
      case "step":
        return this.#begin(reading, lifeOfStep(this.#runOf(reading), event.step_id ?? "", reading));
      case "attempt":
        return this.#beginAttempt(reading);
      case "gate": {
        const { gate } = payloadOf(event, "GATE_OPENED");
        return this.#begin(reading, lifeOfGate(this.#stepOf(reading), gate, reading.at));
      }
      default:
    }
  }

  #readEnd(reading: Reading): void {
    const { event } = reading;
    switch (factsOf(event.event_type).ends) {
      case "workflow":
        return this.#endRun(reading);
      case "step":
        return this.#endStep(reading, event.step_id ?? "", { how: stepOutcome(event), reported: true });
      case "attempt":
        return this.#endAttempt(reading);
      case "gate":
        return this.#endGate(reading);
      default:
    }
  }

  /** Begins a life. Its parents are remembered as well, because they are still under way. */
  #begin(reading: Reading, life: Lifetime): void {
    const { lives, record } = reading;
    if (lives.has(life.key)) return;
    if (life.parent !== null) this.#begin(reading, life.parent);
    lives.set(life.key, life);
    this.#size += 1;
    this.#listener.began(life, record);
  }

  /** Ends a life as it is remembered, or else as the record has it. */
  #end(reading: Reading, found: Lifetime, { how, reported }: End): void {
    const { lives, record, own, at, event } = reading;
    if (!own && !lives.has(found.key)) return;
    this.#begin(reading, found);
    const life = lives.get(found.key) ?? found;
    lives.delete(life.key);
    this.#size -= 1;
    this.#listener.ended(life, { ...how, at: Math.max(at, life.began), event: reported ? event : null, own, record });
  }

  #runOf({ lives, record }: Reading): Lifetime {
    return lives.get(keyOfRun(record)) ?? lifeOfRun(record);
  }

  #stepOf(reading: Reading, stepId = reading.event.step_id ?? ""): Lifetime {
    const { lives, record } = reading;
    return lives.get(keyOfStep(record, stepId)) ?? lifeOfStep(this.#runOf(reading), stepId, reading);
  }

  #beginAttempt(reading: Reading): void {
    const { event, at, record } = reading;
    const { attempt, recovered } = payloadOf(event, "ACTION_STARTED");
    const standing = record.steps.get(event.step_id ?? "")?.attempts.findLast((a) => a.attempt === attempt);
    // A call that is made again after a crash is the same attempt.
    const began = recovered === true && standing !== undefined ? Date.parse(standing.started_at) : at;
    this.#begin(reading, lifeOfAttempt(this.#stepOf(reading), attempt, began));
  }

  #endAttempt(reading: Reading): void {
    const { event, record, lives } = reading;
    const how = attemptOutcome(event);
    const { attempt } = payloadOf(event, "ACTION_FAILED");
    const step = record.steps.get(event.step_id ?? "");
    const entry = step?.attempts.findLast(
      (a) => a.finished_at === event.timestamp && (attempt === undefined || a.attempt === attempt),
    );
    const life = lifeOfAttempt(this.#stepOf(reading), entry?.attempt ?? attempt, Date.parse(entry?.started_at ?? ""));
    // A report of a call after it was given up, or after its step has ended, changes no life.
    if (lives.has(life.key) || (isEndOf(entry, event, how) && isUnderWay(step, event)))
      this.#end(reading, life, { how, reported: true });
  }

  #endGate(reading: Reading): void {
    const { event, record } = reading;
    const gate = record.gates.get(payloadOf(event, "GATE_EXPIRED").gate_id);
    if (gate === undefined) return;
    const life = lifeOfGate(this.#stepOf(reading, gate.step_id), gate, Date.parse(gate.opened_at));
    this.#end(reading, life, { how: gateOutcome(event), reported: true });
  }

  #endStep(reading: Reading, stepId: string, end: End): void {
    const life = this.#stepOf(reading, stepId);
    // A step that never began has no life: it was cut out of the plan, or refused before its start.
    if (!reading.lives.has(life.key) && (reading.record.steps.get(stepId)?.started_at ?? null) === null) return;
    this.#cutChildren(reading, life);
    this.#end(reading, life, end);
  }

  /** Gates and calls that end because their step does: those that the record shows, and those that are remembered. */
  #cutChildren(reading: Reading, parent: Lifetime): void {
    const { record, lives } = reading;
    for (const gate of record.gates.values())
      if (gate.step_id === parent.stepId && gate.status === "voided")
        this.#cut(reading, lifeOfGate(parent, gate, Date.parse(gate.opened_at)));
    const last = record.steps.get(parent.stepId ?? "")?.attempts.at(-1);
    if (last?.outcome === "running")
      this.#cut(reading, lifeOfAttempt(parent, last.attempt, Date.parse(last.started_at)));
    for (const life of [...lives.values()]) if (life.parent?.key === parent.key) this.#cut(reading, life);
  }

  #cut(reading: Reading, life: Lifetime): void {
    this.#end(reading, life, { how: cutOf(life), reported: false });
  }

  #endRun(reading: Reading): void {
    const { event, record, lives } = reading;
    const run = this.#runOf(reading);
    for (const [stepId, { state }] of record.steps)
      if (state === "running")
        this.#endStep(reading, stepId, { how: { outcome: "cut", error: null }, reported: false });
    for (const life of [...lives.values()].reverse()) if (life.key !== run.key) this.#cut(reading, life);
    this.#end(reading, run, { how: runOutcome(event), reported: true });
  }
}

/** Returns whether this event is what ended the attempt, and not one of the same instant. */
const isEndOf = (entry: AttemptTrace | undefined, { event_type }: LedgerEvent, how: Outcome): boolean =>
  entry !== undefined &&
  (entry.outcome === "succeeded") === (how.outcome === "succeeded") &&
  (entry.error !== null) === (event_type === "ACTION_FAILED");

/** Returns whether the step had not ended before this event. */
const isUnderWay = (step: StepRecord | undefined, { timestamp }: LedgerEvent): boolean =>
  step !== undefined && step.state !== "skipped" && (step.finished_at ?? timestamp) === timestamp;

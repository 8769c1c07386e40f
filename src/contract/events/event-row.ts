/**
 * One row of the event catalogue: the facts that the kernel knows of an event type.
 *
 * Owns: the columns of the catalogue. Never: the effect of an event on a projection (its handlers state that).
 */
import type { RecordDefaults } from "../row-defaults.ts";

/** A lifecycle that events move. */
export type ChartName = "workflow" | "step" | "gate" | "action";

/** The cause or the receiver of an event: a tier (`t4`), a part of the workflow, or a party outside of it. */
export type Party = `t${0 | 1 | 2 | 3 | 4 | 5 | 6 | 7}` | "workflow" | "step" | "gate" | "operator" | "person";

/** A period that spans and durations are derived from. A `request` is one that was refused. */
export type Lifetime = "request" | "workflow" | "step" | "attempt" | "gate";

/** The facts of an event type. `P` is its payload. */
export interface EventRow<P extends object> {
  /** The cause of the event. `person`: a person acted; every other party is the kernel or something that it calls. */
  readonly from: Party;
  /** The first receiver of the event. */
  readonly to: Party;
  /**
   * The charts that receive the event; the first decides whether it may happen. Absent for a fact, which always may.
   */
  readonly charts?: readonly ChartName[];
  /** The members of the payload that guards of the charts read. */
  readonly guards?: readonly (keyof P & string)[];
  /** The records that the event puts into the first state of their chart: the steps that it names, or its gate. */
  readonly creates?: "steps" | "gate";
  /** The gates that the event voids: those of its step, or all of its workflow. */
  readonly voids?: "step" | "workflow";
  /** The lifetime that the event begins. */
  readonly begins?: Exclude<Lifetime, "request">;
  /** The lifetime that the event ends. */
  readonly ends?: Lifetime;
  /**
   * The notice that follows. Those of an opened, revised or decided gate follow from the status of the gate instead.
   */
  readonly notice?: "escalated" | "reminded" | "next_stage" | "commented" | "assigned" | "wait_reminded";
  /** Whether the progress of the workflow is published after the event. */
  readonly progress?: true;
  /** Whether the event is a judgement about a call, which an inspector shows only on request. */
  readonly judges?: true;
  /** The label under which metrics count the event as a transition of its workflow. */
  readonly transition?: string;
  /** The members of the payload that a ledger row leaves out. A change of a default is a new row format. */
  readonly defaults?: RecordDefaults;
  /** Carries the type of the payload for the compiler; no row has a value here. */
  readonly payload?: P;
}

/** Declares an event type with the type of its payload. */
export const event = <P extends object>(row: EventRow<P>): EventRow<P> => row;

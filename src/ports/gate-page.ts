/** Pages of open gates: what selects them, and the order that they are read in. */
import type { GateSort } from "../contract/list-filter.ts";
import type { Paged } from "./ledger-store.ts";

type Id = string | number;

/** The work that a gate belongs to, as lists name it. */
export interface GateWork {
  readonly intent_type: string;
  readonly title: string;
}

/** The place of a gate in a list. `at`: epoch ms of its opening, or its due time; absent in a list without an order. */
export interface GatePlace {
  readonly workflow_id: string;
  readonly gate_id: string;
  readonly at?: number;
}

/**
 * The selection of a list of open gates. Times are epoch ms; `due_before` leaves out gates that are never due; `text`
 * is as `foldCase` returns it.
 */
export interface GateSelection {
  readonly tenant_id?: Id;
  readonly workflow_id?: string;
  /** A workflow: its gates, and those of its children at every level. */
  readonly under?: string;
  readonly operator?: string;
  readonly intent_type?: string;
  readonly principal_id?: Id;
  readonly risk?: string;
  readonly due_before?: number;
  readonly since?: number;
  readonly until?: number;
  readonly text?: string;
  /** Gates with one of these texts of `seatText`. */
  readonly seats?: readonly string[];
}

/** The number of seats of a tenant up to which a store looks for each by itself. */
export const fewSeats = 1_000;

/** A page of waiting gates. */
export type GatePageFilter = GateSelection & Paged<GatePlace> & { readonly sort?: GateSort };

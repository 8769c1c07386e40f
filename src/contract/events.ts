/**
 * The event catalogue: one row per event type. Every set of event types in the kernel is derived from it.
 *
 * Owns: the closed list of event types and the facts of each. Never: loads a package, or any file but its groups.
 * 1.  The list is closed per schema version; an unknown type is refused on append.
 */
import { actionEvents } from "./events/action-events.ts";
import type { ChartName, EventRow } from "./events/event-row.ts";
import { gateEvents } from "./events/gate-events.ts";
import { planEvents } from "./events/plan-events.ts";
import { recordEvents } from "./events/record-events.ts";
import { scheduleEvents } from "./events/schedule-events.ts";
import { stepEvents } from "./events/step-events.ts";
import { workflowEvents } from "./events/workflow-events.ts";

export { plainGate } from "./events/gate-events.ts";

/** The rows of all event types, by type. */
export const eventCatalogue = {
  ...planEvents,
  ...workflowEvents,
  ...stepEvents,
  ...actionEvents,
  ...gateEvents,
  ...recordEvents,
  ...scheduleEvents,
} as const;

/** All types of events. */
export const eventTypes = Object.keys(eventCatalogue) as readonly (keyof typeof eventCatalogue)[];

/** A row of which only the facts matter, and not the type of the payload. */
export type EventFacts = Omit<EventRow<never>, "guards" | "payload"> & { readonly guards?: readonly string[] };

const rows = eventCatalogue as Readonly<Record<string, EventFacts>>;

const noFacts: EventFacts = Object.freeze({ from: "t4", to: "workflow" });

/** Returns the facts of an event type. A type that the catalogue lacks (in a damaged ledger) moves and ends nothing. */
export const factsOf = (type: string): EventFacts => (Object.hasOwn(rows, type) ? (rows[type] as EventFacts) : noFacts);

/** Returns the event types whose facts pass a test. Readers derive their sets once, when they are loaded. */
export const typesWhere = (test: (facts: EventFacts) => boolean): ReadonlySet<string> =>
  new Set(eventTypes.filter((type) => test(rows[type] as EventFacts)));

/** Returns whether a chart receives the events of a type. */
export const movesChart = (chart: ChartName, { charts = [] }: EventFacts): boolean => charts.includes(chart);

/** Returns whether events of a type may change what a gate shows, or whether it is open. */
export const touchesGate = (facts: EventFacts): boolean => movesChart("gate", facts) || facts.voids !== undefined;

/**
 * Addresses of a workflow's events: the one table from which the live actors and the inspector's player learn which
 * charts receive an event.
 *
 * Owns: which charts begin, and which receive an event. Never: the state of a chart (its table), the record (the fold).
 * 1.  Steps begin with the plan that names them, or with the step that adds them, and with each restart; a gate begins
 *     each time that it is opened. A decision that is kept for a gate that has not begun belongs to the workflow, as in
 *     the record.
 * 2.  Children come before their workflow, because an actor that has ended itself receives nothing.
 */
import type { EventPayloads, LedgerEvent } from "../src/contract/event.ts";
import { type EventFacts, eventTypes, factsOf, movesChart } from "../src/contract/events.ts";
import { addedIdOf } from "./added-id.ts";

export interface Address {
  readonly chart: "workflow" | "step" | "gate";
  /** The id of a step or gate; of the workflow itself it is empty. */
  readonly id: string;
  /** Whether the chart begins here, in its first state, in place of one that ran before. */
  readonly begins: boolean;
  readonly hears: boolean;
}

/** The parts of a workflow that have begun. */
export interface Begun {
  readonly steps: { readonly has: (id: string) => boolean };
  readonly gates: { readonly has: (id: string) => boolean };
  /** The gates of a step; without one, all. */
  readonly gatesOf: (stepId: string | null) => Iterable<string>;
}

const nobody: readonly Address[] = [];
const workflow: Address = { chart: "workflow", id: "", begins: false, hears: true };
const workflowAlone: readonly Address[] = [workflow];

export function addressesOf(event: LedgerEvent, begun: Begun): readonly Address[] {
  const { event_type: type, step_id } = event;
  const moves = movesOf(type);
  if (moves.alone === "workflow") return workflowAlone;
  if (moves.alone === "step") return step_id !== null && begun.steps.has(step_id) ? [stepAt(step_id)] : nobody;
  if (!moves.step && !moves.workflow && moves.creates === undefined) return nobody;
  const found: Address[] = [];
  for (const id of beginning(event, begun)) found.push({ chart: "step", id, begins: true, hears: false });
  if (step_id !== null && moves.step && begun.steps.has(step_id)) found.push(stepAt(step_id));
  const gateId = moves.gate ? gateIdIn(event) : null;
  const opens = moves.creates === "gate";
  if (gateId !== null && (opens || begun.gates.has(gateId)))
    found.push({ chart: "gate", id: gateId, begins: opens, hears: true });
  for (const id of undecided(event, moves, begun)) found.push({ chart: "gate", id, begins: false, hears: true });
  if (moves.workflow) found.push(workflow);
  return found;
}

const stepAt = (id: string): Address => ({ chart: "step", id, begins: false, hears: true });

/** Steps that begin, or begin again. */
function beginning({ event_type: type, payload }: LedgerEvent, { steps }: Begun): readonly string[] {
  if (type === "WORKFLOW_RESTARTED") return payloadAs(payload, type).step_ids.filter((id) => steps.has(id));
  if (type === "STEPS_ADDED") return addedIds(payloadAs(payload, type), steps);
  if (type !== "PLAN_CREATED") return [];
  const ids = payloadAs(payload, type).plan.steps.map(({ step_id }) => step_id);
  return ids.filter((id) => !steps.has(id));
}

/** Returns the ids of steps that are added; all but items are added one at a time, each with its number as its key. */
const addedIds = ({ of, as, items }: EventPayloads["STEPS_ADDED"], steps: Begun["steps"]): readonly string[] =>
  items
    .map(({ key }, index) => addedIdOf(of, as, as === "item" ? index : Number(key) - 1))
    .filter((id) => !steps.has(id));

/** Returns the gates that an end leaves without anything to decide. */
function undecided({ step_id }: LedgerEvent, { voids }: Moves, { gatesOf }: Begun): Iterable<string> {
  if (voids === "workflow") return gatesOf(null);
  return voids === "step" && step_id !== null ? gatesOf(step_id) : [];
}

/** Returns the gate that an event of gates or of people names. */
function gateIdIn({ payload }: LedgerEvent): string {
  const gate = payload["gate"] as { readonly gate_id: string } | undefined;
  return gate?.gate_id ?? (payload["gate_id"] as string);
}

interface Moves extends Pick<EventFacts, "creates" | "voids"> {
  readonly step: boolean;
  readonly gate: boolean;
  readonly workflow: boolean;
  /** The chart that decides whether such an event may happen; null for a fact. */
  readonly subject: Address["chart"] | null;
  /** The only receiver of such events: nothing begins with them, and no gate receives them. */
  readonly alone: "workflow" | "step" | null;
}

function readMoves(facts: EventFacts): Moves {
  const { charts = [], creates, voids } = facts;
  const [subject = null] = charts.filter((chart) => chart !== "action");
  const isMore = movesChart("gate", facts) || creates !== undefined || voids !== undefined;
  return {
    step: movesChart("step", facts),
    gate: movesChart("gate", facts),
    workflow: movesChart("workflow", facts),
    subject,
    alone: isMore || subject === "gate" ? null : subject,
    ...(creates !== undefined && { creates }),
    ...(voids !== undefined && { voids }),
  };
}

const movesByType: ReadonlyMap<string, Moves> = new Map(eventTypes.map((type) => [type, readMoves(factsOf(type))]));
const noMoves = readMoves(factsOf(""));

/** Returns which charts events of a type are for, as the event catalogue says. */
export const movesOf = (type: string): Moves => movesByType.get(type) ?? noMoves;

const payloadAs = <T extends keyof EventPayloads>(payload: object, _type: T): EventPayloads[T] =>
  payload as EventPayloads[T];

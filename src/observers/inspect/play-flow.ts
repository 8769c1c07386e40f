/**
 * A recorded run as the events of its flow's chart (flow-chart.ts): the same table says whom an event is for as for the
 * live actors and the inspector's player.
 *
 * 1.  It is a pure function of the events: the same run gives the same events.
 */
import { addressesOf, type Begun } from "../../../machines/addresses.ts";
import type { LedgerEvent } from "../../contract/event.ts";
import { formOf } from "./lifecycle-states.ts";

/** An event of a flow's chart. */
export interface FlowEvent {
  readonly type: string;
}

/** A ledger event, with the events that the chart takes for it. Most are for one or two parts of the chart. */
export interface PlayedEvent {
  readonly event: LedgerEvent;
  readonly sent: readonly FlowEvent[];
}

/** Yields the events of a run in their order, each with what the chart takes for it. */
export function* playFlow(events: Iterable<LedgerEvent>): Generator<PlayedEvent, void, void> {
  const steps = new Set<string>();
  /** Steps by gate. */
  const gates = new Map<string, string>();
  const gatesOf = (stepId: string | null): Iterable<string> =>
    [...gates].filter(([, step]) => stepId === null || step === stepId).map(([id]) => id);
  const begun: Begun = { steps, gates, gatesOf };
  for (const event of events) {
    const { event_type: type, step_id, payload } = event;
    const form = formOf(type, payload);
    const sent: FlowEvent[] = [];
    for (const { chart, id, begins, hears } of addressesOf(event, begun)) {
      if (chart === "step" && begins) {
        steps.add(id);
        sent.push({ type: `${type}.${id}` });
      }
      if (chart === "gate" && begins) gates.set(id, step_id ?? "");
      if (!hears) continue;
      const address = chart === "workflow" ? "" : chart === "step" ? `.${id}` : `.${gates.get(id)}.${id}`;
      sent.push({ type: `${type}${address}${form}` });
    }
    yield { event, sent };
  }
}

/** The result of a replay: whether a fresh kernel that reads only the ledger produces the same bytes. */
import type { Json } from "./json.ts";

/**
 * The kind of a difference: the event differs; a recorded event is missing in the replay; the replay continued beyond
 * the record's end; or all events are equal and the row around them differs.
 */
export const differenceCodes = ["EVENT_DIFFERS", "EVENT_MISSING", "EVENT_BEYOND", "ROW_DIFFERS"] as const;
export type DifferenceCode = (typeof differenceCodes)[number];

/** The first event, in ledger order, that came out otherwise. */
export interface ReplayDifference {
  readonly code: DifferenceCode;
  readonly sequence: number;
  /** Null where the replay went beyond the ledger's last event. */
  readonly event_id: string | null;
  readonly event_type: string;
  readonly step_id: string | null;
  /** The JSON path of the first difference, such as `payload.gate.reasons.0`; null if one of the events is missing. */
  readonly path: string | null;
  /** The value in the ledger. */
  readonly expected: Json;
  /** The value of the replay. */
  readonly actual: Json;
  /** The difference in one sentence. */
  readonly reason: string;
}

/** The result for one workflow: whether replaying its record gave the same events. */
export interface Replay {
  readonly workflow_id: string;
  readonly identical: boolean;
  /** Events of the ledger that came out again, byte for byte. */
  readonly events: number;
  /** The chain head at which the replay arrived; null if it arrived at none. */
  readonly head: string | null;
  readonly difference: ReplayDifference | null;
}

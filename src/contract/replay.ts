/**
 * What a replay found: whether a fresh kernel, given nothing but the ledger, comes to the very same bytes.
 */
import type { Json } from "./json.ts";

/**
 * What kind of difference: the event holds something else; the record holds another that did not come; the replay went beyond
 * the record's end; or all events came, and the row around them is another.
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

/** Whether a workflow, run again from its record, gave the same events. */
export interface Replay {
  readonly workflow_id: string;
  readonly identical: boolean;
  /** Events of the ledger that came out again, byte for byte. */
  readonly events: number;
  /** The chain head the replay came to; null when it came to none. */
  readonly head: string | null;
  readonly difference: ReplayDifference | null;
}

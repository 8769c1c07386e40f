/**
 * The source of a turn's non-deterministic values: its instant and its ids. A replay reads both from the record.
 *
 * 1.  A turn reads the clock once, at its first input: all its events, the instants in their payloads, and the decision
 *     which timers are due use that instant.
 * 2.  Nothing else of a turn varies: the same record, inputs, instant and ids give the same events.
 */
import { idAfter } from "../../contract/ids.ts";
import type { Runtime } from "../actors/runtime.ts";

/** Records inside payloads that get ids of their own. */
export type DrawnId = "action" | "outcome" | "plan";

export interface TurnSource {
  /** Returns the instant of the turn under way, or of the one that begins now; epoch ms. */
  readonly begin: () => number;
  /** The id of an event that has been decided. */
  readonly drawEventId: () => string;
  /** Ends the turn, sealed or empty: the next one has an instant of its own. */
  readonly end: () => void;
  /** Draws an id for a member of an event's payload. */
  readonly drawId: (kind: DrawnId) => string;
}

/** Makes the source of one workflow's log. */
export function createTurnSource({ clock, ids }: Runtime): TurnSource {
  let turn: number | null = null;
  let id: string | null = null;
  const begin = (): number => {
    turn ??= clock.now();
    return turn;
  };
  return {
    begin,
    drawEventId() {
      id = (id === null ? null : idAfter(id)) ?? ids.next("event");
      return id;
    },
    end() {
      id = null;
      turn = null;
    },
    drawId: (kind) => ids.next(kind),
  };
}

/**
 * Where a turn gets what is not deterministic: its instant and its ids. A replay reads both from the record.
 *
 * 1.  A turn reads the clock once, when its first input comes: all its events, the instants inside their payloads, and what
 *     counts as due while they are decided, are that one.
 * 2.  Nothing else of a turn is free: the same record, inputs, instant and ids give the same events.
 */
import { idAfter } from "../../contract/ids.ts";
import type { Runtime } from "../actors/runtime.ts";

/** Records inside payloads that get ids of their own. */
export type DrawnId = "action" | "outcome" | "plan";

export interface TurnSource {
  /** The instant of the turn under way, or of the one that begins now; epoch ms. */
  readonly begin: () => number;
  /** The id of an event that has been decided. */
  readonly drawEventId: () => string;
  /** The turn is sealed, or nothing came of it: the next begins at an instant of its own. */
  readonly end: () => void;
  /** An id for what the payload of an event will carry. */
  readonly drawId: (kind: DrawnId) => string;
}

/** Of one workflow's log. */
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

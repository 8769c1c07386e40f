/**
 * Where a turn gets what is not deterministic: its instant and its ids. Live, from the clock and the id source; in a
 * replay, from the ledger that is replayed (C-37).
 *
 * T1  A turn reads the clock once, when its first input comes: all its events, the instants inside their payloads, and what
 *     counts as due while they are decided, are that one.
 * T2  Nothing else of a turn is free: the same record, inputs and source give the same events.
 */
import type { EventDraft, EventType } from "../contract/event.ts";
import { idAfter } from "../contract/ids.ts";
import type { PolicyStage } from "../contract/policy.ts";
import type { Runtime } from "./runtime.ts";

/** Records inside payloads that get ids of their own. */
export type DrawnId = "action" | "outcome" | "plan";

/** What a decided event gets: its id, and its turn's instant in epoch ms. */
export interface Stamp {
  readonly id: string;
  readonly now: number;
}

export interface TurnSource {
  /** An input is about to be decided: the instant of the turn that it joins, or begins if it leads to anything; epoch ms. */
  readonly begin: () => number;
  /** The instant of a turn that begins with, or now reaches, an event of this type; epoch ms. */
  readonly now: (type: EventType, stepId: string | null) => number;
  /** The instant that a question to policy names, which its decision may be noted after; begins no turn. */
  readonly asked: (stage: PolicyStage, stepId: string | null) => number;
  /** The event has been decided. */
  readonly stamp: (draft: EventDraft) => Stamp;
  /** The turn is sealed; the next event begins another. */
  readonly end: () => void;
  /** An id for what the payload of an event of this step (or of the workflow) will carry. */
  readonly drawId: (kind: DrawnId, stepId: string | null) => string;
}

/** Of one workflow's log. */
export function createLiveSource({ clock, ids }: Runtime): TurnSource {
  let turn: number | null = null;
  let begun: number | null = null;
  let id: string | null = null;
  const now = (): number => {
    turn ??= begun ?? clock.now();
    return turn;
  };
  return {
    begin() {
      begun = turn ?? clock.now();
      return begun;
    },
    now,
    asked: () => turn ?? begun ?? clock.now(),
    stamp() {
      id = (id === null ? null : idAfter(id)) ?? ids.next("event");
      return { id, now: now() };
    },
    end() {
      id = null;
      turn = null;
      begun = null;
    },
    drawId: (kind) => ids.next(kind),
  };
}

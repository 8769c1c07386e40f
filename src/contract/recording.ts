/**
 * Recordings of runs: what a player needs to show them again without a kernel, a ledger or a network.
 *
 * Owns: the shape of what is in the player's file. Never: how it is shown.
 */
import type { LedgerEvent } from "./event.ts";
import type { Json, JsonObject } from "./json.ts";

/** A member at a path that has this value afterwards; without a value it is removed. */
export type Change = readonly [path: readonly (string | number)[], value?: Json];

/** A message that an actor sent to another one. */
export interface RecordedMessage {
  readonly id: string;
  /** The event that the message belongs to. */
  readonly sequence: number;
  readonly from: string;
  readonly to: string;
  readonly type: string;
}

/** One run, event by event. */
export interface RecordedRun {
  readonly workflow_id: string;
  readonly title: string;
  readonly events: readonly LedgerEvent[];
  /** The changes that each event makes in the state of the workflow; before the first event the state is null. */
  readonly changes: readonly (readonly Change[])[];
  readonly messages: readonly RecordedMessage[];
  /** The names of the actors, by their ids. */
  readonly names: Readonly<Record<string, string>>;
}

/** The parts that were left out, so that the file is no larger than it may be. */
export interface RecordingCut {
  /** Runs that are not in the file. */
  readonly runs: number;
  /** Events at the end of runs that are not in the file. */
  readonly events: number;
  /** Texts that are cut, and the number of characters after which they are. */
  readonly texts: number;
  readonly chars: number;
}

/** Runs, the first of which is the one that was asked for. */
export interface Recording {
  readonly made_at: string;
  readonly runs: readonly RecordedRun[];
  /** The definitions of the lifecycles. */
  readonly machines: readonly (JsonObject & { readonly id: string })[];
  readonly cut: RecordingCut;
}

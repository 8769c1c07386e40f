/**
 * Reading back what turns have left: rows become events, and events a record.
 *
 * Owns: what becomes of a row that cannot be read. Never: touches a store.
 * 1.  Whatever a ledger file holds, reading it gives a value or T0_LEDGER_CORRUPT with the stream that is damaged; a row
 *     that somebody wrote with a fitting hash, and with contents that no kernel writes, is damage as well.
 */
import { foldWorkflow } from "../../../machines/fold.ts";
import { KernelErrorException, raise } from "../../contract/error.ts";
import { type ErrorCode, kernelError } from "../../contract/error-codes.ts";
import type { LedgerEvent } from "../../contract/event.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { endOf, openTurns, type StreamEnd, streamStart, type TurnRow } from "../../contract/turn.ts";
import type { WorkflowRecord } from "../../contract/workflow.ts";
import { messageOf } from "../actors/within.ts";

const readRef = moduleRef(0, "ledger", "read");

/** A place in a stream: its end so far, and the record up to there. */
export interface ReadFrom {
  readonly end: StreamEnd;
  readonly record: WorkflowRecord | null;
}

/** The events that were read, the record that they fold to (null for a refused request), and the end of the stream. */
export interface ReadStream extends ReadFrom {
  readonly events: readonly LedgerEvent[];
}

export const beginning = (): ReadFrom => ({ end: streamStart, record: null });

/** @param rows all rows that the stream has behind `from`. @throws KernelErrorException T0_LEDGER_CORRUPT. */
export function readStream(stream: string, rows: readonly TurnRow[], from = beginning()): ReadStream {
  const events = openTurns(rows, from.end);
  const record = readable(stream, () => events.reduce(foldWorkflow, from.record));
  const last = rows.at(-1);
  return { events, record, end: last === undefined ? from.end : endOf(last) };
}

/** Returns what `make` makes of a stream's events. @throws as readStream, in place of whatever else `make` throws. */
export function readable<T>(stream: string, make: () => T): T {
  try {
    return make();
  } catch (thrown) {
    return refuseUnreadable(stream, thrown);
  }
}

/** Throws what reading a stream threw as its damage; an error that has a code is thrown as it is. */
export function refuseUnreadable(stream: string, thrown: unknown): never {
  if (thrown instanceof KernelErrorException) throw thrown;
  const message = `the ledger is damaged: what it holds of ${stream} cannot be read (${messageOf(thrown)})`;
  raise(kernelError("T0_LEDGER_CORRUPT", message, readRef, { detail: { stream } }));
}

/** Null where what is read is damaged. @throws whatever else `read` throws. */
export const unlessDamaged = <T>(read: () => T): T | null => unlessCoded(read, ["T0_LEDGER_CORRUPT"]);

/**
 * Null where what is read is damaged, or of a release that this one does not know. @throws whatever else `read` throws.
 */
export const unlessUnreadable = <T>(read: () => T): T | null =>
  unlessCoded(read, ["T0_LEDGER_CORRUPT", "T0_LEDGER_FORMAT"]);

function unlessCoded<T>(read: () => T, codes: readonly ErrorCode[]): T | null {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof KernelErrorException && codes.some((code) => code === thrown.error.code)) return null;
    throw thrown;
  }
}

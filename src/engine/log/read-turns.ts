/**
 * Reads turns: rows become events, and events a record.
 *
 * Owns: the handling of a row that cannot be read. Never: touches a store.
 * 1.  Reading any ledger file gives a value or T0_LEDGER_CORRUPT with the damaged stream; a row with a matching hash
 *     and a content that no kernel writes is damage as well.
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

/** Reads a stream. @param rows all rows of the stream after `from`. @throws KernelErrorException T0_LEDGER_CORRUPT. */
export function readStream(stream: string, rows: readonly TurnRow[], from = beginning()): ReadStream {
  const events = openTurns(rows, from.end);
  const record = readable(stream, () => events.reduce(foldWorkflow, from.record));
  const last = rows.at(-1);
  return { events, record, end: last === undefined ? from.end : endOf(last) };
}

/** Returns the result of `make` for a stream's events. @throws as readStream, in place of any other error of `make`. */
export function readable<T>(stream: string, make: () => T): T {
  try {
    return make();
  } catch (thrown) {
    return refuseUnreadable(stream, thrown);
  }
}

/** Throws an error of reading a stream as the stream's damage; an error that has a code is thrown unchanged. */
export function refuseUnreadable(stream: string, thrown: unknown): never {
  if (thrown instanceof KernelErrorException) throw thrown;
  const message = `the ledger is damaged: what it holds of ${stream} cannot be read (${messageOf(thrown)})`;
  raise(kernelError("T0_LEDGER_CORRUPT", message, readRef, { detail: { stream } }));
}

/** Returns null if the content is damaged. @throws any other error of `read`. */
export const unlessDamaged = <T>(read: () => T): T | null => unlessCoded(read, ["T0_LEDGER_CORRUPT"]);

/**
 * Returns null if the content is damaged, or of a release that this one does not know. @throws any other error of
 * `read`.
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

/**
 * Reading back what turns have left: rows become events, and events a record.
 *
 * Owns: what becomes of a row that cannot be read. Never: touches a store.
 * R1  Whatever a ledger file holds, reading it gives a value or T0_LEDGER_CORRUPT with the stream that is damaged; a row
 *     that somebody wrote with a fitting hash, and with contents that no kernel writes, is damage as well.
 */
import { foldWorkflow } from "../../machines/fold.ts";
import { KernelErrorException, raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import type { LedgerEvent } from "../contract/event.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { openTurn, openTurns, type TurnRow } from "../contract/turn.ts";
import type { WorkflowRecord } from "../contract/workflow.ts";
import { messageOf } from "./within.ts";

const readRef = moduleRef(0, "ledger", "read");

/** A place in a stream: the last sequence that is known, and the record up to there. */
export interface ReadFrom {
  readonly after: number;
  readonly record: WorkflowRecord | null;
}

/** What was read, what it comes to (null for a request that was refused), and the last row; null where there was none. */
export interface ReadStream {
  readonly events: readonly LedgerEvent[];
  readonly record: WorkflowRecord | null;
  readonly last: TurnRow | null;
}

const beginning: ReadFrom = { after: 0, record: null };

/** @param rows all that the stream has from there on. `from.record` itself is folded further. @throws KernelErrorException T0_LEDGER_CORRUPT. */
export function readStream(stream: string, rows: readonly TurnRow[], from = beginning): ReadStream {
  const events = openTurns(rows, from.after);
  const record = readable(stream, () => events.reduce(foldWorkflow, from.record));
  return { events, record, last: rows.at(-1) ?? null };
}

/** The record after one more row. @throws as readStream. */
export const foldRow = (record: WorkflowRecord | null, row: TurnRow): WorkflowRecord | null => {
  const events = openTurn(row);
  return readable(row.stream, () => events.reduce(foldWorkflow, record));
};

/** What is made of a stream's events. @throws as readStream, in place of whatever else `make` throws. */
export function readable<T>(stream: string, make: () => T): T {
  try {
    return make();
  } catch (thrown) {
    return refuseUnreadable(stream, thrown);
  }
}

/** What reading a stream threw, as its damage; what has a code already keeps it. */
export function refuseUnreadable(stream: string, thrown: unknown): never {
  if (thrown instanceof KernelErrorException) throw thrown;
  const message = `the ledger is damaged: what it holds of ${stream} cannot be read (${messageOf(thrown)})`;
  raise(kernelError("T0_LEDGER_CORRUPT", message, readRef, { detail: { stream } }));
}

/** Null where what is read is damaged. @throws whatever else `read` throws. */
export function unlessDamaged<T>(read: () => T): T | null {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof KernelErrorException && thrown.error.code === "T0_LEDGER_CORRUPT") return null;
    throw thrown;
  }
}

/**
 * Compares the gates on a page of a list with the logs of their workflows.
 *
 * Owns: the choice of the gates that are checked. Never: rewrites an index.
 * 1.  A checked gate is shown as its log has it, whatever the index has.
 * 2.  One page reads a limited number of characters of logs; gates beyond it are shown as the index has them, marked as
 *     unchecked.
 * 3.  An unchecked gate has no digest: nobody can decide on it before reading the gate itself.
 */
import { KernelErrorException } from "../contract/error.ts";
import { type Gate, isOpenGate } from "../contract/gate.ts";
import type { CutGate } from "../contract/listed-gate.ts";
import type { TurnRow } from "../contract/turn.ts";
import { yieldToEventLoop } from "../engine/actors/yield-to-event-loop.ts";
import { readStream } from "../engine/log/read-turns.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";

type Store = Pick<LedgerStore, "read">;

/** The gates of one workflow, and what they wait for. */
interface LoggedGates {
  readonly gates: ReadonlyMap<string, Gate>;
  readonly intent_type: string;
}

/** A gate as its log has it. */
export interface LoggedGate {
  readonly gate: Gate;
  readonly intent_type: string;
}

/** The number of rows of a log that are read at once. */
const rowsAtOnce = 100;
/** The errors of a log that cannot be read, whose gates are not checked; reading the log itself reports them. */
const unreadable: ReadonlySet<string> = new Set(["T0_LEDGER_CORRUPT", "T0_LEDGER_FORMAT"]);
const none: LoggedGates = { gates: new Map(), intent_type: "" };

interface CheckOptions {
  /** The tenant whose gates are shown; undefined: all tenants. */
  readonly tenant: string | number | undefined;
  readonly maxChars: number;
}

/**
 * Finds gates of one page in their logs; null for one that the log does not hold as open or as the tenant's, and beyond
 * `maxChars`. Consecutive gates of one workflow cost one read.
 */
export function createGateCheck(
  store: Store,
  { tenant, maxChars }: CheckOptions,
): (listed: CutGate) => Promise<LoggedGate | null> {
  let left = maxChars;
  let last: ({ readonly id: string } & LoggedGates) | null = null;
  return async ({ workflow_id, gate_id }) => {
    if (last?.id !== workflow_id) {
      await yieldToEventLoop();
      const { rows, chars } = await readUpTo(store, workflow_id, left);
      left -= chars;
      last = { id: workflow_id, ...(left < 0 ? none : gatesIn(workflow_id, rows)) };
    }
    const { gates, intent_type } = last;
    const gate = gates.get(gate_id);
    const isShown = gate !== undefined && isOpenGate(gate) && (tenant ?? gate.tenant_id) === gate.tenant_id;
    return isShown ? { gate, intent_type } : null;
  };
}

/** Returns a gate as the index has it. */
export const uncheckedGate = ({ basis_digest: _, ...listed }: CutGate) => ({
  ...listed,
  payload_digest: "",
  editable: null,
  checked: false,
});

/** Reads the rows of a log up to a number of characters, and returns them with their size. */
async function readUpTo(store: Store, stream: string, maxChars: number) {
  const rows: TurnRow[] = [];
  let chars = 0;
  while (chars <= maxChars) {
    const read = await store.read(stream, rows.at(-1)?.last_sequence ?? 0, rowsAtOnce);
    rows.push(...read);
    chars += read.reduce((sum, { envelope, body }) => sum + envelope.length + (body?.length ?? 0), 0);
    if (read.length < rowsAtOnce) break;
  }
  return { rows, chars };
}

function gatesIn(stream: string, rows: readonly TurnRow[]): LoggedGates {
  try {
    const { record } = readStream(stream, rows);
    return record === null ? none : { gates: record.gates, intent_type: record.intent.type };
  } catch (thrown) {
    if (thrown instanceof KernelErrorException && unreadable.has(thrown.error.code)) return none;
    throw thrown;
  }
}

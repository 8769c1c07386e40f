/**
 * Compares the gates on a page of a list with the logs of their workflows.
 *
 * Owns: which of them are checked. Never: writes an index anew.
 * 1.  A gate that was checked is shown as its log says, whatever the index says of it.
 * 2.  One page reads no more of logs than a number of characters; what lies beyond is shown as the index has it, and says so.
 * 3.  A gate that was not checked has no digest: nobody decides on it before they have read the gate itself.
 */
import { KernelErrorException } from "../contract/error.ts";
import { type Gate, isOpenGate } from "../contract/gate.ts";
import type { CutGate } from "../contract/listed-gate.ts";
import type { TurnRow } from "../contract/turn.ts";
import { yieldToEventLoop } from "../engine/actors/yield-to-event-loop.ts";
import { readStream } from "../engine/log/read-turns.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";

type Store = Pick<LedgerStore, "read">;
type Gates = ReadonlyMap<string, Gate>;

/** How many rows of a log are read at once. */
const rowsAtOnce = 100;
/** Of a log that cannot be read nothing was checked; its own read says what is wrong. */
const unreadable: ReadonlySet<string> = new Set(["T0_LEDGER_CORRUPT", "T0_LEDGER_FORMAT"]);
const none: Gates = new Map();

interface CheckOptions {
  /** The tenant whose gates are shown; undefined: all tenants. */
  readonly tenant: string | number | undefined;
  readonly maxChars: number;
}

/**
 * Finds gates of one page in their logs; null for one that the log does not hold as open or as the tenant's, and beyond
 * `maxChars`. Gates of one workflow that come one after another cost one read.
 */
export function createGateCheck(
  store: Store,
  { tenant, maxChars }: CheckOptions,
): (listed: CutGate) => Promise<Gate | null> {
  let left = maxChars;
  let last: { readonly id: string; readonly gates: Gates } | null = null;
  return async ({ workflow_id, gate_id }) => {
    if (last?.id !== workflow_id) {
      await yieldToEventLoop();
      const { rows, chars } = await readUpTo(store, workflow_id, left);
      left -= chars;
      last = { id: workflow_id, gates: left < 0 ? none : gatesIn(workflow_id, rows) };
    }
    const gate = last.gates.get(gate_id);
    const isShown = gate !== undefined && isOpenGate(gate) && (tenant ?? gate.tenant_id) === gate.tenant_id;
    return isShown ? gate : null;
  };
}

/** A gate as the index has it. */
export const uncheckedGate = ({ basis_digest: _, ...listed }: CutGate) => ({
  ...listed,
  payload_digest: "",
  editable: null,
  checked: false,
});

/** The rows of a log, as far as they have no more than so many characters, and how many these are. */
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

function gatesIn(stream: string, rows: readonly TurnRow[]): Gates {
  try {
    return readStream(stream, rows).record?.gates ?? none;
  } catch (thrown) {
    if (thrown instanceof KernelErrorException && unreadable.has(thrown.error.code)) return none;
    throw thrown;
  }
}

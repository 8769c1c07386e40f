/**
 * The recording of runs for the player: a run with its children, out of a ledger or an export.
 *
 * 1.  A child that the caller may not read is left out, as is one that an export does not hold.
 */
import type { LedgerEvent } from "../../contract/event.ts";
import type { Recording } from "../../contract/recording.ts";
import { KernelErrorException } from "../../index.ts";
import { recordRuns } from "../../observers/inspect/index.ts";

type ReadRun = (workflowId: string) => Promise<readonly LedgerEvent[]>;

/** A run that a recording is made of: its events, and the way to the events of its children. */
export interface Recorded {
  readonly roots: readonly string[];
  readonly read: ReadRun;
  /** Epoch ms. */
  readonly now: number;
}

/** The greatest number of runs that are read for a recording; it keeps fewer, and says how many it left out. */
const mostRuns = 1_000;

/** Makes the recording of runs and of their children, at every level. */
export async function recordWithChildren({ roots, read, now }: Recorded): Promise<Recording> {
  const found = new Map<string, readonly LedgerEvent[]>();
  const waiting = [...roots];
  for (let id = waiting.shift(); id !== undefined && found.size < mostRuns; id = waiting.shift()) {
    if (found.has(id)) continue;
    const events = await readIfThere(read, id, roots.includes(id));
    if (events.length === 0) continue;
    found.set(id, events);
    waiting.push(...childrenIn(events));
  }
  return recordRuns([...found.values()], { madeAt: new Date(now).toISOString() });
}

async function readIfThere(read: ReadRun, id: string, isRoot: boolean): Promise<readonly LedgerEvent[]> {
  try {
    return await read(id);
  } catch (thrown) {
    if (!isRoot && thrown instanceof KernelErrorException) return [];
    throw thrown;
  }
}

/** Returns the ids of the workflows that steps of a run wait for. */
const childrenIn = (events: readonly LedgerEvent[]): readonly string[] =>
  events.flatMap(({ event_type, payload }) =>
    event_type === "STEP_PARKED" && payload["source"] === "workflow" ? [String(payload["key"])] : [],
  );

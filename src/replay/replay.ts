/**
 * Replay: from one workflow's ledger alone, with its recorded inputs and answers, deciding comes to the same events,
 * ids, hashes and chain head, or the first event that differs is named.
 *
 * Owns: what a replay is made with, and its judgement. Never: runs an operator, asks a tier, a rule or a host, reads a
 * clock, opens a store, writes.
 * 1.  Inputs are given in the order in which the record holds them; an answer is given where its question is put.
 * 2.  A wrong record is refused before anything is replayed; a foreign or damaged one ends in a named difference.
 */
import { foldEvents } from "../../machines/fold.ts";
import { verifyChain } from "../contract/chain.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { Replay } from "../contract/replay.ts";
import { openTurns, type TurnRow } from "../contract/turn.ts";
import { sealAgain } from "../engine/log/compare-turns.ts";
import { refuseUnreadable } from "../engine/log/read-turns.ts";
import type { KernelOptions } from "../kernel/options.ts";
import { RecordedLog } from "./recorded-log.ts";
import { Replaying } from "./replaying.ts";

const replayRef = moduleRef(0, "kernel", "replay");

/**
 * Replays the rows of one workflow, as `Kernel.export` gives them. Nothing is run, no rule is asked and no ledger is
 * touched: the rows hold everything that deciding read of its host, and the options are not read. `Kernel.whatIf`
 * answers whether other rules would decide differently. Rejects as `Kernel.replay` does.
 */
export const replayRows = async (rows: readonly TurnRow[], _options?: KernelOptions): Promise<Replay> =>
  replayTurns(rows);

/**
 * Replays as `replayRows` does, synchronously.
 * @throws KernelErrorException T0_LEDGER_CORRUPT for a broken chain or a missing body, T4_WORKFLOW_NOT_FOUND for the
 * log of a refused request.
 */
export function replayTurns(rows: readonly TurnRow[]): Replay {
  try {
    return replaySound(rows);
  } catch (thrown) {
    // A record from which no workflow results, although its chain is intact, was written by no kernel.
    return refuseUnreadable(streamOf(rows), thrown);
  }
}

function replaySound(rows: readonly TurnRow[]): Replay {
  checkRecord(rows);
  const log = new RecordedLog(rows);
  new Replaying(log).run();
  const { workflow_id } = log.identity;
  const sealed = log.difference === null ? sealAgain(rows, log.shared) : null;
  const head = sealed !== null && "head" in sealed ? sealed.head : null;
  const difference = log.difference ?? (sealed !== null && "difference" in sealed ? sealed.difference : null);
  return { workflow_id, identical: difference === null, events: log.position, head, difference };
}

function streamOf(rows: readonly TurnRow[]): string {
  try {
    return String(rows[0]?.stream);
  } catch {
    return "what was given";
  }
}

/** Checks the record. @throws KernelErrorException for rows that are not the intact record of a workflow. */
function checkRecord(rows: readonly TurnRow[]): void {
  const broken = verifyChain(rows);
  if (broken !== null)
    raise(
      kernelError(
        "T0_LEDGER_CORRUPT",
        `${broken.stream} cannot be replayed: its chain is broken at sequence ${broken.sequence} (${broken.reason})`,
        replayRef,
        { detail: { broken } },
      ),
    );
  const events = openTurns(rows);
  if (new Set(events.map((event) => event.event_id)).size < events.length)
    raise(
      kernelError("T0_LEDGER_CORRUPT", `${rows[0]?.stream} holds one event twice: no kernel wrote that`, replayRef),
    );
  // Rows that are no workflow are refused here, before anything is replayed.
  if (events[0]?.event_type !== "INTENT_RECEIVED" || foldEvents(events) === null)
    raise(kernelError("T4_WORKFLOW_NOT_FOUND", "these rows hold no workflow to replay", replayRef));
}

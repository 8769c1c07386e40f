// Replays every workflow of a kernel's ledger. Owns: finding them, and the words for what came out otherwise.
import { type Kernel, KernelErrorException } from "../../src/index.ts";

/** What a replay told that was not identical. */
export interface Told {
  readonly code: string;
  readonly reason: string;
}

/**
 * What the replays of all workflows of the ledger tell, as it stands now. A ledger that a test has `damaged` tells so.
 */
export async function replayAll(kernel: Kernel, damaged = false): Promise<readonly Told[]> {
  return (await replayEach(kernel)).filter(({ code }) => !damaged || code !== "T0_LEDGER_CORRUPT");
}

async function replayEach(kernel: Kernel): Promise<readonly Told[]> {
  const told: Told[] = [];
  try {
    for (let after: string | undefined; ; ) {
      const page = await kernel.workflows({ limit: 100, ...(after === undefined ? {} : { after }) });
      for (const { workflow_id } of page) told.push(...(await replayOne(kernel, workflow_id)));
      after = page.at(-1)?.workflow_id;
      if (after === undefined) return told;
    }
  } catch (thrown) {
    return [...told, ...refusalOf(thrown)];
  }
}

async function replayOne(kernel: Kernel, workflowId: string): Promise<readonly Told[]> {
  try {
    const { difference } = await kernel.replay(workflowId);
    if (difference === null) return [];
    return [{ code: difference.code, reason: `${workflowId} at ${difference.sequence}: ${difference.reason}` }];
  } catch (thrown) {
    return refusalOf(thrown);
  }
}

/** A kernel that has stopped, whose store a test has broken, or that only reads what another ran, replays nothing. */
const nothingToReplay = /^(T0_LEDGER_(?!CORRUPT)|T0_KERNEL_STOPPED)/;

function refusalOf(thrown: unknown): readonly Told[] {
  const code = thrown instanceof KernelErrorException ? thrown.error.code : "THROWN";
  return nothingToReplay.test(code) ? [] : [{ code, reason: String(thrown) }];
}

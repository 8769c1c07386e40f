// Replays every workflow of a kernel's ledger. Owns: finding them, and the words for what came out otherwise.
import type { Kernel, Replay } from "../../src/index.ts";

/** Replays of all workflows of the ledger, as it stands now. */
export async function replayAll(kernel: Kernel): Promise<readonly Replay[]> {
  const replays: Replay[] = [];
  for (let after: string | undefined; ; ) {
    const page = await kernel.workflows({ limit: 100, ...(after === undefined ? {} : { after }) });
    for (const { workflow_id } of page) replays.push(await kernel.replay(workflow_id));
    after = page.at(-1)?.workflow_id;
    if (after === undefined) return replays;
  }
}

export const differencesOf = (replays: readonly Replay[]): readonly string[] =>
  replays.flatMap(({ workflow_id, difference }) =>
    difference === null ? [] : [`${workflow_id} at ${difference.sequence}: ${difference.reason}`],
  );

/**
 * A replay is identical wherever it is asked for, by whatever release: it asks nothing that a release brings.
 */
import { KernelErrorException } from "../../src/contract/error.ts";
import type { Replay } from "../../src/contract/replay.ts";
import type { Kernel } from "../../src/kernel/kernel-interface.ts";
import { letRun } from "../../src/testing/let-run.ts";

/** Returns what is wrong with the replay of a workflow; nothing where it is identical. */
export async function judgeReplay(kernel: Kernel, id: string): Promise<readonly string[]> {
  const told = await tell(kernel.replay(id));
  return told === null ? [] : [`replay: ${id}: ${told}`];
}

async function tell(asked: Promise<Replay>): Promise<string | null> {
  try {
    const replayed = await answerOf(asked);
    if (replayed === null) return "it hangs";
    const { identical, difference } = replayed;
    if (identical) return null;
    const { sequence, event_type, step_id, path, reason, expected, actual } = difference ?? ({} as never);
    const values = JSON.stringify([expected, actual]).slice(0, 400);
    return `at ${sequence} ${event_type} ${step_id} ${path}: ${reason} ${values}`;
  } catch (thrown) {
    return thrown instanceof KernelErrorException ? thrown.error.code : String(thrown);
  }
}

/** Returns null for what hangs: nothing of a replay needs time. */
async function answerOf<T>(asked: Promise<T>): Promise<T | null> {
  const state: { answer: T | null } = { answer: null };
  const answered = asked.then((answer) => {
    state.answer = answer;
  });
  for (let i = 0; i < 4 && state.answer === null; i += 1) await Promise.race([answered, letRun()]);
  return state.answer;
}

/**
 * Cancels the workflows that came before one in its queue, which replaces them.
 *
 * 1.  A request that supersedes those that wait leaves those that have begun.
 * 2.  To cancel one again changes nothing; one that has ended, or is ending, is left as it is.
 */
import type { Command } from "../decide/run/input.ts";
import { isTaken, untilAnswered } from "./children.ts";
import type { Asking } from "./services.ts";

/** Returns the workflows that took the order. @throws KernelErrorException what else refuses it. */
export async function replaceOthers(at: Asking): Promise<readonly string[]> {
  const { record } = at.run.log;
  const { auth, intent, workflow_id, debounced } = record;
  const order = { kind: "cancel", reason: `replaced by ${workflow_id}`, principal: intent.actor, auth } as const;
  const command: Command = debounced === null ? order : { ...order, if_waiting: true };
  const cancel = async (other: string): Promise<readonly string[]> =>
    (await isTaken(untilAnswered(at, () => at.services.command(other, command)))) ? [other] : [];
  const others = await at.services.queuedBefore(record);
  return (await Promise.all(others.map(cancel))).flat();
}

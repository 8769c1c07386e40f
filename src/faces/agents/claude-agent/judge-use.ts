/**
 * The judgement of a tool that Claude Code is about to use. Claude runs the tool by itself, so a permit is taken.
 *
 * 1.  The same call in the same conversation is the same request until its permit is taken, since Claude names each use
 *     anew: a call that waits is made again later, and then finds its decision. A rejection stands for all of it.
 * 2.  Whoever asks twice about one use, such as a hook and then a permission prompt, receives the same answer.
 */
import { digest } from "../../../contract/digest.ts";
import type { AgentThread, JudgedCall } from "../agent-call.ts";
import { readArguments } from "../read-arguments.ts";

/** The use of a tool, as Claude Code names it. */
export interface ToolUse {
  /** Claude's id of this use. */
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
}

/** The uses of one call that a conversation had, so that a process does not ask about each of them again. */
export type UsesSoFar = Map<string, number>;

/** Judges a use, and takes the permit if it may be made. Rejects only with the reason of `signal`. */
export async function judgeUse(
  thread: AgentThread,
  { id, tool, input }: ToolUse,
  { signal, uses = new Map() }: { readonly signal?: AbortSignal; readonly uses?: UsesSoFar } = {},
): Promise<JudgedCall> {
  const args = readArguments(input);
  const call = digest([tool, args]);
  for (let nth = uses.get(call) ?? 0; ; nth += 1) {
    const judged = await thread.take({ call_id: `${call}:${nth}`, tool, arguments: args }, id, signal);
    if (judged.status !== "refused" || judged.code !== "T0_AGENT_TAKEN") {
      uses.set(call, nth);
      return judged;
    }
  }
}

/**
 * The functions of tools that agents of this process want to run now, by the permit under which they run.
 *
 * 1.  Only the agent that makes the call brings the function. A run that finds none, after a crash or in another
 *     process, has called nothing and fails with T0_AGENT_AWAY; the agent's next attempt begins it again.
 * 2.  What the function returns or throws is recorded as its answer. An aborted run has no answer.
 */
import { type JsonObject, toJson } from "../../contract/json.ts";
import { messageOf } from "../../contract/kernel-error.ts";
import { type OperatorCall, OperatorError, operatorError } from "../../index.ts";
import type { PermitUse, ToolAnswer } from "./call-package.ts";
import { agentError, describeError } from "./call-words.ts";

/** A tool as it was brought: with the permitted arguments. */
type BroughtTool = (args: JsonObject, signal: AbortSignal) => unknown;

export class LiveTools {
  readonly #brought = new Map<string, Set<BroughtTool>>();

  /** Offers a function for a permit while `work` goes on. */
  async during<T>(permit: string, tool: BroughtTool, work: () => Promise<T>): Promise<T> {
    const brought = this.#brought.get(permit) ?? new Set();
    this.#brought.set(permit, brought.add(tool));
    try {
      return await work();
    } finally {
      brought.delete(tool);
      if (brought.size === 0 && this.#brought.get(permit) === brought) this.#brought.delete(permit);
    }
  }

  /** Runs the function of the agent that wants it. @throws OperatorError T0_AGENT_AWAY. */
  readonly run = async ({ input, signal }: OperatorCall<PermitUse>): Promise<ToolAnswer> => {
    const [tool] = this.#brought.get(input.permit) ?? [];
    if (tool === undefined)
      throw operatorError({
        code: "T0_AGENT_AWAY",
        // It states that nothing has happened outside; with one attempt it fails at once.
        category: "transient",
        message: `the agent that called ${input.approved.tool} is not in this process; nothing was called`,
      });
    try {
      return readOutput(await tool(input.approved.arguments, signal));
    } catch (thrown) {
      // How far an aborted function came is unknown; an error of the kernel's own kind says what happened.
      if (signal.aborted || thrown instanceof OperatorError) throw thrown;
      return { error: messageOf(thrown) };
    }
  };
}

/** Returns the output as JSON; undefined becomes null. */
function readOutput(output: unknown): ToolAnswer {
  try {
    return { output: toJson(JSON.parse(JSON.stringify(output) ?? "null")) };
  } catch (thrown) {
    const message = `the call was made, but its result is not JSON: ${messageOf(thrown)}`;
    return { error: describeError(agentError("T0_AGENT_RESULT_INVALID", message)) };
  }
}

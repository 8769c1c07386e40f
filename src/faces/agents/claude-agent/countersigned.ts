/**
 * countersigned: the hooks and the permission function of the Claude Agent SDK that have each use of a tool judged by a
 * kernel, and its result recorded.
 *
 * 1.  The hook judges every use, also those that Claude's own permissions allow. `canUseTool` answers what still asks.
 * 2.  What the kernel does not permit is denied, with the words for the model. So is a use whose hook fails.
 * 3.  Whoever asks twice about one use, the hook and then a permission prompt, receives the same permit.
 */
import type {
  CanUseTool,
  HookCallback,
  HookCallbackMatcher,
  PostToolUseFailureHookInput,
  PostToolUseHookInput,
  PreToolUseHookInput,
} from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";
import { objectWith } from "../../../contract/host-object.ts";
import { readStrictly } from "../../../contract/known-keys.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { AgentThread, AllowedCall, JudgedCall, ToolUse } from "../agent-call.ts";
import { describeHook, describeReport } from "./hook-answer.ts";

const source = moduleRef(0, "agents", "claude_agent");
const Given = z.strictObject({
  thread: objectWith<AgentThread>("takeNext", "report"),
  /** The longest time of one judgement in seconds, with the wait for a person; 600 by default. */
  timeoutSec: z.number().positive().max(86_400).default(600),
});

/** The options of `query` that put the tools of Claude under a kernel. */
export interface Countersigned {
  readonly hooks: Readonly<Record<"PreToolUse" | "PostToolUse" | "PostToolUseFailure", HookCallbackMatcher[]>>;
  readonly canUseTool: CanUseTool;
}

/**
 * Returns the options for a conversation.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for anything but a thread and a time.
 */
export function countersigned(thread: AgentThread, options: { readonly timeoutSec?: number } = {}): Countersigned {
  const { timeoutSec } = readStrictly(Given, { ...options, thread }, { what: "countersigned", source });
  /** The permits of uses whose result is not reported yet. */
  const permits = new Map<string, AllowedCall>();
  async function judge(use: ToolUse, signal: AbortSignal): Promise<JudgedCall> {
    const judged = permits.get(use.use_id) ?? (await thread.takeNext(use, signal));
    if (judged.status === "allowed") permits.set(use.use_id, judged);
    return judged;
  }
  const judgeUse: HookCallback = async (given, _id, { signal }) => {
    const { tool_use_id: use_id, tool_name: tool, tool_input } = given as PreToolUseHookInput;
    return describeHook(await judge({ use_id, tool, arguments: tool_input }, signal));
  };
  const recordOutput: HookCallback = async (given) => {
    const { tool_use_id, tool_response: output } = given as PostToolUseHookInput;
    permits.delete(tool_use_id);
    return describeReport(await thread.report(tool_use_id, { output }));
  };
  const recordError: HookCallback = async (given) => {
    const { tool_use_id, error } = given as PostToolUseFailureHookInput;
    permits.delete(tool_use_id);
    return describeReport(await thread.report(tool_use_id, { error }));
  };
  return {
    hooks: {
      PreToolUse: [{ hooks: [judgeUse], timeout: timeoutSec, onFailure: "block" }],
      PostToolUse: [{ hooks: [recordOutput] }],
      PostToolUseFailure: [{ hooks: [recordError] }],
    },
    async canUseTool(tool, input, { signal, toolUseID }) {
      const judged = await judge({ use_id: toolUseID, tool, arguments: input }, signal);
      if (judged.status === "allowed") return { behavior: "allow", updatedInput: judged.arguments };
      return { behavior: "deny", message: judged.words };
    },
  };
}

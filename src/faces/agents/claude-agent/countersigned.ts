/**
 * countersigned: the hooks and the permission function of the Claude Agent SDK that have each use of a tool judged by a
 * kernel, and its result recorded.
 *
 * 1.  The hook judges every use, also those that Claude's own permissions allow. `canUseTool` answers what still asks.
 * 2.  What the kernel does not permit is denied, with the words for the model. So is a use whose hook fails.
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
import type { AgentThread } from "../agent-call.ts";
import { describeHook, describeReport } from "./hook-answer.ts";
import { judgeUse, type UsesSoFar } from "./judge-use.ts";

const source = moduleRef(0, "agents", "claude_agent");
const Given = z.strictObject({
  thread: objectWith<AgentThread>("ask", "run", "take", "report"),
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
  const uses: UsesSoFar = new Map();
  const judge: HookCallback = async (given, _id, { signal }) => {
    const { tool_use_id: id, tool_name: tool, tool_input: input } = given as PreToolUseHookInput;
    return describeHook(await judgeUse(thread, { id, tool, input }, { signal, uses }));
  };
  const recordOutput: HookCallback = async (given) => {
    const { tool_use_id, tool_response: output } = given as PostToolUseHookInput;
    return describeReport(await thread.report(tool_use_id, { output }));
  };
  const recordError: HookCallback = async (given) => {
    const { tool_use_id, error } = given as PostToolUseFailureHookInput;
    return describeReport(await thread.report(tool_use_id, { error }));
  };
  return {
    hooks: {
      PreToolUse: [{ hooks: [judge], timeout: timeoutSec, onFailure: "block" }],
      PostToolUse: [{ hooks: [recordOutput] }],
      PostToolUseFailure: [{ hooks: [recordError] }],
    },
    async canUseTool(tool, input, { signal, toolUseID }) {
      const judged = await judgeUse(thread, { id: toolUseID, tool, input }, { signal, uses });
      if (judged.status === "allowed") return { behavior: "allow", updatedInput: judged.arguments };
      return { behavior: "deny", message: judged.words };
    },
  };
}

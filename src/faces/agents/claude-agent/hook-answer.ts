/** The answer of a hook of Claude Code before a tool is used. */
import type { JudgedCall } from "../agent-call.ts";

/** The answer as Claude Code reads it, from a function of the SDK or from the output of a command. */
export interface HookAnswer {
  readonly hookSpecificOutput: {
    readonly hookEventName: "PreToolUse";
    readonly permissionDecision: "allow" | "deny";
    /** The reason: of a denial for the model, of an approval for the person at the terminal. */
    readonly permissionDecisionReason?: string;
    /** The input that the tool receives. */
    readonly updatedInput?: Record<string, unknown>;
    /** The words for the model, if a person or a rule changed the input. */
    readonly additionalContext?: string;
  };
}

/** Returns the answer to a judgement; a call that waits is denied, with the address at which a person decides. */
export function describeHook(judged: JudgedCall): HookAnswer {
  const hookEventName = "PreToolUse";
  if (judged.status !== "allowed")
    return {
      hookSpecificOutput: { hookEventName, permissionDecision: "deny", permissionDecisionReason: judged.words },
    };
  const { arguments: updatedInput, note, approval } = judged;
  return {
    hookSpecificOutput: {
      ...{ hookEventName, permissionDecision: "allow", updatedInput },
      ...(approval !== null && { permissionDecisionReason: approval }),
      ...(note !== null && { additionalContext: note }),
    },
  };
}

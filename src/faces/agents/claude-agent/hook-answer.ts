/** The answers of hooks of Claude Code before and after a tool is used. */
import type { JudgedCall, ReportedCall } from "../agent-call.ts";

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

/** The answer after a tool was used; the message is for the person at the terminal. */
export interface ReportAnswer {
  readonly systemMessage?: string;
}

/** Returns the answer to a report; one that the kernel did not take is told to the person. */
export const describeReport = (reported: ReportedCall): ReportAnswer =>
  reported.status === "reported" ? {} : { systemMessage: `The result was not recorded: ${reported.words}` };

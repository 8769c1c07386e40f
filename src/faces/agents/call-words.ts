/** The words about a call that its model reads. Text of people and of rules is shown with what cannot be seen named. */
import { kernelError } from "../../contract/error-codes.ts";
import type { KernelError } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Gate, WorkflowState } from "../../index.ts";
import { namePrincipal } from "../../protocol/name-principal.ts";
import { showLine, showText } from "../../protocol/visible-text.ts";
import type { AgentPayload } from "./call-package.ts";

const agentRef = moduleRef(0, "agents", "call");

/** Builds an error of this room. */
export const agentError = (
  code: Parameters<typeof kernelError>[0],
  message: string,
  detail: Readonly<Record<string, unknown>> = {},
): KernelError => kernelError(code, message, agentRef, { detail });

/** Returns the text of an error for a model: its code and its message. */
export const describeError = ({ code, message }: Pick<KernelError, "code" | "message">): string =>
  `${code}: ${showText(message)}`;

/** Returns why a call was refused: the person's words, or the reason of the rule. */
export function describeRefusal({ gates, error, state }: WorkflowState): string {
  const decided = gates.findLast(({ decision }) => decision?.decision === "reject")?.decision;
  if (decided != null) {
    const { principal, comment } = decided;
    const by = principal === null ? "The call was rejected" : `${showLine(namePrincipal(principal))} rejected the call`;
    return comment === null || comment === "" ? `${by}.` : `${by}: ${showText(comment)}`;
  }
  if (error !== null) return describeError(error);
  return `The call was not made: its workflow is ${state}.`;
}

/** Returns what a model is told of a call that was made with other arguments than it gave. */
export function describeChange(asked: AgentPayload, permitted: AgentPayload, gates: readonly Gate[]): string {
  const editor = gates.flatMap(({ edits = [] }) => edits).at(-1)?.by;
  const by = editor === undefined ? "A rule" : showLine(namePrincipal(editor));
  const before = showText(JSON.stringify(asked.arguments));
  return `${by} changed the arguments before the call was made. They were ${showText(
    JSON.stringify(permitted.arguments),
  )} and not ${before}.`;
}

/** Returns the names of the people who approved the call; null if nobody was asked. */
export function describeApproval(gates: readonly Gate[]): string | null {
  const by = gates.findLast(({ decision }) => decision?.decision === "approve")?.decision?.principal;
  return by == null ? null : `approved by ${showLine(namePrincipal(by))}`;
}

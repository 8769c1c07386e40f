/**
 * The answers of people to the approval requests of stored messages.
 *
 * 1.  The messages alone are read: a new process, with new objects of the SDK, goes on from what was stored.
 * 2.  Nothing is answered until all requests of the last step are decided, since the SDK answers a step as a whole.
 */
import type { ModelMessage } from "ai";
import type { AgentThread, JudgedCall, WaitingCall } from "../agent-call.ts";

/** The messages to go on with, or what still waits. */
export interface Resumed {
  /** The calls that still wait; none if the agent can go on. */
  readonly waiting: readonly WaitingCall[];
  /** The messages with the answers of people; as they were given while calls wait, or if none asked. */
  readonly messages: ModelMessage[];
}

interface Request {
  readonly approvalId: string;
  readonly call_id: string;
  readonly tool: string;
  readonly arguments: unknown;
}

/** Answers the requests that have no answer yet. */
export async function resumeMessages(thread: AgentThread, given: readonly ModelMessage[]): Promise<Resumed> {
  const messages = [...given];
  const requests = openRequests(messages);
  const judged = await Promise.all(requests.map(async (request) => ({ request, call: await thread.ask(request) })));
  const waiting = judged.flatMap(({ call }) => (call.status === "waiting" ? call : []));
  if (waiting.length > 0 || judged.length === 0) return { waiting, messages };
  const content = judged.map(({ request: { approvalId }, call }) => ({
    type: "tool-approval-response" as const,
    approvalId,
    approved: call.status === "allowed",
    ...reasonOf(call),
  }));
  return { waiting, messages: [...messages, { role: "tool", content }] };
}

function reasonOf(call: JudgedCall): { readonly reason?: string } {
  if (call.status === "refused") return { reason: call.words };
  return call.status === "allowed" && call.approval !== null ? { reason: call.approval } : {};
}

/** Returns the requests without an answer, with the calls that they are for, in the order of the model. */
function openRequests(messages: readonly ModelMessage[]): readonly Request[] {
  const asked = messages.flatMap(({ role, content }) =>
    role === "assistant" && typeof content !== "string" ? content : [],
  );
  const answers = messages.flatMap(({ role, content }) => (role === "tool" ? content : []));
  const answered = new Set(answers.flatMap((part) => (part.type === "tool-approval-response" ? part.approvalId : [])));
  return asked.flatMap((part) => {
    if (part.type !== "tool-approval-request" || part.isAutomatic === true || answered.has(part.approvalId)) return [];
    const call = asked.find((other) => other.type === "tool-call" && other.toolCallId === part.toolCallId);
    if (call?.type !== "tool-call") return [];
    const { toolCallId: call_id, toolName: tool, input } = call;
    return { approvalId: part.approvalId, call_id, tool, arguments: input };
  });
}

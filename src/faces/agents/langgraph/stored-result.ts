/**
 * The result of a tool of LangGraph as JSON, and back: a message or a command, with the messages and sends in it.
 *
 * 1.  A result that was read is what was stored, but for the note, which stands before the content of the message that
 *     answers the call.
 * 2.  Data that has the form of a stored message, command or send stays data: it is stored in a member of its own.
 */
import {
  BaseMessage,
  type MessageContent,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { Command, type CommandParams, isCommand, Send } from "@langchain/langgraph";
import { isPlainObject, type Json } from "../../../contract/json.ts";

const [messageKey, commandKey, sendKey, dataKey] = ["$message", "$command", "$send", "$data"] as const;
const keys: ReadonlySet<string> = new Set([messageKey, commandKey, sendKey, dataKey]);

/** Returns the result as JSON. */
export function storeResult(value: unknown): unknown {
  if (BaseMessage.isInstance(value)) return { [messageKey]: mapChatMessagesToStoredMessages([value])[0] };
  if (isCommand(value)) {
    const { update, goto, graph, resume } = value;
    return { [commandKey]: storeResult({ update, goto, graph, resume }) };
  }
  if (value instanceof Send) return { [sendKey]: [value.node, storeResult(value.args)] };
  if (Array.isArray(value)) return value.map(storeResult);
  if (!isPlainObject(value)) return value;
  const members = Object.entries(value);
  const data = Object.fromEntries(members.map(([key, member]) => [key, storeResult(member)]));
  return members.length === 1 && members.some(([key]) => keys.has(key)) ? { [dataKey]: data } : data;
}

interface Answered {
  readonly tool_call_id: string;
  readonly note: string | null;
}

/** Returns the result of what was stored. A result of another form becomes the content of a message. */
export function readResult(stored: Json, answered: Answered): ToolMessage | Command {
  const value = revive(stored, answered);
  if (ToolMessage.isInstance(value) || isCommand(value)) return value as ToolMessage | Command;
  const content = typeof stored === "string" ? stored : JSON.stringify(stored);
  return withNote(new ToolMessage({ content, tool_call_id: answered.tool_call_id }), answered);
}

function revive(stored: unknown, answered: Answered): unknown {
  if (Array.isArray(stored)) return stored.map((each) => revive(each, answered));
  if (!isPlainObject(stored)) return stored;
  const [[key, inner] = ["", null], ...others] = Object.entries(stored);
  if (others.length === 0 && key === messageKey)
    return withNote(mapStoredMessagesToChatMessages([inner as StoredMessage])[0], answered);
  if (others.length === 0 && key === commandKey) return new Command(revive(inner, answered) as CommandParams<unknown>);
  if (others.length === 0 && key === sendKey) {
    const [node, args] = inner as [string, unknown];
    return new Send(node, revive(args, answered));
  }
  if (others.length === 0 && key === dataKey && isPlainObject(inner)) return reviveMembers(inner, answered);
  return reviveMembers(stored, answered);
}

const reviveMembers = (data: object, answered: Answered): object =>
  Object.fromEntries(Object.entries(data).map(([name, member]) => [name, revive(member, answered)]));

function withNote<M>(message: M, { tool_call_id, note }: Answered): M {
  if (note === null || !ToolMessage.isInstance(message) || message.tool_call_id !== tool_call_id) return message;
  const content: MessageContent = message.content;
  message.content = typeof content === "string" ? `${note}\n${content}` : [{ type: "text", text: note }, ...content];
  return message;
}

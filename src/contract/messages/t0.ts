/** The messages that T0, foundation, answers. */
import type { JsonObject } from "../json.ts";
import { messagesOf } from "./message.ts";

const { relay } = messagesOf(0);

/** The body of a tool call beside `tool` and `args`, which `signalToToolCall` reads. */
export type ToolCallArguments = JsonObject;

export const t0 = {
  /** Calls a tool of a registered client. The answer is one Signal per content item of the tool's result. */
  callTool: relay<ToolCallArguments>("ToolCall", { module: "bridge", function: "call_tool" }),
};

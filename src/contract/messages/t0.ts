/** The messages that T0, foundation, answers. */
import type { ParentLink } from "../child.ts";
import type { PrincipalRef } from "../gate-vote.ts";
import type { SubmitRequest, SubmitResponse } from "../intent.ts";
import type { JsonObject } from "../json.ts";
import { messagesOf } from "./message.ts";

const { data, relay } = messagesOf(0);

/** The body of a tool call beside `tool` and `args`, which `signalToToolCall` reads. */
export type ToolCallArguments = JsonObject;

/** The request that begins a child, and where it comes from. */
export interface ChildRequest {
  readonly request: SubmitRequest;
  readonly parent: ParentLink;
  readonly correlation_id: string;
  /** The principals who requested the work of the parent so far. */
  readonly requesters: readonly PrincipalRef[];
}

export const t0 = {
  /** Calls a tool of a registered client. The answer is one Signal per content item of the tool's result. */
  callTool: relay<ToolCallArguments>("ToolCall", { module: "bridge", function: "call_tool" }),
  /** Takes in the request that begins a child workflow. */
  beginChild: data<ChildRequest, SubmitResponse>("ChildRequest", "SubmitResponse", {
    module: "gateway",
    function: "submit",
  }),
};

/** The messages that T0, foundation, answers. */
import type { ParentLink } from "../child.ts";
import type { PrincipalRef } from "../gate-vote.ts";
import type { SubmitRequest, SubmitResponse } from "../intent.ts";
import type { JsonObject } from "../json.ts";
import type { KeptDrafts } from "../kept-draft.ts";
import { messagesOf } from "./message.ts";

const { data, relay } = messagesOf(0);

/** The body of a tool call beside `tool` and `args`, which `signalToToolCall` reads. */
export type ToolCallArguments = JsonObject;

/** The workflow whose work another one does again, and what that one has of it. */
export interface RepeatedWork {
  readonly regenerated_from: string;
  readonly intent_id: string;
  readonly draft_version: number;
  /** The versions of other steps that are kept. */
  readonly kept_drafts: KeptDrafts;
  /** Steps that are made again; the others keep their keys. */
  readonly regenerate: readonly string[];
  /** The keys of calls that succeeded with an unusable result. */
  readonly spent_calls: readonly string[];
}

/** The request that begins a child, and where it comes from. */
export interface ChildRequest {
  readonly request: SubmitRequest;
  readonly parent: ParentLink;
  readonly correlation_id: string;
  /** The principals who requested the work of the parent so far. */
  readonly requesters: readonly PrincipalRef[];
  /** The child in whose place it begins, whose keys it has; null if there is none. */
  readonly repeats: RepeatedWork | null;
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

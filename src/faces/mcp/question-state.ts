/**
 * The state that a question carries to the client and back (`requestState`): its workflow, and its purpose.
 *
 * 1.  Sealed under the server's key, and to its caller: nobody makes one, changes one, or uses another's.
 * 2.  It answers one question of one tool. Sent back to another tool, or with answers to another gate, it is refused.
 * 3.  It is valid for as long as a person may take over a question (`limits.elicitationMs`).
 */
import {
  createRequestStateCodec,
  ProtocolError,
  ProtocolErrorCode,
  type RequestStateCodec,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { canonicalJson } from "../../contract/digest.ts";
import type { McpContext } from "./mcp-context.ts";

export interface QuestionState {
  readonly workflow_id: string;
  /** The tool whose call asked. */
  readonly tool: string;
  /** The key of the question, which names the gate and what it showed. */
  readonly question: string;
}

export function questionStates({ caller, options }: McpContext): RequestStateCodec<QuestionState> {
  const { tenant_id, principal, scopes = null } = caller;
  const { type, id, role } = principal;
  const bound = canonicalJson([tenant_id, type, id, role, scopes === null ? null : [...scopes].sort()]);
  const ttlSeconds = Math.ceil(options.limits.elicitationMs / 1000);
  return createRequestStateCodec<QuestionState>({ key: options.stateKey, ttlSeconds, bind: () => bound });
}

/**
 * Returns the state that the request continues; null if it begins. @throws ProtocolError -32602, as for an invalid
 * seal.
 */
export function readQuestionState({ mcpReq }: ServerContext, tool: string): QuestionState | null {
  const state = mcpReq.requestState<QuestionState>();
  if (state === undefined) return null;
  const answered = Object.keys(mcpReq.inputResponses ?? {});
  const isOther = answered.length > 0 && !answered.includes(state.question);
  if (state.tool === tool && !isOther) return state;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Invalid or expired requestState", {
    reason: "invalid_request_state",
  });
}

/**
 * Questions of the server behind (`input_required`, since 2026-07-28): they pass through the guard, which marks the
 * state that the client brings back, to tell it from the state of its own questions.
 *
 * 1.  A call that continues after such a question is a call of its own: its answers are part of the payload that
 *     policy judges.
 */
import type { JSONRPCRequest } from "@modelcontextprotocol/server";
import { isPlainObject, type JsonObject } from "../../contract/json.ts";

const mark = "countersign-upstream:";

const isMarked = (state: unknown): state is string => typeof state === "string" && state.startsWith(mark);

/** Returns a result for the client; a question of the server has its state marked. */
export const markQuestion = (result: JsonObject): JsonObject =>
  result["resultType"] === "input_required"
    ? { ...result, requestState: `${mark}${String(result["requestState"] ?? "")}` }
    : result;

/** Returns what a call continues: the answers and the state of the server's own question; undefined if it begins. */
export function readContinued({ params }: JSONRPCRequest): JsonObject | undefined {
  const { inputResponses, requestState } = (params ?? {}) as JsonObject;
  if (!isMarked(requestState)) return undefined;
  const state = requestState.slice(mark.length);
  return {
    ...(isPlainObject(inputResponses) && { inputResponses }),
    ...(state !== "" && { requestState: state }),
  };
}

/** Returns the request without the answers to the server's own question, which the guard's server cannot read. */
export function withoutContinued(request: JSONRPCRequest): JSONRPCRequest {
  if (readContinued(request) === undefined) return request;
  const { inputResponses: _1, requestState: _2, ...params } = (request.params ?? {}) as JsonObject;
  return { ...request, params };
}

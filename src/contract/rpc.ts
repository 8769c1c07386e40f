/**
 * JSON-RPC 2.0 messages, as MCP speaks them.
 *
 * Owns: the shapes. Ids are non-empty strings; null only in an error answer to a request that could not be identified.
 * A notification has no id key at all. A message of mixed shape matches none of the four. Never: builds or matches
 * messages; protocol/envelope.ts does.
 */
import { z } from "zod";
import { JsonObject } from "./json.ts";

const version = z.literal("2.0");
const id = z.string().min(1);

/** A JSON-RPC call. */
export const RpcRequest = z
  .strictObject({ jsonrpc: version, id, method: z.string().min(1), params: JsonObject.optional() })
  .readonly();
export type RpcRequest = z.infer<typeof RpcRequest>;

/** A JSON-RPC message that expects no answer. */
export const RpcNotification = z
  .strictObject({ jsonrpc: version, method: z.string().min(1), params: JsonObject.optional() })
  .readonly();
export type RpcNotification = z.infer<typeof RpcNotification>;

/** A JSON-RPC answer that is a result. */
export const RpcSuccess = z.strictObject({ jsonrpc: version, id, result: JsonObject }).readonly();
export type RpcSuccess = z.infer<typeof RpcSuccess>;

/** An error as JSON-RPC 2.0 spells it. */
export const RpcErrorObject = z
  .object({ code: z.int(), message: z.string(), data: JsonObject.nullable().optional() })
  .readonly();
export type RpcErrorObject = z.infer<typeof RpcErrorObject>;

/** A JSON-RPC answer that is an error. */
export const RpcErrorResponse = z
  .strictObject({ jsonrpc: version, id: id.nullable(), error: RpcErrorObject })
  .readonly();
export type RpcErrorResponse = z.infer<typeof RpcErrorResponse>;

/** Any JSON-RPC message. */
export const RpcMessage = z.union([RpcRequest, RpcNotification, RpcSuccess, RpcErrorResponse]);
export type RpcMessage = z.infer<typeof RpcMessage>;

// The messages of /rpc, whose ids are all that JSON-RPC allows and are returned unchanged.
const wireId = z.union([z.string(), z.number(), z.null()]);
const wireCall = z.object({
  jsonrpc: version,
  id: wireId.optional(),
  method: z.string().min(1),
  params: JsonObject.optional(),
});
/** One call, or a batch of them. */
export const RpcCall = z.union([wireCall, z.array(wireCall).min(1)]);
export type RpcCall = z.infer<typeof RpcCall>;

const wireAnswer = z.union([
  z.object({ jsonrpc: version, id: wireId, result: JsonObject }),
  z.object({ jsonrpc: version, id: wireId, error: RpcErrorObject }),
]);
/** The answer to one call, or those to a batch. */
export const RpcAnswer = z.union([wireAnswer, z.array(wireAnswer).min(1)]);
export type RpcAnswer = z.infer<typeof RpcAnswer>;

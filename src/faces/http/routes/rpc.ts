/**
 * JSON-RPC 2.0 at one address: the same calls as the other routes, by method (rpc-methods.ts).
 *
 * 1.  A refusal of the envelope or the kernel is an error of JSON-RPC under status 200; notifications alone get 204.
 * 2.  A batch is run and answered in its order, each message for itself; each uses the caller's allowance. Once its
 *     answers are as large as a caller may leave unread, further messages that have an id are refused.
 * 3.  Ids are texts in our records. Here every id that JSON-RPC allows is accepted, and returned unchanged: a text, a
 *     number, even null, which is an id and no notification.
 * 4.  Params are given by name; by position they are bad params, not a bad request.
 */
import { kernelError } from "../../../contract/error-codes.ts";
import { isPlainObject, type JsonObject } from "../../../contract/json.ts";
import { type KernelError, KernelErrorException } from "../../../contract/kernel-error.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { RpcAnswer, RpcCall } from "../../../contract/rpc.ts";
import { createErrorResponse, createSuccessResponse, tryValidateMessageEnvelope } from "../../../protocol/envelope.ts";
import { errorToJsonrpcError } from "../../../protocol/error-to-jsonrpc-error.ts";
import { orUnparsed, parseJson, readBodyText } from "../../../protocol/read-body-text.ts";
import { addRoute, type Route } from "../add-route.ts";
import { answerJson, errorOf } from "../answer.ts";
import type { Call, Edge } from "../edge.ts";
import { rpcMethods } from "../rpc-methods.ts";
import { measureJson } from "../write-json.ts";

const rpcRef = moduleRef(0, "http", "rpc");
const codes = { invalid: -32600, method: -32601, params: -32602 } as const;

const rpcRoute: Route = {
  method: "post",
  path: "/rpc",
  operation: "callRpc",
  summary: "JSON-RPC 2.0: the same calls as the other addresses, by method, alone or in batches",
  needs: null,
  body: RpcCall,
  answers: {
    200: { description: "The answer, or those of a batch; refusals are errors of JSON-RPC.", schema: RpcAnswer },
    204: { description: "There were notifications alone." },
  },
};

export function addRpc(edge: Edge): void {
  addRoute(edge, rpcRoute, async (call) => {
    const answer = await answerBody(call, edge);
    return answer === null ? new Response(null, { status: 204 }) : answerJson(answer);
  });
}

async function answerBody(call: Call, edge: Edge): Promise<object | null> {
  const { limits } = edge.options;
  try {
    const text = () => readBodyText(call.req.raw, limits);
    return await answerAll(await orUnparsed(async () => parseJson(await text(), limits.maxDepth)), call, edge);
  } catch (thrown) {
    const error = thrown instanceof KernelErrorException ? thrown.error : null;
    if (error?.code !== "T0_RPC_PARSE_FAILED") throw thrown;
    return answerError(error);
  }
}

async function answerAll(value: unknown, call: Call, edge: Edge): Promise<object | null> {
  const { maxBatch } = edge.options.limits;
  // The request itself has taken for the first.
  const first: Edge = { ...edge, spend: () => undefined };
  if (!Array.isArray(value)) return answerMessage(value, call, first);
  const { length } = value;
  if (length === 0 || length > maxBatch)
    return createErrorResponse(null, codes.invalid, `invalid request: a batch has 1 to ${maxBatch} messages`);
  const answers: (object | null)[] = [];
  let bytes = 0;
  for (const [i, message] of value.entries()) {
    const answer = orTooMuch(message, bytes, edge) ?? (await answerMessage(message, call, i === 0 ? first : edge));
    bytes += await measureJson(answer);
    answers.push(answer);
  }
  const replies = answers.filter((answer) => answer !== null);
  return replies.length === 0 ? null : replies;
}

/** Refuses a message whose answer would exceed what the caller may leave unread; null if it may be answered. */
function orTooMuch(message: unknown, bytes: number, { options }: Edge): object | null {
  const { maxUnreadBytesPerCaller } = options.limits;
  const id = idOf(message);
  if (bytes <= maxUnreadBytesPerCaller || id === undefined) return null;
  const text = `the answers before it hold more than limits.maxUnreadBytesPerCaller = ${maxUnreadBytesPerCaller} bytes`;
  const detail = { maxUnreadBytesPerCaller };
  return { ...answerError(kernelError("T0_HTTP_CALLER_UNREAD_LIMIT", text, rpcRef, { detail })), id };
}

function answerError(error: KernelError): object {
  const { code, message, data } = errorToJsonrpcError(error);
  return createErrorResponse(null, code, message, data);
}

/** Returns the answer to one message; null for a notification. */
async function answerMessage(raw: unknown, call: Call, edge: Edge): Promise<object | null> {
  const given = idOf(raw);
  const checked = tryValidateMessageEnvelope(isPlainObject(raw) ? toRecord(raw, given) : raw);
  if ("refusal" in checked) return { ...checked.refusal, id: given ?? null };
  const { message } = checked;
  if (!("method" in message)) return createErrorResponse(null, codes.invalid, "invalid request: nothing was asked");
  const isNamed = !Array.isArray((raw as JsonObject)["params"]);
  const answer = await answerRequest({ ...message, isNamed }, call, edge);
  return given === undefined ? null : { ...answer, id: given };
}

type WireId = string | number | null;

/** Returns the id as it came, if JSON-RPC allows it; undefined if there is none, or none that could be answered. */
function idOf(raw: unknown): WireId | undefined {
  if (!isPlainObject(raw)) return undefined;
  const { id } = raw;
  return id === null || typeof id === "string" || (typeof id === "number" && Number.isFinite(id)) ? id : undefined;
}

/**
 * Returns the message in the form of our records: with a text as id, and without positional params, which are refused
 * later.
 */
function toRecord(raw: JsonObject, given: WireId | undefined): JsonObject {
  const { params, ...rest } = raw;
  const named = Array.isArray(params) || params === undefined ? rest : raw;
  return given === undefined ? named : { ...named, id: "given" };
}

interface NamedCall {
  readonly method: string;
  readonly params?: JsonObject | undefined;
  readonly isNamed: boolean;
}

/** Returns the answer without its id, which the caller of this function adds. */
async function answerRequest(
  { method: name, params = {}, isNamed }: NamedCall,
  call: Call,
  edge: Edge,
): Promise<object> {
  const method = rpcMethods.get(name);
  if (method === undefined) return createErrorResponse(null, codes.method, `there is no method ${name}`);
  if (!isNamed) return createErrorResponse(null, codes.params, "invalid params: they are given by name");
  try {
    edge.spend(call.get("caller"));
    const asker = { caller: call.get("caller"), trace: call.get("trace"), gone: call.req.raw.signal };
    return createSuccessResponse("", { ...(await method.run(edge, params, asker)) });
  } catch (thrown) {
    return answerError(errorOf(thrown, edge.options.logger));
  }
}

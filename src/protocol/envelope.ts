/**
 * The JSON-RPC 2.0 envelope: making, checking and matching messages, and the rendering of Signals and Results.
 *
 * Owns: the rules that tell the kinds of messages apart, and toEnvelope / fromEnvelope. Never: sends or waits;
 * matchResponseToRequest looks into a pool and leaves it as it is.
 * 1.  Every Signal and Result has a rendering that validates and from which it is rebuilt.
 * 2.  An invalid message is refused with an error response of code -32600; batches and mixed shapes are invalid.
 */
import { kernelError } from "../contract/error-codes.ts";
import { generateId, type IdSource } from "../contract/ids.ts";
import { isPlainObject, type JsonObject } from "../contract/json.ts";
import { boundError, raise } from "../contract/kernel-error.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { Result } from "../contract/result.ts";
import { RpcErrorResponse, type RpcMessage, RpcNotification, RpcRequest, RpcSuccess } from "../contract/rpc.ts";
import { isSignal, reviveSignal, type Signal } from "../contract/signal.ts";
import { errorToJsonrpcError } from "./error-to-jsonrpc-error.ts";
import { signalMethod, signalToNotification } from "./signal-to-notification.ts";

const invalidRequest = -32600;

/** Carries the error response to an invalid message; `response.id` is null when the message had no usable id. */
export class ErrorResponseException extends Error {
  readonly response: RpcErrorResponse;

  constructor(response: RpcErrorResponse) {
    super(`${response.error.code}: ${response.error.message}`);
    this.name = "ErrorResponseException";
    this.response = response;
  }
}

/** Returns the message, typed by which of method, id, result and error it has. Throws ErrorResponseException. */
export function validateMessageEnvelope(raw: unknown): RpcMessage {
  const checked = tryValidateMessageEnvelope(raw);
  if ("message" in checked) return checked.message;
  throw new ErrorResponseException(checked.refusal);
}

/** Validates in the same way, and returns the refusal instead of throwing it. */
export function tryValidateMessageEnvelope(
  raw: unknown,
): { readonly message: RpcMessage } | { readonly refusal: RpcErrorResponse } {
  if (!isPlainObject(raw)) return { refusal: refuse(null, "a message is one JSON object; batches are not taken", []) };
  const schema = selectSchema(raw);
  if (schema === null) return { refusal: refuse(raw, "neither request, notification nor response", []) };
  const parsed = schema.safeParse(raw);
  if (parsed.success) return { message: parsed.data };
  const invalid = parsed.error.issues.map((issue) => issue.path.join(".") || issue.message);
  return { refusal: refuse(raw, "malformed message", invalid) };
}

function selectSchema(
  raw: JsonObject,
): typeof RpcRequest | typeof RpcNotification | typeof RpcSuccess | typeof RpcErrorResponse | null {
  const has = (key: string) => Object.hasOwn(raw, key);
  const shape = ["method", "id", "result", "error"].filter(has).join("+");
  switch (shape) {
    case "method+id":
      return RpcRequest;
    case "method":
      return RpcNotification;
    case "id+result":
      return RpcSuccess;
    case "id+error":
      return RpcErrorResponse;
    default:
      return null;
  }
}

function refuse(raw: JsonObject | null, reason: string, invalid: readonly string[]): RpcErrorResponse {
  const id = typeof raw?.["id"] === "string" && raw["id"] !== "" ? raw["id"] : null;
  const keys = raw === null ? [] : Object.keys(raw).slice(0, 16);
  return createErrorResponse(id, invalidRequest, `invalid request: ${reason}`, { invalid, keys });
}

/** Makes a Request with a fresh id of the entity type (default "request"); params only when given. */
export function createRequest(
  method: string,
  params?: JsonObject | null,
  entityType = "request",
  options: { readonly ids?: IdSource } = {},
): RpcRequest {
  const id = options.ids?.next(entityType) ?? generateId(entityType);
  return { jsonrpc: "2.0", id, method, ...(params != null && { params }) };
}

/** Makes a Notification: no id, params only when given. */
export function createNotification(method: string, params?: JsonObject | null): RpcNotification {
  return { jsonrpc: "2.0", method, ...(params != null && { params }) };
}

/** Makes the success answer to that request. */
export function createSuccessResponse(requestId: string, result: JsonObject): RpcSuccess {
  return { jsonrpc: "2.0", id: requestId, result };
}

/** Makes the error answer to that request, or to an unidentifiable one: then the id is null. */
export function createErrorResponse(
  requestId: string | null,
  code: number,
  message: string,
  data?: JsonObject | null,
): RpcErrorResponse {
  return { jsonrpc: "2.0", id: requestId, error: { code, message, ...(data !== undefined && { data }) } };
}

/** Returns the first answer in the pool with that id, by reference, or null if none has arrived. */
export function matchResponseToRequest(
  requestId: string,
  responsePool: readonly RpcMessage[],
): RpcSuccess | RpcErrorResponse | null {
  for (const message of responsePool) {
    if ("method" in message || message.id !== requestId) continue;
    return message;
  }
  return null;
}

/**
 * `expectsReply`: renders a Signal as a Request with the Signal's id. `requestId`: the id that a Result answers;
 * without it the parent of its first Signal, else a fresh one.
 */
export type EnvelopeOptions = { readonly expectsReply?: boolean; readonly requestId?: string; readonly ids?: IdSource };

/** Renders a Signal as Request or Notification, a Result as success or error response. */
export function toEnvelope(value: Signal | Result, options: EnvelopeOptions = {}): RpcMessage {
  if (!isSignal(value)) return renderResult(value, options);
  const { expectsReply = false } = options;
  return expectsReply
    ? { jsonrpc: "2.0", id: value.id, method: signalMethod(value), params: { ...value } }
    : signalToNotification(value);
}

function renderResult(result: Result, options: EnvelopeOptions): RpcMessage {
  const id = options.requestId ?? (result.signals[0]?.parent_id || drawRequestId(options.ids));
  const error = result.error === null ? null : boundError(result.error);
  const plain = { ...result, error, signals: result.signals.map((signal) => ({ ...signal })) };
  if (result.status !== "error" || result.error === null) return createSuccessResponse(id, plain);
  const { code, message, data } = errorToJsonrpcError(result.error);
  const kernel = { ...(data?.["kernel"] as JsonObject), result: plain };
  return createErrorResponse(id, code, message, { ...data, kernel });
}

function drawRequestId(ids: IdSource | undefined): string {
  return ids === undefined ? generateId("request") : ids.next("request");
}

const fromRef = moduleRef(0, "envelope", "from_envelope");

/**
 * Returns the Signal or Result that a kernel envelope renders. Throws an input KernelErrorException for any other
 * message; a foreign tool's messages go through the bridges.
 */
export function fromEnvelope(message: RpcMessage): Signal | Result {
  if ("method" in message) return fromMethod(message);
  const plain = "result" in message ? message.result : readKernelResult(message);
  const parsed = Result.safeParse(plain);
  return parsed.success ? parsed.data : refuseMalformed("the answer does not carry a Result");
}

function fromMethod({ method, params }: RpcRequest | RpcNotification): Signal {
  if (!method.startsWith("kernel/signal/")) refuseMalformed(`method ${method} does not carry a Signal`);
  return reviveSignal(params);
}

function readKernelResult({ error }: RpcErrorResponse): unknown {
  const kernel = error.data?.["kernel"];
  return isPlainObject(kernel) ? kernel["result"] : undefined;
}

function refuseMalformed(reason: string): never {
  raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `envelope: ${reason}`, fromRef));
}

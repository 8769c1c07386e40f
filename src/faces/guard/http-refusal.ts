/**
 * Statuses and headers of HTTP beside the messages of 2026-07-28: of refusals, and of repeated parameters.
 */
import { SdkHttpError } from "@modelcontextprotocol/client";
import { isJSONRPCErrorResponse, type JSONRPCErrorResponse, type JSONRPCRequest } from "@modelcontextprotocol/server";
import { isPlainObject } from "../../contract/json.ts";
import { decodeHeader } from "../mcp/check-param-headers.ts";

type Refusal = JSONRPCErrorResponse["error"];

/** Returns the error of the protocol with which a server refused a request by an HTTP status; null if there is none. */
export function readHttpRefusal(thrown: unknown): Refusal | null {
  if (!(thrown instanceof SdkHttpError)) return null;
  const { text } = thrown.data as { readonly text?: unknown };
  try {
    const body: unknown = JSON.parse(String(text));
    // A refusal outside any request has the id null.
    const { id, ...refusal } = isPlainObject(body) ? body : {};
    const message = id === null ? refusal : body;
    return isJSONRPCErrorResponse(message) ? message.error : null;
  } catch {
    return null;
  }
}

/** Returns the headers that repeat parameters of a call. */
export const paramHeadersOf = (headers: Headers | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries([...(headers ?? [])].filter(([name]) => name.startsWith("mcp-param-")));

/** The parameter that `Mcp-Name` repeats, by method. */
const named: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** Returns why the headers `Mcp-Method` and `Mcp-Name` do not repeat the request; null if they do. */
export function findMismatch({ method, params }: JSONRPCRequest, headers: Headers): string | null {
  if (headers.get("mcp-method")?.trim() !== method) return "Mcp-Method is not the method of the request";
  const member = named[method];
  const value = member === undefined ? undefined : params?.[member];
  if (typeof value !== "string") return null;
  const sent = headers.get("mcp-name");
  const isSame = sent !== null && decodeHeader(sent.trim()) === value;
  return isSame ? null : `Mcp-Name is not the ${member} of the request`;
}

/** The HTTP status of errors that say that a request cannot be served: by their codes of JSON-RPC. */
const statuses: Readonly<Record<number, number>> = {
  [-32700]: 400,
  [-32600]: 400,
  [-32601]: 404,
  [-32020]: 400,
  [-32021]: 400,
  [-32022]: 400,
};

/** Returns a response with the status of its error. A stream, and a result, stay as they are. */
export async function withStatus(response: Response): Promise<Response> {
  if (response.status !== 200 || !(response.headers.get("content-type") ?? "").startsWith("application/json"))
    return response;
  const body = (await response.json()) as { readonly error?: Partial<Refusal> };
  return Response.json(body, { status: statuses[body.error?.code ?? 0] ?? 200, headers: response.headers });
}

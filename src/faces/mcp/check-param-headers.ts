/**
 * Headers that repeat parameters of a call (`Mcp-Param-…` of 2026-07-28, Streamable HTTP): a proxy has read the same
 * values that the request has. `Mcp-Method` and `Mcp-Name` are checked by the SDK; these it checks only for servers
 * that keep their tools with it.
 *
 * 1.  A property of a tool's input with `x-mcp-header`, however deep, is in its header wherever it is in the arguments.
 * 2.  A header in the Base64 form is decoded first; one that cannot be is refused as one that differs is.
 */
import { Buffer, isUtf8 } from "node:buffer";
import type { JSONRPCRequest } from "@modelcontextprotocol/server";
import { isPlainObject, type JsonObject } from "../../contract/json.ts";
import { errorWith } from "../../protocol/relayed-message.ts";

const decimal = /^-?\d+(\.\d+)?$/;
/** HeaderMismatch of JSON-RPC: a header does not say what the request says. */
export const headerMismatch = -32_020;

/** Returns the refusal of a call whose headers and arguments disagree; null if they agree. */
export function refuseHeaders(
  { id, params }: Pick<JSONRPCRequest, "id" | "params">,
  inputSchema: JsonObject,
  headers: Headers,
): Response | null {
  for (const [header, value] of declared(inputSchema, params?.["arguments"])) {
    const name = `Mcp-Param-${header}`;
    const why = whyNot(headers.get(name), value);
    if (why === null) continue;
    const error = { code: headerMismatch, message: `${name} ${why}`, data: { mismatch: { header: name } } };
    return Response.json(errorWith(id, error), { status: 400 });
  }
  return null;
}

/** Headers that the arguments ask for, with the argument of each. */
function* declared(schema: unknown, value: unknown): Generator<readonly [header: string, value: string | number]> {
  if (!isPlainObject(schema) || value === undefined || value === null) return;
  const { "x-mcp-header": header, properties } = schema;
  if (typeof header === "string" && typeof value !== "object")
    yield [header, typeof value === "number" ? value : String(value)];
  if (!isPlainObject(properties) || !isPlainObject(value)) return;
  for (const [name, property] of Object.entries(properties))
    if (Object.hasOwn(value, name)) yield* declared(property, value[name]);
}

function whyNot(sent: string | null, value: string | number): string | null {
  if (sent === null) return "is missing";
  const text = decodeHeader(sent);
  if (text === null) return "is no valid Base64";
  const isSame = typeof value === "number" && decimal.test(text) ? Number(text) === value : text === String(value);
  return isSame ? null : "is not what the arguments say";
}

/** Decodes `=?base64?…?=` in UTF-8, or returns the text as it is; null if it cannot be decoded. */
export function decodeHeader(sent: string): string | null {
  const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(sent) ?? [];
  if (encoded === undefined) return sent;
  const bytes = Buffer.from(encoded, "base64");
  return bytes.toString("base64") === encoded && isUtf8(bytes) ? bytes.toString() : null;
}

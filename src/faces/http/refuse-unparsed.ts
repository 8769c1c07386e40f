/**
 * Refusals by Node's own parser, before there is a request: problem documents like all others, written to the socket
 * itself.
 *
 * 1.  Nothing is written into an answer that has begun; such a connection is closed.
 */
import type { Duplex } from "node:stream";
import { type ErrorCode, errorCodes, kernelError } from "../../contract/error-codes.ts";
import { generateId } from "../../contract/ids.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { errorToProblemDetails } from "../../protocol/error-to-problem-details.ts";

const refuseRef = moduleRef(0, "http", "refuse_unparsed");

/** A refusal as a status, headers and a body, for where there is no Response to make. */
export interface RawRefusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function makeRefusal(code: ErrorCode, reason: string): RawRefusal {
  const instance = generateId("request");
  const body = JSON.stringify(errorToProblemDetails(kernelError(code, reason, refuseRef), { instance }));
  const headers = {
    "content-type": "application/problem+json",
    "content-length": String(Buffer.byteLength(body)),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-request-id": instance,
    connection: "close",
  };
  return { status: errorCodes[code].http, headers, body };
}

/** Refusals by the parser's codes; an unknown code means a request that cannot be read. */
const refusals: ReadonlyMap<string, readonly [code: ErrorCode, reason: string]> = new Map([
  ["HPE_HEADER_OVERFLOW", ["T0_HTTP_HEADERS_TOO_LARGE", "the headers are larger than maxHeaderBytes"]],
  ["HPE_CHUNK_EXTENSIONS_OVERFLOW", ["T0_VALIDATION_PAYLOAD_TOO_LARGE", "the extensions of a chunk are too large"]],
  ["ERR_HTTP_REQUEST_TIMEOUT", ["T0_HTTP_REQUEST_TIMEOUT", "the request did not come in time"]],
]);
const unreadable = ["T0_HTTP_REQUEST_MALFORMED", "this is no request of HTTP/1.1"] as const;

/** Refuses a request that the parser refused. `isAnswered`: an answer has begun on this connection. */
export function refuseUnparsed({ code = "" }: NodeJS.ErrnoException, socket: Duplex, isAnswered: boolean): void {
  if (socket.writableEnded) return;
  if (code === "ECONNRESET" || !socket.writable || isAnswered) return void socket.destroy();
  const refusal = makeRefusal(...(refusals.get(code) ?? unreadable));
  socket.end(toBytes(refusal), () => socket.destroy());
}

/** Refuses CONNECT, which asks for a tunnel. */
export function refuseTunnel(socket: Duplex): void {
  socket.end(toBytes(makeRefusal("T0_HTTP_REQUEST_MALFORMED", "this server is no proxy")), () => socket.destroy());
}

const reasons: Readonly<Record<number, string>> = {
  408: "Request Timeout",
  413: "Payload Too Large",
  431: "Request Header Fields Too Large",
};

function toBytes({ status, headers, body }: RawRefusal): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${reasons[status] ?? "Bad Request"}`, ...lines, "", body].join("\r\n");
}

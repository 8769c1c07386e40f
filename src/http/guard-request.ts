/**
 * What node's parser lets through and another server might read otherwise: such a request is refused before anybody reads it.
 *
 * G1  A header that must stand once stands once; a body has one length; a target names the host that the request is for.
 * G2  An answer that its client does not take is cut off.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { kernelError } from "../contract/error-codes.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { errorToProblemDetails } from "../protocol/error-to-problem-details.ts";

const single: ReadonlySet<string> = new Set([
  "authorization",
  "content-length",
  "content-type",
  "host",
  "origin",
  "transfer-encoding",
]);

/** Why the request is ambiguous, or null. */
function findAmbiguity({ rawHeaders, headers, url = "" }: IncomingMessage): string | null {
  const names = rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
  const twice = names.find((name, i) => single.has(name) && names.indexOf(name) !== i);
  if (twice !== undefined) return `the header ${twice} stands there twice`;
  const encoding = headers["transfer-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "chunked") return "the transfer encoding is not chunked";
  const { host = "" } = headers;
  if (!hostPattern.test(host) || !URL.canParse(`http://${host}`)) return "the header host names no host";
  if (url.startsWith("/")) return null;
  const isOurs = /^https?:/i.test(url) && URL.canParse(url) && new URL(url).host === new URL(`http://${host}`).host;
  return isOurs ? null : "the target is no path, and no address of this host";
}

/** A name, or an address in brackets, and a port. */
const hostPattern = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

type Listener = (incoming: IncomingMessage, outgoing: ServerResponse) => unknown;

/** Lets through what can be read in one way only. */
export function guardRequests(listener: Listener, responseTimeoutMs: number): Listener {
  return (incoming, outgoing) => {
    const ambiguity = findAmbiguity(incoming);
    if (ambiguity !== null) return refuse(outgoing, ambiguity);
    cutWhenNotTaken(outgoing, responseTimeoutMs);
    return listener(incoming, outgoing);
  };
}

function refuse(outgoing: ServerResponse, reason: string): void {
  const error = kernelError("T0_VALIDATION_SCHEMA_MISMATCH", reason, moduleRef(0, "http", "guard_request"));
  outgoing.writeHead(400, { "content-type": "application/problem+json", connection: "close" });
  outgoing.end(JSON.stringify(errorToProblemDetails(error)));
}

/** All is said, and the client has so long to take it. */
function cutWhenNotTaken(outgoing: ServerResponse, responseTimeoutMs: number): void {
  outgoing.once("prefinish", () => {
    const { socket } = outgoing;
    if (socket === null || socket.writableLength === 0) return;
    const timer = setTimeout(() => socket.destroy(), responseTimeoutMs);
    outgoing.once("close", () => clearTimeout(timer));
  });
}

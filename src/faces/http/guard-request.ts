/**
 * Refuses requests that node's parser accepts and another server might read differently, before any code reads them.
 *
 * 1.  A header that must be single occurs once; a body has one length; a target names the host of the request.
 * 2.  An answer that its client does not take is cut off.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { makeRefusal } from "./refuse-unparsed.ts";

const single: ReadonlySet<string> = new Set([
  "authorization",
  "content-length",
  "content-type",
  "host",
  "origin",
  "transfer-encoding",
]);

/** Returns why the request is ambiguous, or null. */
function findAmbiguity({ rawHeaders, headers, url = "" }: IncomingMessage): string | null {
  const names = rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
  const twice = names.find((name, i) => single.has(name) && names.indexOf(name) !== i);
  if (twice !== undefined) return `the header ${twice} stands there twice`;
  const encoding = headers["transfer-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "chunked") return "the transfer encoding is not chunked";
  const { host = "" } = headers;
  if (!hostPattern.test(host) || !URL.canParse(`http://${host}`)) return "the header host names no host";
  if (url.startsWith("/")) return null;
  // Nothing arrives by https over this connection, whatever the target states.
  const isOurs = /^http:/i.test(url) && URL.canParse(url) && new URL(url).host === new URL(`http://${host}`).host;
  return isOurs ? null : "the target is no path, and no address of this host";
}

/** A name, or an address in brackets, and a port. */
const hostPattern = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

type Listener = (incoming: IncomingMessage, outgoing: ServerResponse) => unknown;

/** Passes on requests that can be read in one way only. */
export function guardRequests(listener: Listener, responseTimeoutMs: number): Listener {
  return (incoming, outgoing) => {
    const ambiguity = findAmbiguity(incoming);
    answers.set(incoming.socket, outgoing);
    if (ambiguity !== null) return refuse(outgoing, ambiguity);
    cutWhenNotTaken(outgoing, responseTimeoutMs);
    return listener(incoming, outgoing);
  };
}

function refuse(outgoing: ServerResponse, reason: string): void {
  const { status, headers, body } = makeRefusal("T0_HTTP_REQUEST_MALFORMED", reason);
  outgoing.writeHead(status, headers);
  outgoing.end(body);
}

/** The answer that a connection is at. */
const answers = new WeakMap<Duplex, ServerResponse>();

export function isAnswered(socket: Duplex): boolean {
  const { headersSent = false, writableFinished = true } = answers.get(socket) ?? {};
  return headersSent && !writableFinished;
}

/** Returns the answer that is under way on a connection; undefined if there is none. */
export function answerUnderWay(socket: Duplex): ServerResponse | undefined {
  const answer = answers.get(socket);
  return answer?.writableFinished === false ? answer : undefined;
}

/** Limits the time that the client has to take a complete answer. */
function cutWhenNotTaken(outgoing: ServerResponse, responseTimeoutMs: number): void {
  outgoing.once("prefinish", () => {
    const { socket } = outgoing;
    if (socket === null || socket.writableLength === 0) return;
    const timer = setTimeout(() => socket.destroy(), responseTimeoutMs);
    outgoing.once("close", () => clearTimeout(timer));
  });
}

/**
 * Posts a text to an address of the host's choosing, and to no other.
 *
 * 1.  A redirect is followed to the same origin only, and only if it keeps method and body.
 * 2.  If private addresses are not allowed, the connection uses the very address that was checked: a name may point
 *     elsewhere a moment later. Plain http is for private addresses.
 * 3.  No message names more of an address than its host, because the rest may be a secret.
 */
import { lookup } from "node:dns";
import { type IncomingMessage, type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { type ErrorCode, kernelError } from "../../contract/error-codes.ts";
import { KernelErrorException, raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { readRetryAfterMs } from "../../protocol/read-retry-after.ts";

export interface Address {
  readonly url: URL;
  readonly allowPrivate: boolean;
}

export interface Posted {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
  /** The limit on the bytes of the answer's body that are read; none are read by default. */
  readonly maxAnswerBytes?: number;
}

const postRef = moduleRef(6, "notifiers", "post_text");
const maxRedirects = 3;

/**
 * Posts, and returns the answer's body if the answer is 2xx. @throws KernelErrorException T6_NOTICE_REFUSED,
 * _REDIRECTED, _ADDRESS; errors of the network.
 */
export async function postText({ url, allowPrivate }: Address, posted: Posted): Promise<string> {
  let at = url;
  for (let redirects = 0; ; redirects += 1) {
    const { status, location, retryAfterMs, body } = await send(at, allowPrivate, posted);
    if (status >= 200 && status < 300) return body;
    if (status < 300 || status >= 400)
      return refuse("T6_NOTICE_REFUSED", `${at.host} answered ${status}`, { status, ...toPause(retryAfterMs) });
    at = redirectOf(at, location, status);
    if (redirects === maxRedirects) refuse("T6_NOTICE_REDIRECTED", `${at.host} redirects without end`, { status });
  }
}

/** Returns the target of a redirect. @throws KernelErrorException T6_NOTICE_REDIRECTED. */
function redirectOf(from: URL, location: string, status: number): URL {
  const to = URL.canParse(location, from.href) ? new URL(location, from) : null;
  if (to?.origin === from.origin && (status === 307 || status === 308)) return to;
  return refuse("T6_NOTICE_REDIRECTED", `${from.host} redirects to ${to?.host ?? "nowhere"} (${status})`, { status });
}

interface Answer {
  readonly status: number;
  readonly location: string;
  readonly retryAfterMs: number | null;
  readonly body: string;
}

async function send(url: URL, allowPrivate: boolean, posted: Posted): Promise<Answer> {
  const { headers, body, signal, maxAnswerBytes = 0 } = posted;
  const guard = allowPrivate ? {} : guardAddress(url);
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  const length = { "content-length": String(Buffer.byteLength(body)) };
  const options: RequestOptions = {
    method: "POST",
    headers: { ...headers, ...length },
    signal,
    agent: false,
    ...guard,
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, options, (answer) => {
      if (maxAnswerBytes > 0) return void readAnswer(answer, maxAnswerBytes).then(resolve, reject);
      // Only the head of the answer is used; its body is discarded.
      answer.on("error", () => undefined).resume();
      resolve({ ...headOf(answer), body: "" });
    });
    sent.on("error", reject).end(body);
  });
}

/** Reads the answer up to the limit; the connection is then closed. */
async function readAnswer(answer: IncomingMessage, maxBytes: number): Promise<Answer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) break;
  }
  return { ...headOf(answer), body: Buffer.concat(chunks).subarray(0, maxBytes).toString("utf8") };
}

const headOf = ({ statusCode = 0, headers }: IncomingMessage): Omit<Answer, "body"> => ({
  status: statusCode,
  location: headers.location ?? "",
  retryAfterMs: readRetryAfterMs(headers),
});

const toPause = (pauseMs: number | null): { readonly retry_after_ms?: number } =>
  pauseMs === null ? {} : { retry_after_ms: pauseMs };

/**
 * Guards an address. @throws KernelErrorException T6_NOTICE_ADDRESS, for an address that is a number; names are checked
 * when they are looked up.
 */
function guardAddress({ hostname }: URL): { readonly lookup: LookupFunction } {
  const literal = hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(literal) !== 0 && isPrivate(literal)) refusePrivate(literal);
  return {
    lookup: (name, options, callback) =>
      lookup(name, { ...options, all: true }, (error, addresses) => {
        const inside = error === null && addresses.some(({ address }) => isPrivate(address));
        const [first] = addresses ?? [];
        if (error !== null || inside || first === undefined) callback(error ?? privateError(name), "", 0);
        else if (options.all === true) callback(null, addresses);
        else callback(null, first.address, first.family);
      }),
  };
}

const privateError = (host: string): KernelErrorException =>
  new KernelErrorException(kernelError("T6_NOTICE_ADDRESS", `${host} is a private address`, postRef));

const refusePrivate = (host: string): never => {
  throw privateError(host);
};

/**
 * Networks outside the public internet: this machine, private and shared networks, links, multicast, documentation,
 * translations.
 */
const nonPublic: readonly (readonly [net: string, prefix: number, family: "ipv4" | "ipv6"])[] = [
  ["0.0.0.0", 8, "ipv4"],
  ["10.0.0.0", 8, "ipv4"],
  ["100.64.0.0", 10, "ipv4"],
  ["127.0.0.0", 8, "ipv4"],
  ["169.254.0.0", 16, "ipv4"],
  ["172.16.0.0", 12, "ipv4"],
  ["192.0.0.0", 24, "ipv4"],
  ["192.0.2.0", 24, "ipv4"],
  ["192.168.0.0", 16, "ipv4"],
  ["198.18.0.0", 15, "ipv4"],
  ["198.51.100.0", 24, "ipv4"],
  ["203.0.113.0", 24, "ipv4"],
  ["224.0.0.0", 3, "ipv4"],
  ["::", 96, "ipv6"],
  ["64:ff9b::", 16, "ipv6"],
  ["100::", 64, "ipv6"],
  ["2001::", 23, "ipv6"],
  ["2001:db8::", 32, "ipv6"],
  ["2002::", 16, "ipv6"],
  ["fc00::", 7, "ipv6"],
  ["fe80::", 9, "ipv6"],
  ["ff00::", 8, "ipv6"],
];

const blocked = new BlockList();
for (const [net, prefix, family] of nonPublic) blocked.addSubnet(net, prefix, family);

/** Returns whether an address is private. @param address in a form that `isIP` recognises */
export const isPrivate = (address: string): boolean => blocked.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");

const refuse = (
  code: ErrorCode,
  message: string,
  detail: { readonly status: number; readonly retry_after_ms?: number },
): never => raise(kernelError(code, message, postRef, { detail: { ...detail } }));

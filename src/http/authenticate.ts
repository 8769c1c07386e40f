/**
 * Who calls: the host's hook, then a bearer (static tokens, then JWTs), then the cookie of a session; the first that knows
 * the caller wins.
 *
 * A1  What cannot be read, and a hook that throws, is nobody. Nothing says which part of a credential was wrong.
 * A2  A token is compared by its digest, in constant time, with every token there is.
 * A3  A request that carries a bearer is the bearer's, whatever cookie comes with it: what it may do does not depend on
 *     what a browser adds.
 * A4  Tokens that a host chose may be guessed: while the allowance for failed calls is spent, those that were used here
 *     before go through and no others. Signatures and secrets of 256 bits cannot be guessed, and go through.
 */
import { hash, timingSafeEqual } from "node:crypto";
import type { CookieProof } from "./check-origin.ts";
import {
  bearerPattern,
  HookAnswer,
  type HttpCaller,
  type ResolvedHttpOptions,
  type StaticToken,
} from "./http-options.ts";
import { type Allowance, refuseRate } from "./limit-rate.ts";
import { readCookie } from "./session-cookie.ts";
import type { Sessions } from "./sessions.ts";
import { jwtVerifier } from "./verify-jwt.ts";

/** A caller, and how they were known. */
export interface Known {
  readonly caller: HttpCaller;
  readonly via: "session" | "token" | "host";
  /** What a request that changes something must show; null where no browser sends the credential by itself. */
  readonly proof: CookieProof | null;
  /** Epoch ms; null where the edge does not know. */
  readonly expiresAt: number | null;
}

export interface Credentials {
  readonly sessions: Sessions | null;
  /** For calls that failed, of all who are not known together. */
  readonly failures: Allowance;
  /** The origin that the request's pages have. */
  readonly ownOrigin: (request: Request) => string;
}

type Find<T> = (found: T) => HttpCaller | null | Promise<HttpCaller | null>;

/** @throws KernelErrorException T0_HTTP_RATE_LIMIT. */
export function createAuthentication(
  options: ResolvedHttpOptions,
  { sessions, failures, ownOrigin }: Credentials,
): (request: Request) => Promise<Known | null> {
  const { authenticate, tokens = [], jwt, clock, logger } = options;
  const findToken = tokenFinder(tokens, failures);
  const findJwt: Find<string> = jwt === undefined ? () => null : jwtVerifier(jwt, clock);
  const nobody = (thrown: unknown): null => {
    logger?.error({ thrown }, "the authentication of a request failed");
    return null;
  };
  const askHook = async (request: Request): Promise<Known | null> => knownByHost(await authenticate?.(request));
  const findBearer = async (token: string): Promise<Known | null> =>
    knownByToken(findToken(token) ?? (await Promise.resolve(findJwt(token)).catch(nobody)));
  return async (request) => {
    const authorization = request.headers.get("authorization");
    const known = await askHook(request).catch(nobody);
    if (known !== null && (known.proof === null || authorization === null)) return known;
    if (authorization !== null) return findBearer(readBearer(authorization));
    return sessions === null ? null : findSession(readCookie(request, ownOrigin(request)), sessions);
  };
}

/** What stands behind `Bearer`; empty for anything else. */
function readBearer(authorization: string): string {
  const [, token = ""] = /^Bearer +(.*)$/i.exec(authorization) ?? [];
  return bearerPattern.test(token) ? token : "";
}

function knownByHost(answer: unknown): Known | null {
  if (answer === null || answer === undefined) return null;
  const { via, csrf_token: csrfToken = null, ...caller } = HookAnswer.parse(answer);
  return { caller, via: "host", proof: via === "cookie" ? { csrfToken } : null, expiresAt: null };
}

const knownByToken = (caller: HttpCaller | null): Known | null =>
  caller === null ? null : { caller, via: "token", proof: null, expiresAt: null };

function findSession(secret: string | null, sessions: Sessions): Known | null {
  const session = secret === null ? null : sessions.find(secret);
  if (session === null) return null;
  const { caller, csrfToken, expiresAt } = session;
  return { caller, via: "session", proof: { csrfToken }, expiresAt };
}

const digestOf = (text: string): Buffer => hash("sha256", text, "buffer");

function tokenFinder(tokens: readonly StaticToken[], failures: Allowance): (token: string) => HttpCaller | null {
  const known = tokens.map(({ token, ...caller }) => ({ digest: digestOf(token), caller, isProven: false }));
  return (token) => {
    const digest = digestOf(token);
    let found: (typeof known)[number] | null = null;
    for (const one of known) if (timingSafeEqual(digest, one.digest)) found = one;
    if (found === null) return null;
    if (!found.isProven && failures.isSpent()) refuseRate("maxFailedCallsPerSecond");
    found.isProven = true;
    return found.caller;
  };
}

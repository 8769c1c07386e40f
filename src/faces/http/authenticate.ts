/**
 * Identifies the caller: by the host's hook, then a bearer (static tokens, then JWTs), then the cookie of a session;
 * the first that knows the caller wins.
 *
 * 1.  An unreadable credential, and a hook that throws, identify nobody. No answer shows which part of a credential was
 *     wrong.
 * 2.  A token is compared by its digest, in constant time, with every known token.
 * 3.  A request that carries a bearer is the bearer's, whatever cookie comes with it: its rights do not depend on what
 *     a browser adds.
 * 4.  Tokens that a host chose may be guessed: while the allowance for failed calls is spent, only those that were used
 *     here before are accepted. Signatures and secrets of 256 bits cannot be guessed, and are always checked.
 * 5.  Requests that a page makes by itself keep no session from being idle: it opens a stream, or sends `session-use:
 *     none`.
 * 6.  A caller is known until the credential ends: by its own time, by an explicit end (signing out, revoking), or
 *     because the host's hook, called again every `recheckMs` while a stream is open, gives another answer.
 */
import { hash, timingSafeEqual } from "node:crypto";
import { canonicalJson } from "../../contract/digest.ts";
import type { CookieProof } from "./check-origin.ts";
import { askedAgain, createEnders, endingAt, type Watch } from "./credential-end.ts";
import { bearerPattern, HookAnswer, HttpCaller, type ResolvedHttpOptions, type StaticToken } from "./http-options.ts";
import { type Allowance, refuseRate } from "./limit-rate.ts";
import { readCookie } from "./session-cookie.ts";
import type { Sessions } from "./sessions.ts";
import { jwtVerifier } from "./verify-jwt.ts";

/** A caller, and how they were known. */
export interface Authenticated {
  readonly caller: HttpCaller;
  readonly via: "session" | "token" | "host";
  /** The proof that a changing request must carry; null if no browser sends the credential by itself. */
  readonly proof: CookieProof | null;
  /** Epoch ms; null where the edge does not know. */
  readonly expiresAt: number | null;
  /** Watches for the end of the credential: streams that were opened with it end then. */
  readonly watch: Watch;
}

export interface Credentials {
  readonly sessions: Sessions | null;
  /** The allowance for failed calls, shared by all unknown callers. */
  readonly failures: Allowance;
  /** The origin that the request's pages have. */
  readonly ownOrigin: (request: Request) => string;
}

export interface Authentication {
  /** @throws KernelErrorException T0_HTTP_RATE_LIMIT. */
  readonly authenticate: (request: Request) => Promise<Authenticated | null>;
  readonly revoke: (token: string) => boolean;
}

export function createAuthentication(
  options: ResolvedHttpOptions,
  { sessions, failures, ownOrigin }: Credentials,
): Authentication {
  const { authenticate, tokens = [], jwt, clock, logger, recheckMs } = options;
  const known = keepTokens(tokens, failures);
  const findJwt = jwt === undefined ? null : jwtVerifier(jwt, clock);
  const nobody = (thrown: unknown): null => {
    logger?.error({ thrown }, "the authentication of a request failed");
    return null;
  };
  const askHook = async (request: Request): Promise<Authenticated | null> => {
    const found = readAnswer(await authenticate?.(request));
    if (found === null) return null;
    const stands = async (): Promise<boolean> => isSameCaller(found, readAnswer(await authenticate?.(request)));
    return knownByHost(found, askedAgain(clock, recheckMs, stands));
  };
  const findBearer = async (token: string): Promise<Authenticated | null> => {
    const found = known.find(token);
    if (found !== null) return found;
    const signed = (await findJwt?.(token).catch(nobody)) ?? null;
    return signed === null ? null : knownByToken(signed.caller, endingAt(clock, signed.until));
  };
  return {
    revoke: known.revoke,
    async authenticate(request) {
      const authorization = request.headers.get("authorization");
      const caller = await askHook(request).catch(nobody);
      if (caller !== null && (caller.proof === null || authorization === null)) return caller;
      if (authorization !== null) return findBearer(readBearer(authorization));
      return sessions === null ? null : findSession(readCookie(request, ownOrigin(request)), isUse(request), sessions);
    },
  };
}

/** Returns the token after `Bearer`; empty for anything else. */
function readBearer(authorization: string): string {
  const [, token = ""] = /^Bearer +(.*)$/i.exec(authorization) ?? [];
  return bearerPattern.test(token) ? token : "";
}

const readAnswer = (answer: unknown): HookAnswer | null =>
  answer === null || answer === undefined ? null : HookAnswer.parse(answer);

function knownByHost({ via, csrf_token, ...caller }: HookAnswer, watch: Watch): Authenticated {
  const proof = via === "cookie" ? { csrfToken: csrf_token ?? null } : null;
  return { caller, via: "host", proof, expiresAt: null, watch };
}

const isSameCaller = (known: HookAnswer, now: HookAnswer | null): boolean =>
  now !== null && canonicalJson(HttpCaller.parse(now)) === canonicalJson(HttpCaller.parse(known));

const knownByToken = (caller: HttpCaller, watch: Watch): Authenticated => ({
  caller,
  via: "token",
  proof: null,
  expiresAt: null,
  watch,
});

/** Returns whether a request counts as use: a page that updates itself opens streams and reads without a person. */
const isUse = ({ headers }: Request): boolean =>
  headers.get("session-use") !== "none" && headers.get("accept") !== "text/event-stream";

async function findSession(secret: string | null, isUse: boolean, sessions: Sessions): Promise<Authenticated | null> {
  const session = secret === null ? null : await sessions.find(secret, isUse);
  if (session === null) return null;
  const { caller, csrfToken, expiresAt, watch } = session;
  return { caller, via: "session", proof: { csrfToken }, expiresAt, watch };
}

const digestOf = (text: string): Buffer => hash("sha256", text, "buffer");

interface KeptTokens {
  readonly find: (token: string) => Authenticated | null;
  readonly revoke: (token: string) => boolean;
}

function keepTokens(tokens: readonly StaticToken[], failures: Allowance): KeptTokens {
  const keep = ({ token, ...caller }: StaticToken) => {
    const enders = createEnders();
    return { digest: digestOf(token), known: knownByToken(caller, enders.watch), enders, isProven: false };
  };
  let kept = tokens.map(keep);
  /** Compares every token, also after a match. */
  const compare = (token: string): (typeof kept)[number] | null => {
    const digest = digestOf(token);
    let found: (typeof kept)[number] | null = null;
    for (const one of kept) if (timingSafeEqual(digest, one.digest)) found = one;
    return found;
  };
  return {
    find(token) {
      const found = compare(token);
      if (found === null) return null;
      if (!found.isProven && failures.isSpent()) refuseRate("maxFailedCallsPerSecond");
      found.isProven = true;
      return found.known;
    },
    revoke(token) {
      const found = compare(token);
      kept = kept.filter((one) => one !== found);
      found?.enders.end();
      return found !== null;
    },
  };
}

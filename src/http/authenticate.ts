/**
 * Who calls: the host's hook, then static tokens, then JWTs; the first that knows the caller wins.
 *
 * A1  What cannot be read, and a hook that throws, is nobody. Nothing says which part of a credential was wrong.
 * A2  A token is compared by its digest, in constant time, with every token there is.
 */
import { hash, timingSafeEqual } from "node:crypto";
import {
  type Authenticate,
  bearerPattern,
  HttpCaller,
  type ResolvedHttpOptions,
  type StaticToken,
} from "./http-options.ts";
import { jwtVerifier } from "./verify-jwt.ts";

type FindBearer = (token: string) => HttpCaller | null | Promise<HttpCaller | null>;

export function createAuthentication({
  authenticate,
  tokens = [],
  jwt,
  clock,
  logger,
}: ResolvedHttpOptions): Authenticate {
  const bearers: readonly FindBearer[] = [tokenFinder(tokens), ...(jwt === undefined ? [] : [jwtVerifier(jwt, clock)])];
  return async (request) => {
    try {
      const known = (await authenticate?.(request)) ?? null;
      return known === null ? await findBearer(request, bearers) : HttpCaller.parse(known);
    } catch (thrown) {
      logger?.error({ thrown }, "the authentication of a request failed");
      return null;
    }
  };
}

async function findBearer(request: Request, bearers: readonly FindBearer[]): Promise<HttpCaller | null> {
  const [, token = ""] = /^Bearer +(.*)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
  if (!bearerPattern.test(token)) return null;
  for (const find of bearers) {
    const caller = await find(token);
    if (caller !== null) return caller;
  }
  return null;
}

const digestOf = (text: string): Buffer => hash("sha256", text, "buffer");

function tokenFinder(tokens: readonly StaticToken[]): FindBearer {
  const known = tokens.map(({ token, ...caller }) => ({ digest: digestOf(token), caller }));
  return (token) => {
    const digest = digestOf(token);
    let found: HttpCaller | null = null;
    for (const { digest: expected, caller } of known) if (timingSafeEqual(digest, expected)) found = caller;
    return found;
  };
}

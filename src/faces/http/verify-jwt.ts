/**
 * JWT bearers over jose: signature, issuer, audience, expiry.
 *
 * 1.  The algorithms are the host's list, never the token's choice: `none` is no algorithm, and a public key is never
 *     taken for a shared one.
 * 2.  A token without expiry or subject is refused, and so is one whose claims form no caller: a `scope` that cannot be
 *     read would narrow nothing, so its token is refused.
 */
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from "jose";
import type { Clock } from "../../index.ts";
import { fetchBounded } from "./fetch-bounded.ts";
import { HttpCaller, type JwtRules } from "./http-options.ts";

/** Failures to fetch a set of keys are no fault of the token: they are logged for the operator of the server. */
const keySetFaults: ReadonlySet<string> = new Set(["ERR_JOSE_GENERIC", "ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID"]);
/** The largest set of keys that is read. */
const maxKeySetBytes = 1_000_000;
const publicAlgorithms = ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"] as const;

/** A caller, until an instant (epoch ms). */
export interface Signed {
  readonly caller: HttpCaller;
  readonly until: number;
}

/** Returns a function that reads the caller of a token and its expiry; null if the token is not valid. */
export function jwtVerifier(options: JwtRules, clock: Clock): (token: string) => Promise<Signed | null> {
  const { issuer, audience, clockToleranceSec, readCaller = readClaims } = options;
  const algorithms = [...(options.algorithms ?? (options.secret === undefined ? publicAlgorithms : ["HS256"]))];
  const key = findKey(options);
  return async (token) => {
    const checks = {
      algorithms,
      issuer: [issuer].flat(),
      audience: [audience].flat(),
      clockTolerance: clockToleranceSec,
      requiredClaims: ["exp", "sub"],
      currentDate: new Date(clock.now()),
    };
    try {
      const { payload } = await jwtVerify(token, key, checks);
      const caller = HttpCaller.safeParse(readCaller(payload)).data;
      // Without `exp` no token gets here.
      const { exp = 0 } = payload;
      return caller === undefined ? null : { caller, until: (exp + clockToleranceSec) * 1000 };
    } catch (thrown) {
      if (thrown instanceof errors.JOSEError && !keySetFaults.has(thrown.code)) return null;
      throw thrown;
    }
  };
}

function findKey({ jwks, secret, jwksTimeoutMs, jwksCooldownMs }: JwtRules): JWTVerifyGetKey {
  if (jwks instanceof URL)
    return createRemoteJWKSet(jwks, {
      timeoutDuration: jwksTimeoutMs,
      cooldownDuration: jwksCooldownMs,
      [customFetch]: (address, init) => fetchBounded(address, { maxBytes: maxKeySetBytes }, init as RequestInit),
    });
  return jwks === undefined ? async () => secret as Uint8Array : createLocalJWKSet(jwks);
}

/** Reads the claims; the check of a caller finds invalid ones. */
function readClaims({ tenant_id, sub, principal_type = "user", role, scope }: JWTPayload): HttpCaller | null {
  const scopes = typeof scope === "string" ? scope.split(" ").filter((word) => word !== "") : scope;
  const caller = { tenant_id, principal: { type: principal_type, id: sub, role } };
  return (scopes === undefined ? caller : { ...caller, scopes }) as HttpCaller;
}

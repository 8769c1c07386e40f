/**
 * JWT bearers over jose: signature, issuer, audience, expiry.
 *
 * 1.  The algorithms are the host's list, never the token's choice: `none` is no algorithm, and a public key is never
 *     taken for a shared one.
 * 2.  A token without expiry or subject is refused, and so is one whose claims form no caller: a `scope` that cannot be
 *     read would narrow nothing, so its token is refused.
 */
import { createLocalJWKSet, createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import type { Clock } from "../../index.ts";
import { HttpCaller, type JwtOptions, refuseOptions } from "./http-options.ts";

/** Failures to fetch a set of keys are no fault of the token: they are logged for the operator of the server. */
const keySetFaults: ReadonlySet<string> = new Set(["ERR_JOSE_GENERIC", "ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID"]);
const publicAlgorithms = ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"] as const;
const isShared = (algorithm: string): boolean => algorithm.startsWith("HS");

/** A caller, until an instant (epoch ms). */
export interface Signed {
  readonly caller: HttpCaller;
  readonly until: number;
}

/**
 * Returns the caller of a token, and its expiry; or null. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH
 * for bad options.
 */
export function jwtVerifier(options: JwtOptions, clock: Clock): (token: string) => Promise<Signed | null> {
  const { issuer, audience, clockToleranceSec = 5, readCaller = readClaims } = options;
  if (issuer.length === 0 || audience.length === 0) refuseOptions("jwt names an issuer and an audience");
  const algorithms = [...listAlgorithms(options)];
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

function listAlgorithms({ secret, algorithms }: JwtOptions): readonly string[] {
  const shared = secret !== undefined;
  const listed = algorithms ?? (shared ? ["HS256"] : publicAlgorithms);
  if (listed.length === 0 || listed.some((name) => name === "none" || isShared(name) !== shared))
    refuseOptions("jwt.algorithms are HMACs for a secret and public-key algorithms for a key set");
  return listed;
}

function findKey({ jwks, secret, jwksTimeoutMs = 3_000, jwksCooldownMs = 30_000 }: JwtOptions): JWTVerifyGetKey {
  if ((jwks === undefined) === (secret === undefined)) refuseOptions("jwt has either jwks or a secret");
  if (!Number.isSafeInteger(jwksTimeoutMs) || jwksTimeoutMs <= 0) refuseOptions("jwt.jwksTimeoutMs is above 0");
  if (!Number.isSafeInteger(jwksCooldownMs) || jwksCooldownMs < 0) refuseOptions("jwt.jwksCooldownMs is 0 or more");
  const asked = { timeoutDuration: jwksTimeoutMs, cooldownDuration: jwksCooldownMs };
  if (jwks !== undefined) return jwks instanceof URL ? createRemoteJWKSet(jwks, asked) : createLocalJWKSet(jwks);
  const bytes = typeof secret === "string" ? new TextEncoder().encode(secret) : (secret as Uint8Array);
  if (bytes.length < 32) refuseOptions("jwt.secret has at least 32 bytes");
  return async () => bytes;
}

/** Reads the claims; the check of a caller finds invalid ones. */
function readClaims({ tenant_id, sub, principal_type = "user", role, scope }: JWTPayload): HttpCaller | null {
  const scopes = typeof scope === "string" ? scope.split(" ").filter((word) => word !== "") : scope;
  const caller = { tenant_id, principal: { type: principal_type, id: sub, role } };
  return (scopes === undefined ? caller : { ...caller, scopes }) as HttpCaller;
}

/**
 * The known keys of the HTTP edge's options, at every depth: an unknown one is refused. A credential with misspelt
 * `scopes` would otherwise have all rights of its role.
 */
import { z } from "zod";
import { type KeysOf, readStrictly, requireKnownKeys } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { HttpLimits, HttpOptions, JwtOptions, SessionOptions, StaticToken } from "./http-options.ts";

const options = {
  authenticate: 0,
  tokens: 0,
  jwt: 0,
  sessions: 0,
  origin: 0,
  cors: 0,
  limits: 0,
  mounts: 0,
  callbacks: 0,
  heartbeatMs: 0,
  retryMs: 0,
  recheckMs: 0,
  clock: 0,
  logger: 0,
  observe: 0,
  metrics: 0,
  console: 0,
  guide: 0,
} satisfies KeysOf<Required<HttpOptions>>;

const jwt = {
  jwks: 0,
  secret: 0,
  issuer: 0,
  audience: 0,
  algorithms: 0,
  clockToleranceSec: 0,
  jwksTimeoutMs: 0,
  jwksCooldownMs: 0,
  readCaller: 0,
} satisfies KeysOf<Required<JwtOptions>>;

const sessions = { codeMs: 0, idleMs: 0, maxAgeMs: 0, home: 0, recheckMs: 0, store: 0 } satisfies KeysOf<
  Required<SessionOptions>
>;
const token = { token: 0, tenant_id: 0, principal: 0, scopes: 0 } satisfies KeysOf<Required<StaticToken>>;
const principal = { type: 0, id: 0, role: 0 } satisfies KeysOf<StaticToken["principal"]>;

const reading = { what: "createHttpApp", source: moduleRef(0, "http", "createHttpApp") };

/** Checks the keys. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH that names each unknown key. */
export function requireKnownOptions(given: HttpOptions, limits: HttpLimits): void {
  const check = (path: string, part: object | undefined, known: object): void => {
    if (part !== undefined) requireKnownKeys(part, known, { ...reading, path });
  };
  requireKnownKeys(given, options, reading);
  readStrictly(z.looseObject({ tokens: z.array(z.unknown()).optional() }), given, reading);
  check("limits", given.limits, limits);
  check("jwt", given.jwt, jwt);
  check("sessions", given.sessions, sessions);
  check("cors", given.cors, { origins: 0 });
  for (const [i, one] of (given.tokens ?? []).entries()) {
    check(`tokens.${i}`, one, token);
    check(`tokens.${i}.principal`, one.principal, principal);
  }
}

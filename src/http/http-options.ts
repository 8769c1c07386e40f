/**
 * What the HTTP edge may be told: who may call, its limits, its clock.
 *
 * Owns: the defaults, and the check that somebody may call at all.
 * Never: knows a role or a scope; T5 does. `scopes` of a credential only narrow what its principal may do here.
 */
import type { JSONWebKeySet, JWTPayload } from "jose";
import { ScopedCaller } from "../contract/auth-context.ts";
import { kernelError } from "../contract/error-codes.ts";
import { raise } from "../contract/kernel-error.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { Clock, Logger } from "../index.ts";

/** Who calls. Without `scopes` the caller may do here what the kernel grants the role. */
export const HttpCaller = ScopedCaller;
export type HttpCaller = ScopedCaller;

/** Null: these are no credentials of anybody. */
export type Authenticate = (request: Request) => HttpCaller | null | Promise<HttpCaller | null>;

/** Answers all requests to its path; `trace` is the request's id. */
export type Mount = (request: Request, caller: HttpCaller, trace: string) => Promise<Response>;

/** What may stand behind `Bearer` (RFC 6750). */
export const bearerPattern = /^[\w.~+/=-]+$/;

/** A bearer token that stands for one principal of one tenant. */
export type StaticToken = HttpCaller & { readonly token: string };

/** Signed tokens. Exactly one of `jwks` and `secret`: public keys and shared keys never stand in for each other. */
export interface JwtOptions {
  /** The keys of whoever signs: a set, or the address of one. */
  readonly jwks?: JSONWebKeySet | URL;
  /** A shared key of at least 32 bytes, for HMAC. */
  readonly secret?: string | Uint8Array;
  readonly issuer: string | readonly string[];
  readonly audience: string | readonly string[];
  /** By default HS256 for a secret, and RS256, PS256, ES256 and EdDSA (Ed25519) for a key set. */
  readonly algorithms?: readonly string[];
  /** How far clocks may differ; 5 seconds by default. */
  readonly clockToleranceSec?: number;
  /** In place of the claims `tenant_id`, `sub`, `principal_type` (default user), `role` and `scope`. */
  readonly readCaller?: (claims: JWTPayload) => HttpCaller | null;
}

export const defaultHttpLimits = {
  /** Bytes of a request's body. */
  maxBodyBytes: 1_000_000,
  /** Levels of nesting in a body. */
  maxDepth: 64,
  /** Items of one page. */
  maxPage: 500,
  /** Streams open at once. */
  maxStreams: 1024,
  /** Answers kept for repeated idempotency keys; the oldest goes first. */
  maxKeptAnswers: 10_000,
  /** Messages in one JSON-RPC batch. */
  maxBatch: 100,
} as const;
export type HttpLimits = { readonly [K in keyof typeof defaultHttpLimits]: number };

export interface HttpOptions {
  /** The host's own way to know its callers; asked before tokens and JWTs. */
  readonly authenticate?: Authenticate;
  readonly tokens?: readonly StaticToken[];
  readonly jwt?: JwtOptions;
  /** Origins whose pages may call; none by default. */
  readonly cors?: { readonly origins: readonly string[] };
  readonly limits?: Partial<HttpLimits>;
  /** Other protocols at addresses of this app, asked for any method once the caller is known. */
  readonly mounts?: Readonly<Record<string, Mount>>;
  /** A comment keeps an idle stream open this often; 15 000 ms by default. */
  readonly heartbeatMs?: number;
  /** After how long a client connects again; 1 000 ms by default. */
  readonly retryMs?: number;
  /** For heartbeats and the expiry of tokens; the machine's by default. */
  readonly clock?: Clock;
  /** Hears of failures that are nobody's fault but the server's. */
  readonly logger?: Logger;
}

const optionsRef = moduleRef(0, "http", "createHttpApp");

/** The machine's clock: the edge is where the outside world's time passes. */
const machineClock: Clock = {
  now: () => Date.now(),
  setTimer(at, fire) {
    const handle = setTimeout(fire, Math.max(0, at - Date.now()));
    handle.unref();
    return () => clearTimeout(handle);
  },
};

export interface ResolvedHttpOptions extends HttpOptions {
  readonly limits: HttpLimits;
  readonly heartbeatMs: number;
  readonly retryMs: number;
  readonly clock: Clock;
}

/** @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH: nobody may call, or a limit or token is not one. */
export function resolveHttpOptions(options: HttpOptions): ResolvedHttpOptions {
  const { authenticate, tokens = [], jwt, heartbeatMs = 15_000, retryMs = 1_000 } = options;
  if (authenticate === undefined && tokens.length === 0 && jwt === undefined)
    refuseOptions("say who may call: authenticate, tokens or jwt");
  for (const token of tokens) requireToken(token);
  const limits = { ...defaultHttpLimits, ...options.limits };
  for (const [name, value] of Object.entries({ ...limits, heartbeatMs, retryMs }))
    if (!Number.isSafeInteger(value) || value <= 0) refuseOptions(`${name} is a whole number above 0`);
  return { ...options, limits, heartbeatMs, retryMs, clock: options.clock ?? machineClock };
}

function requireToken({ token, ...caller }: StaticToken): void {
  if (!bearerPattern.test(token)) refuseOptions("a token has letters, digits and -._~+/= only");
  if (!HttpCaller.safeParse(caller).success) refuseOptions("a token has a tenant_id and a principal");
}

export function refuseOptions(reason: string): never {
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `createHttpApp: ${reason}`, optionsRef));
}

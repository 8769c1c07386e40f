/**
 * The options of the HTTP edge: who may call, its limits, its clock.
 *
 * Owns: the defaults, and the check that somebody may call at all.
 * Never: knows a role or a scope; T5 does. `scopes` of a credential only narrow what its principal may do here.
 */
import type { JSONWebKeySet, JWTPayload } from "jose";
import { z } from "zod";
import { ScopedCaller } from "../../contract/auth-context.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { type Clock, guardLogger, type Logger, type SessionStore, wallClock } from "../../index.ts";
import { requireKnownOptions } from "./known-options.ts";
import { createMemorySessions } from "./memory-sessions.ts";

/** A caller. Without `scopes` the caller has all rights that the kernel grants the role. */
export const HttpCaller = ScopedCaller;
export type HttpCaller = ScopedCaller;

/**
 * The answer of a host's hook. `via: "cookie"` means that browsers send the credential by themselves: changing requests
 * must then come from a page of this origin, and send `csrf_token` as `X-CSRF-Token` if the host gives one.
 */
export const HookAnswer = HttpCaller.extend({
  via: z.literal("cookie").optional(),
  csrf_token: z.string().min(16).optional(),
});
export type HookAnswer = z.infer<typeof HookAnswer>;

/** Null: these are no credentials of anybody. */
export type Authenticate = (request: Request) => HookAnswer | null | Promise<HookAnswer | null>;

/** Answers all requests to its path; `trace` is the request's id. */
export type Mount = (request: Request, caller: HttpCaller, trace: string) => Promise<Response>;

/** The pattern of a token after `Bearer` (RFC 6750). */
export const bearerPattern = /^[\w.~+/=-]+$/;

/** A bearer token that stands for one principal of one tenant. */
export type StaticToken = HttpCaller & {
  /** The secret that is sent as `Authorization: Bearer …`. */
  readonly token: string;
};

/**
 * The options of signed tokens. Exactly one of `jwks` and `secret` is given: public keys and shared keys never replace
 * each other.
 */
export interface JwtOptions {
  /** The keys of the issuer: a set, or the address of one. */
  readonly jwks?: JSONWebKeySet | URL;
  /** A shared key of at least 32 bytes, for HMAC. */
  readonly secret?: string | Uint8Array;
  /** The required issuer: the claim `iss`. */
  readonly issuer: string | readonly string[];
  /** The required audience: the claim `aud`. */
  readonly audience: string | readonly string[];
  /**
   * The accepted algorithms; by default HS256 for a secret, and RS256, PS256, ES256 and EdDSA (Ed25519) for a key set.
   */
  readonly algorithms?: readonly string[];
  /** The tolerance between clocks, in seconds; 5 by default. */
  readonly clockToleranceSec?: number;
  /** The time for the address of a key set to answer, in ms; 3 000 by default. */
  readonly jwksTimeoutMs?: number;
  /** It is asked for keys that are not known no more often than this; 30 000 ms by default. */
  readonly jwksCooldownMs?: number;
  /**
   * Reads the caller, instead of the claims `tenant_id`, `sub`, `principal_type` (default user), `role` and `scope`.
   */
  readonly readCaller?: (claims: JWTPayload) => HttpCaller | null;
}

/** The default limits of the API. */
export const defaultHttpLimits = {
  /** Bytes of a request's body. */
  maxBodyBytes: 1_000_000,
  /** Levels of nesting in a body. */
  maxDepth: 64,
  /** Items of one page. */
  maxPage: 500,
  /** Characters of the events of one page, as JSON; a page has one event at least, whatever its size. */
  maxPageChars: 4_000_000,
  /** Reads that run at once, of all callers. */
  maxReads: 64,
  /** The number of them for one principal; further ones wait for their turn. */
  maxReadsPerCaller: 4,
  /** Reads of one principal that wait for their turn. */
  maxWaitingReadsPerCaller: 1_024,
  /** Bytes of answers that clients have asked for and not read yet. */
  maxUnreadBytes: 256_000_000,
  /** The number of them for one principal, who may have one answer of any size. */
  maxUnreadBytesPerCaller: 64_000_000,
  /** Streams open at once, and requests that wait for a workflow. */
  maxStreams: 1024,
  /** The number of them for one tenant. */
  maxStreamsPerTenant: 768,
  /** The number of them for one principal. */
  maxStreamsPerCaller: 128,
  /**
   * Bytes of one message of a stream; a stream ends before a larger one, and does not open with it
   * (`T0_HTTP_MESSAGE_TOO_LARGE`).
   */
  maxStreamMessageBytes: 16_000_000,
  /**
   * Bytes of messages over 65,536 bytes that clients of streams have not read yet. Beyond them a stream ends before
   * such a message, and does not open with one.
   */
  maxUnreadStreamBytes: 128_000_000,
  /** The number of them for one principal, who may have one message of any size. */
  maxUnreadStreamBytesPerCaller: 32_000_000,
  /** The time that an answer may wait for its workflow; also the default if the caller gives none. */
  maxWaitMs: 30_000,
  /**
   * The time after which a client of a stream, or of a large answer, is cut off if it takes nothing although something
   * is available.
   */
  maxStallMs: 30_000,
  /** Answers kept for repeated idempotency keys; the oldest goes first. */
  maxKeptAnswers: 10_000,
  /** Messages in one JSON-RPC batch. */
  maxBatch: 100,
  /** Requests of one caller a second. */
  maxRequestsPerSecond: 1_000,
  /** The number of them that may come at once after a pause. */
  maxRequestBurst: 50_000,
  /** The number of callers whose requests are counted at a time. */
  maxTrackedCallers: 10_000,
  /** The number of calls per second with unknown credentials, of all unknown callers together. */
  maxFailedCallsPerSecond: 100,
  /** The number of them that may come at once after a pause. */
  maxFailedCallBurst: 1_000,
  /** The number of sessions of browsers; the least recently used ends first. */
  maxSessions: 1_000,
  /** Login links that are still to be used. */
  maxLoginCodes: 100,
  /** The number of findings that one what-if returns; further ones are counted. */
  maxWhatIfFindings: 10_000,
  /** The number of findings that one answer of the doctor returns; further ones are counted. */
  maxDoctorFindings: 10_000,
} as const;
/** Limits of the API, by name. */
export type HttpLimits = { readonly [K in keyof typeof defaultHttpLimits]: number };

/** Sessions of browsers, which begin with a link (`loginPath` of the app). */
export interface SessionOptions {
  /** The time that a link is valid; 5 minutes by default. */
  readonly codeMs?: number;
  /** After how long without a request a session ends; 30 minutes by default. */
  readonly idleMs?: number;
  /** After how long it ends in any case; 12 hours by default. */
  readonly maxAgeMs?: number;
  /**
   * The path that a browser is sent to once it is signed in; by default `/v1/session`, which shows the signed-in user.
   */
  readonly home?: string;
  /**
   * The interval at which an open stream checks whether its session was ended in another process; 5 seconds by default.
   */
  readonly recheckMs?: number;
  /**
   * The store of sessions: `sessions` of a SQLite ledger, to outlive the process, or a host's own; by default this
   * process's memory.
   */
  readonly store?: SessionStore;
}

export type SessionRules = Required<SessionOptions>;

/** Answers all requests to its path, and identifies the caller itself: an answer of 401 counts as a failed call. */
export type Callback = (request: Request) => Promise<Response>;

/** The options of the API; at least one way to call must be given. */
export interface HttpOptions {
  /** The host's own way to know its callers; asked before tokens and JWTs. */
  readonly authenticate?: Authenticate;
  /** Bearer tokens, each for one principal of one tenant. */
  readonly tokens?: readonly StaticToken[];
  /** Signed tokens of an issuer. */
  readonly jwt?: JwtOptions;
  /** Lets browsers in by a link that is used once; without it there are no sessions. */
  readonly sessions?: SessionOptions;
  /** The address by which browsers know this API, such as `https://api.example`, behind a proxy. */
  readonly origin?: string;
  /** Origins whose pages may call; none by default. */
  readonly cors?: {
    /** The origins whose pages may call, such as `https://app.example`. */
    readonly origins: readonly string[];
  };
  /** Limits that replace those of `defaultHttpLimits`. */
  readonly limits?: Partial<HttpLimits>;
  /** Other protocols at addresses of this app, asked for any method once the caller is known. */
  readonly mounts?: Readonly<Record<string, Mount>>;
  /** Addresses that other services call with a signature of their own; asked before anybody is known. */
  readonly callbacks?: Readonly<Record<string, Callback>>;
  /** A comment keeps an idle stream open this often; 15 000 ms by default. */
  readonly heartbeatMs?: number;
  /** After how long a client connects again; 1 000 ms by default. */
  readonly retryMs?: number;
  /** The interval at which the host's hook is called again for the caller of an open stream; 60 000 ms by default. */
  readonly recheckMs?: number;
  /** The clock of heartbeats and of the expiry of tokens; the machine's by default. */
  readonly clock?: Clock;
  /** Receives failures of the server itself. */
  readonly logger?: Logger;
  /** Called for each request once it is answered; for a stream, once it is open. Its errors are ignored. */
  readonly observe?: (seen: HttpSeen) => void;
  /**
   * Returns Prometheus' text, served at /metrics to credentials whose `scopes` name `metrics:read`; without it there is
   * no /metrics.
   */
  readonly metrics?: () => Promise<string>;
  /** Serves the console, a page for people, at `/`: they sign in by `sessions`, whose `home` should be `/`. */
  readonly console?: boolean;
  /** False leaves out the guide for users of the package, which is otherwise served at `/guide`, open to anybody. */
  readonly guide?: boolean;
}

/** A request that was answered, without anything that its caller wrote but the id that they gave it. */
export interface HttpSeen {
  /** The method in capitals; `_OTHER` for an unknown one. */
  readonly method: string;
  /** The route as it was added, with `:id` for ids; `unmatched` if there is none. */
  readonly route: string;
  readonly status: number;
  readonly ms: number;
  readonly trace: string;
  /** The caller; null if unknown. */
  readonly caller: HttpCaller | null;
}

const optionsRef = moduleRef(0, "http", "createHttpApp");

export interface ResolvedHttpOptions extends Omit<HttpOptions, "sessions"> {
  readonly sessions?: SessionRules;
  readonly limits: HttpLimits;
  readonly heartbeatMs: number;
  readonly retryMs: number;
  readonly recheckMs: number;
  readonly clock: Clock;
}

/**
 * Resolves the options. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH: nobody may call, a limit or token
 * is invalid, a key is unknown.
 */
export function resolveHttpOptions(options: HttpOptions): ResolvedHttpOptions {
  requireKnownOptions(options, defaultHttpLimits);
  const { authenticate, tokens = [], jwt, sessions: asked, ...rest } = options;
  const { heartbeatMs = 15_000, retryMs = 1_000, recheckMs = 60_000 } = options;
  if (authenticate === undefined && tokens.length === 0 && jwt === undefined && asked === undefined)
    refuseOptions("say who may call: authenticate, tokens, jwt or sessions");
  for (const token of tokens) requireToken(token);
  if (new Set(tokens.map(({ token }) => token)).size < tokens.length)
    refuseOptions("a token speaks for one caller; two are the same");
  const limits = { ...defaultHttpLimits, ...options.limits };
  const sessions = asked === undefined ? undefined : resolveSessions(asked);
  const { home: _, store: __, ...times } = sessions ?? { home: "/", store: null };
  for (const [name, value] of Object.entries({ ...limits, ...times, heartbeatMs, retryMs, recheckMs }))
    if (!Number.isSafeInteger(value) || value <= 0) refuseOptions(`${name} is a whole number above 0`);
  requireOrigin(options.origin);
  for (const name of ["console", "guide"] as const)
    if (!["undefined", "boolean"].includes(typeof options[name])) refuseOptions(`${name} is true or false`);
  return {
    ...rest,
    ...(options.logger !== undefined && { logger: guardLogger(options.logger) }),
    ...(authenticate !== undefined && { authenticate }),
    ...(jwt !== undefined && { jwt }),
    ...(sessions !== undefined && { sessions }),
    tokens,
    limits,
    heartbeatMs,
    retryMs,
    recheckMs,
    clock: options.clock ?? wallClock,
  };
}

function resolveSessions(asked: SessionOptions): SessionRules {
  const minute = 60_000;
  const times = { codeMs: 5 * minute, idleMs: 30 * minute, maxAgeMs: 720 * minute, recheckMs: 5_000 };
  const { store = createMemorySessions(), ...given } = asked;
  const rules = { ...times, home: "/v1/session", ...given, store };
  // Two slashes would name another host.
  if (!/^\/(?![/\\])[\x21-\x7e]*$/.test(rules.home)) refuseOptions("sessions.home is a path of this host");
  return rules;
}

function requireOrigin(origin: string | undefined): void {
  if (origin === undefined || (URL.canParse(origin) && new URL(origin).origin === origin)) return;
  refuseOptions("origin is a scheme and a host, such as https://api.example");
}

function requireToken({ token, ...caller }: StaticToken): void {
  if (!bearerPattern.test(token)) refuseOptions("a token has letters, digits and -._~+/= only");
  if (!HttpCaller.safeParse(caller).success) refuseOptions("a token has a tenant_id and a principal");
}

export function refuseOptions(reason: string): never {
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `createHttpApp: ${reason}`, optionsRef));
}

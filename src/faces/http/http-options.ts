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
import { hostFunction, limitsOf, objectWith } from "../../contract/host-object.ts";
import { raise } from "../../contract/kernel-error.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import {
  type Clock,
  guardLogger,
  type Logger,
  type PolicyStage,
  type RuleSet,
  type SessionStore,
  wallClock,
} from "../../index.ts";
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

const Token = HttpCaller.extend({
  /** The secret that is sent as `Authorization: Bearer …`. */
  token: z.string().regex(bearerPattern, "has letters, digits and -._~+/= only"),
});
/** A bearer token that stands for one principal of one tenant. */
export interface StaticToken extends Readonly<z.input<typeof Token>> {}

const count = z.int("is a whole number above 0").positive("is a whole number above 0");
const Names = z.union(
  [z.string().min(1), z.array(z.string().min(1)).min(1).readonly()],
  "must be a text or a list of texts, none of them empty",
);
const bytesOf = (secret: string | Uint8Array): Uint8Array =>
  typeof secret === "string" ? new TextEncoder().encode(secret) : secret;

const Jwt = z
  .strictObject({
    /** The keys of the issuer: a set, or the address of one. */
    jwks: objectWith<JSONWebKeySet | URL>().optional(),
    /** A shared key of at least 32 bytes, for HMAC. */
    secret: z
      .custom<string | Uint8Array>(
        (given) => typeof given === "string" || given instanceof Uint8Array,
        "must be a text or bytes",
      )
      .transform(bytesOf)
      .refine(({ length }) => length >= 32, "has at least 32 bytes")
      .optional(),
    /** The required issuer: the claim `iss`. */
    issuer: Names,
    /** The required audience: the claim `aud`. */
    audience: Names,
    /**
     * The accepted algorithms; by default HS256 for a secret, and RS256, PS256, ES256 and EdDSA (Ed25519) for a key
     * set.
     */
    algorithms: z.array(z.string()).min(1).readonly().optional(),
    /** The tolerance between clocks, in seconds; 5 by default. */
    clockToleranceSec: z.number().nonnegative().default(5),
    /** The time for the address of a key set to answer, in ms; 3 000 by default. */
    jwksTimeoutMs: count.default(3_000),
    /** It is asked for keys that are not known no more often than this; 30 000 ms by default. */
    jwksCooldownMs: z.int().nonnegative().default(30_000),
    /**
     * Reads the caller, instead of the claims `tenant_id`, `sub`, `principal_type` (default user), `role` and `scope`.
     */
    readCaller: hostFunction<(claims: JWTPayload) => HttpCaller | null>().optional(),
  })
  .refine(({ jwks, secret }) => (jwks === undefined) !== (secret === undefined), "has either jwks or a secret")
  .refine(
    ({ secret, algorithms = [] }) =>
      algorithms.every((name) => name !== "none" && name.startsWith("HS") === (secret !== undefined)),
    { path: ["algorithms"], error: "are HMACs for a secret and public-key algorithms for a key set" },
  );
/**
 * The options of signed tokens. Exactly one of `jwks` and `secret` is given: public keys and shared keys never replace
 * each other.
 */
export interface JwtOptions extends Readonly<z.input<typeof Jwt>> {}
export type JwtRules = z.output<typeof Jwt>;

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

const minute = 60_000;
const Sessions = z.strictObject({
  /** The time that a link is valid; 5 minutes by default. */
  codeMs: count.default(5 * minute),
  /** After how long without a request a session ends; 30 minutes by default. */
  idleMs: count.default(30 * minute),
  /** After how long it ends in any case; 12 hours by default. */
  maxAgeMs: count.default(720 * minute),
  /**
   * The path that a browser is sent to once it is signed in; by default `/v1/session`, which shows the signed-in user.
   */
  home: z
    .string()
    // Two slashes would name another host.
    .regex(/^\/(?![/\\])[\x21-\x7e]*$/, "is a path of this host")
    .default("/v1/session"),
  /**
   * The interval at which an open stream checks whether its session was ended in another process; 5 seconds by default.
   */
  recheckMs: count.default(5_000),
  /**
   * The store of sessions: `sessions` of a SQLite ledger, to outlive the process, or a host's own; by default this
   * process's memory.
   */
  store: objectWith<SessionStore>("keep", "find", "touch", "redeem", "drop").default(() => createMemorySessions()),
});
/** Sessions of browsers, which begin with a link (`loginPath` of the app). */
export interface SessionOptions extends Readonly<z.input<typeof Sessions>> {}
export type SessionRules = z.output<typeof Sessions>;

/** Answers all requests to its path, and identifies the caller itself: an answer of 401 counts as a failed call. */
export type Callback = (request: Request) => Promise<Response>;

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

const Options = z
  .strictObject({
    /** The host's own way to know its callers; asked before tokens and JWTs. */
    authenticate: hostFunction<Authenticate>().optional(),
    /** Bearer tokens, each for one principal of one tenant. */
    tokens: z
      .array(Token)
      .refine(
        (all) => new Set(all.map(({ token }) => token)).size === all.length,
        "a token speaks for one caller; two are the same",
      )
      .readonly()
      .default([]),
    /** Signed tokens of an issuer. */
    jwt: Jwt.optional(),
    /** Lets browsers in by a link that is used once; without it there are no sessions. */
    sessions: Sessions.optional(),
    /** The address by which browsers know this API, such as `https://api.example`, behind a proxy. */
    origin: z
      .string()
      .refine(
        (text) => URL.canParse(text) && new URL(text).origin === text,
        "is a scheme and a host, such as https://api.example",
      )
      .optional(),
    /** Origins whose pages may call; none by default. */
    cors: z
      .strictObject({
        /** The origins whose pages may call, such as `https://app.example`. */
        origins: z.array(z.string()).readonly(),
      })
      .optional(),
    /** Limits that replace those of `defaultHttpLimits`. */
    limits: limitsOf<HttpLimits>(defaultHttpLimits),
    /** Other protocols at addresses of this app, asked for any method once the caller is known. */
    mounts: z.record(z.string(), hostFunction<Mount>()).readonly().default({}),
    /** Addresses that other services call with a signature of their own; asked before anybody is known. */
    callbacks: z.record(z.string(), hostFunction<Callback>()).readonly().default({}),
    /** A comment keeps an idle stream open this often; 15 000 ms by default. */
    heartbeatMs: count.default(15_000),
    /** After how long a client connects again; 1 000 ms by default. */
    retryMs: count.default(1_000),
    /** The interval at which the host's hook is called again for the caller of an open stream; 60 000 ms by default. */
    recheckMs: count.default(60_000),
    /** The clock of heartbeats and of the expiry of tokens; the machine's by default. */
    clock: objectWith<Clock>("now", "setTimer").default(() => wallClock),
    /** Receives failures of the server itself. */
    logger: objectWith<Logger>()
      .transform((logger) => guardLogger(logger))
      .optional(),
    /** Called for each request once it is answered; for a stream, once it is open. Its errors are ignored. */
    observe: hostFunction<(seen: HttpSeen) => void>().optional(),
    /**
     * Returns Prometheus' text, served at /metrics to credentials whose `scopes` name `metrics:read`; without it there
     * is no /metrics.
     */
    metrics: hostFunction<() => Promise<string>>().optional(),
    /** Readers of policies in other languages, in which `whatif` then takes them; by default it takes YAML alone. */
    policyLanguages: z
      .strictObject({
        /** `cedar` of `countersign/cedar`. */
        cedar:
          hostFunction<
            (policies: {
              readonly policies: string;
              readonly schema?: string | undefined;
              readonly stages?: readonly PolicyStage[] | undefined;
            }) => RuleSet | Promise<RuleSet>
          >().optional(),
        /** `opa` of `countersign/opa`: callers then send modules, which run without access to anything. */
        opa: hostFunction<
          (policies: {
            readonly bundle: Uint8Array;
            readonly entrypoint?: string | undefined;
            readonly stages?: readonly PolicyStage[] | undefined;
            readonly limits: { readonly evaluationMs: number };
          }) => RuleSet | Promise<RuleSet>
        >().optional(),
      })
      .default({}),
    /** Serves the console, a page for people, at `/`: they sign in by `sessions`, whose `home` should be `/`. */
    console: z.boolean().default(false),
    /** False leaves out the guide for users of the package, which is otherwise served at `/guide`, open to anybody. */
    guide: z.boolean().default(true),
  })
  .refine(
    ({ authenticate, tokens, jwt, sessions }) =>
      authenticate !== undefined || tokens.length > 0 || jwt !== undefined || sessions !== undefined,
    "say who may call: authenticate, tokens, jwt or sessions",
  );
/** The options of the API; at least one way to call must be given. */
export interface HttpOptions extends Readonly<z.input<typeof Options>> {}
export type ResolvedHttpOptions = z.output<typeof Options>;

const source = moduleRef(0, "http", "createHttpApp");

/** @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH always. */
export const refuseOptions = (reason: string): never =>
  raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `createHttpApp: ${reason}`, source));

/**
 * Resolves the options. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH: nobody may call, a limit or token
 * is invalid, a key is unknown.
 */
export const resolveHttpOptions = (options: HttpOptions): ResolvedHttpOptions =>
  readStrictly(Options, options, { what: "createHttpApp", source });

/**
 * The options of `createKernel`, key by key: an unknown key and an invalid value are refused before anything is opened.
 * Ports are checked for the functions by which they are called.
 *
 * Owns: the shape. Never: a default.
 */
import { z } from "zod";
import { hostFunction as fn, objectWith as port } from "../contract/host-object.ts";
import { type KeysOf, readStrictly, requireKnownMembers } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { defaultLimits, type Limits } from "../engine/actors/runtime.ts";
import type { Middleware } from "../ports/middleware.ts";
import type { Notifier } from "../ports/notifier.ts";
import type { Scorers, Security } from "../ports/perception.ts";
import type { Pipeline } from "../tiers/t6-metacognition/route-activation.ts";
import type { KernelOptions } from "./options.ts";

const optionsRef = moduleRef(0, "kernel", "createKernel");

const list = z.array(z.unknown());
/** Makes a schema of a host's own object that may leave out any of these functions. */
const mayHave = (known: object) =>
  z.custom<object>(
    (value) =>
      port().safeParse(value).success &&
      Object.keys(known).every((name) => /function|undefined/.test(typeof (value as Record<string, unknown>)[name])),
    `must be an object with functions: ${Object.keys(known).join(", ")}`,
  );

/** The limits that may be 0: nothing is then kept, repeated or restarted. All others must be at least 1. */
const maybeNone: ReadonlySet<string> = new Set([
  "maxReplans",
  "maxRecentEvents",
  "maxMemoryRecords",
  "maxSyncChanges",
  "maxReports",
  "maxCachedBundles",
  "maxRestingEvents",
  "maxStreamChunks",
  "maxCallRecords",
  "maxRoutes",
  "maxGateEntries",
  "maxTierRestarts",
  "maxInFlight",
  "maxWaitingSubmits",
  "submitWaitMs",
  "restAfterMs",
] satisfies (keyof Limits)[]);

const whole = z.int("must be a whole number");
const limitShape = Object.fromEntries(
  Object.keys(defaultLimits).map((name) => [
    name,
    maybeNone.has(name) ? whole.min(0, "must be at least 0").optional() : whole.min(1, "must be at least 1").optional(),
  ]),
);

const share = z.number().min(0).max(1).optional();
const pipeline = z.enum(["direct", "standard", "enhanced"] satisfies Pipeline[]);

const notifierName = z.string().regex(/^[\w.-]{1,64}$/);
const notifier = z.custom<Notifier>(
  (value) => port("deliver").safeParse(value).success && notifierName.safeParse((value as Notifier).name).success,
  "must be an object with deliver, and a name of letters, digits and _.-",
);

export const scorerMembers = { urgency: 0, complexity: 0, confidence: 0, grounding: 0 } satisfies KeysOf<Scorers>;
export const securityMembers = {
  validate: 0,
  validateParams: 0,
  validateOutput: 0,
  validateChunk: 0,
} satisfies KeysOf<Required<Security>>;

const hooks = { before: 0, after: 0, onError: 0 } satisfies Partial<KeysOf<Middleware>>;

const shape = {
  ledger: port("append", "read"),
  capabilities: list,
  operators: list,
  policies: list,
  defaultPolicies: z.boolean(),
  policyVersion: z.string().min(1),
  /** Read by the authenticator that they are for. */
  roles: z.unknown(),
  authenticator: port("authorize"),
  approverKeys: fn,
  classifier: port("classify"),
  planner: port("plan"),
  scorers: mayHave(scorerMembers),
  security: mayHave(securityMembers),
  retrieval: port("retrieve"),
  matchMemory: fn,
  artifacts: port("put", "get"),
  middleware: z.array(mayHave(hooks)),
  retryPolicies: z.record(z.string(), z.unknown()),
  federation: z.unknown(),
  limits: z.strictObject(limitShape),
  models: z.unknown(),
  budgets: z.unknown(),
  durability: z.enum(["full", "effects"]),
  domainPipelines: z.record(z.string(), pipeline),
  clock: port("now", "setTimer").refine((clock) => mayHave({ elapsed: 0 }).safeParse(clock).success, {
    error: "elapsed must be a function",
  }),
  random: fn,
  inspect: port(),
  logger: port(),
  telemetry: port(),
  notifiers: z.array(notifier).refine((list) => new Set(list.map(({ name }) => name)).size === list.length, {
    error: "two notifiers have one name",
  }),
  notify: fn,
  initialize: fn,
  recover: z.boolean(),
  fallbackIntent: z.string().nullable(),
  thresholds: z.strictObject({ classification: share, confidence: share, grounding: share }),
  checkAllOutput: z.boolean(),
  owner: z.string().min(1),
  host: fn,
  samePerson: fn,
} satisfies KeysOf<KernelOptions>;

const Shape = z.strictObject(shape).partial();

/** Checks the options. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH with each option that is wrong. */
export function checkKernelOptions(options: KernelOptions): void {
  const reading = { what: "createKernel", source: optionsRef };
  readStrictly(Shape, options, reading);
  requireKnownMembers(options.scorers, scorerMembers, { ...reading, what: "createKernel: scorers" });
  requireKnownMembers(options.security, securityMembers, { ...reading, what: "createKernel: security" });
}

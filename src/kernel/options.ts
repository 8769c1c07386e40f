/** The options of a kernel, and their defaults. */

import { z } from "zod";
import type { Same } from "../../machines/quorum.ts";
import { guardPlanner } from "../adapters/describe-data.ts";
import { guardSecurity } from "../adapters/guard-security.ts";
import { keywordClassifier } from "../adapters/keyword-classifier.ts";
import { memoryArtifacts } from "../adapters/memory-artifacts.ts";
import { openSecurity } from "../adapters/open-security.ts";
import { guardScorers } from "../adapters/plain-scorers.ts";
import { guardLogger, guardTelemetry, quietLogger, quietTelemetry } from "../adapters/quiet-telemetry.ts";
import { Roles, roleAuthenticator } from "../adapters/role-authenticator.ts";
import { machineRandom } from "../adapters/seeded-random.ts";
import { templatePlanner } from "../adapters/template-planner.ts";
import { createWaitTokens, WaitTokenOptions, type WaitTokens } from "../adapters/wait-tokens.ts";
import { wallClock } from "../adapters/wall-clock.ts";
import { matchWords } from "../adapters/word-matcher.ts";
import { Budgets } from "../contract/budget.ts";
import type { CapabilityDefinition } from "../contract/capability.ts";
import { maxJsonDepth } from "../contract/digest.ts";
import { EventStart } from "../contract/event-start.ts";
import { Federation } from "../contract/federation.ts";
import { hostFunction, hostObject, limitsOf, objectWith } from "../contract/host-object.ts";
import { boundMembers, readStrictly } from "../contract/known-keys.ts";
import { ModelRouting } from "../contract/model-route.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { type Operator, type RetrievalProvider, retryPolicies } from "../contract/operator.ts";
import type { RpcNotification } from "../contract/rpc.ts";
import type { TierDefinition } from "../engine/actors/define-tier.ts";
import { type KernelClock, kernelClock } from "../engine/actors/kernel-clock.ts";
import { defaultLimits, type Limits } from "../engine/actors/runtime.ts";
import { guardSamePerson } from "../engine/actors/same-person.ts";
import type { Inspect } from "../engine/actors/supervision.ts";
import type { ArtifactStore } from "../ports/artifact-store.ts";
import type { Authenticator } from "../ports/authenticator.ts";
import type { Clock } from "../ports/clock.ts";
import type { KeepsDeliveries } from "../ports/delivery-store.ts";
import type { Host, HostWork } from "../ports/host.ts";
import type { LedgerStore, StoredMemory } from "../ports/ledger-store.ts";
import type { Middleware } from "../ports/middleware.ts";
import type { Notifier } from "../ports/notifier.ts";
import type { Classifier, Scorers, Security } from "../ports/perception.ts";
import type { Planner } from "../ports/planner.ts";
import type { Random } from "../ports/random.ts";
import type { SamePerson } from "../ports/same-person.ts";
import type { ApproverKeys } from "../ports/signature-verifier.ts";
import type { Logger, Telemetry } from "../ports/telemetry.ts";
import { checkCustomMiddleware } from "../tiers/t4-execution/decide/call/middleware.ts";
import type { PolicyEngine } from "../tiers/t5-ego/policy/evaluate-round.ts";
import { defaultDomainPipelines } from "../tiers/t6-metacognition/route-activation.ts";
import { assemblePolicies, type Policies } from "./policies.ts";

/** A store that a kernel can work on; one that keeps deliveries can have notifiers. */
export type KernelLedger = LedgerStore & Partial<KeepsDeliveries>;

/** The limits that may be 0: nothing is then kept, or repeated, or restarted. All others must be at least 1. */
const limitsThatMayBeNone: readonly (keyof Limits)[] = [
  ...([
    "maxReplans",
    "maxChildDepth",
    "maxRecentEvents",
    "maxMemoryRecords",
    "maxSyncChanges",
    "maxReports",
    "maxCachedBundles",
  ] as const),
  ...(["maxRestingEvents", "maxStreamChunks", "maxCallRecords", "maxRoutes", "maxGateEntries"] as const),
  ...(["maxTierRestarts", "maxInFlight", "maxWaitingSubmits", "submitWaitMs", "restAfterMs"] as const),
];

const fn = hostFunction().optional();
const scorers = { urgency: fn, complexity: fn, confidence: fn, grounding: fn };
const security = { validate: fn, validateParams: fn, validateOutput: fn, validateChunk: fn };
const hooks = z.looseObject({ before: fn, after: fn, onError: fn });

const share = z.number().min(0).max(1).default(0.5);
const notifierName = z.string().regex(/^[\w.-]{1,64}$/);

const Options = z
  .strictObject({
    /** The ledger that keeps the turns; by default SQLite in memory. */
    ledger: objectWith<KernelLedger>("append", "read").optional(),
    /** The packages that requests can be for; their operators are registered with them. */
    capabilities: z.array(objectWith<CapabilityDefinition>()).readonly().default([]),
    /** Further operators, for packages that name theirs by text. */
    operators: z.array(objectWith<Operator>()).readonly().default([]),
    /** Rules, and sets of them, asked before the default rules; `defaultPolicies: false` leaves these out. */
    policies: z.array(objectWith<Policies[number]>()).readonly().default([]),
    /** False leaves the default rules out; true by default. */
    defaultPolicies: z.boolean().default(true),
    /** The version of the policies, instead of the one that is derived from them. */
    policyVersion: z.string().min(1).optional(),
    /** The rights of each role; by default `defaultRoles`. A caller with another role is refused. */
    roles: Roles.optional(),
    /** The authenticator, which determines a caller's identity and rights, instead of the table of roles. */
    authenticator: objectWith<Authenticator>("authorize").optional(),
    /** The public keys of approvers, for signed approvals; without it no signature is taken. */
    approverKeys: hostFunction<ApproverKeys>().optional(),
    /**
     * Tells which principals are one person, for separation of duties, votes, delegations and withdrawals; by default
     * none are.
     */
    samePerson: hostFunction<SamePerson>().optional(),
    /** Types a request that is a text; by default by the packages' keywords. */
    classifier: objectWith<Classifier>("classify").default(() => keywordClassifier),
    /** Makes all plans, in place of the packages' own templates and functions. */
    planner: objectWith<Planner>("plan").optional(),
    /** Measures of requests and outputs; those left out are the shipped ones. */
    scorers: hostObject<Partial<Scorers>>(scorers).default({}),
    /** Checks of incoming requests and of operators' results; without one everything passes. */
    security: hostObject<Partial<Security>>(security).default({}),
    /** Search for operators whose `capabilities` name `reasoning` or `deep_research`: their `context.retrieval`. */
    retrieval: objectWith<RetrievalProvider>("retrieve").optional(),
    /** Returns the memory records that match a text, best first; by default those that share words with it. */
    matchMemory: hostFunction<
      (
        text: string,
        records: readonly StoredMemory[],
      ) => readonly { readonly record: StoredMemory; readonly score: number }[]
    >().default(() => matchWords),
    /** The store of bytes that tools return; by default in memory. */
    artifacts: objectWith<ArtifactStore>("put", "get").optional(),
    /** Custom hooks around operator calls; the four fixed ones cannot be moved. */
    middleware: z
      .array(
        objectWith<Middleware>().refine(
          (one) => hooks.safeParse(one).success,
          "hooks must be functions: before, after, onError",
        ),
      )
      .readonly()
      .default([]),
    /** Further retry policies by name: maximum attempts. */
    retryPolicies: z
      .record(
        z.string().refine((name) => !Object.hasOwn(retryPolicies, name), "is fixed"),
        z.int("needs a whole number of attempts").min(1, "needs at least 1 attempt"),
      )
      .readonly()
      .default({}),
    /**
     * This kernel's name among replicas, and the replicas whose changes are merged into its tenants' memory; by default
     * none.
     */
    federation: Federation.default({ replica: "local", replicas: {} }),
    /** Limits in place of `defaultLimits`; `src/guide/limits.md` has all of them. */
    limits: limitsOf<Limits>(defaultLimits, limitsThatMayBeNone).refine(({ maxDepth }) => maxDepth <= maxJsonDepth, {
      path: ["maxDepth"],
      // A value that nests more deeply has no digest, and its row could exceed the levels of the ledger's format.
      message: `must be at most ${maxJsonDepth}`,
    }),
    /** The endpoints that model calls are routed to; an operator asks for one with `route`. */
    models: ModelRouting.prefault({ endpoints: [] }),
    /** Ceilings: of a request, a token, a workflow's resources and capabilities, and over workflows. */
    budgets: Budgets.prefault({}),
    /**
     * `effects`, the default: nothing is answered, decided, reported or sent before the rows it depends on are synced;
     * operators with the effect `none` or `read` may be called before, and are called again after a power cut. `full`
     * syncs every commit, and calls no operator before its start is synced.
     */
    durability: z.enum(["full", "effects"]).default("effects"),
    /** The pipeline of each domain, whatever the complexity; by default requests about money get `enhanced`. */
    domainPipelines: z
      .record(z.string(), z.enum(["direct", "standard", "enhanced"]))
      .readonly()
      .default(defaultDomainPipelines),
    /** Time and timers; by default the machine's own. */
    clock: objectWith<Clock>("now", "setTimer")
      .refine(({ elapsed }) => fn.safeParse(elapsed).success, "elapsed must be a function")
      .default(() => wallClock),
    /** Randomness; by default the machine's own. `seededRandom` repeats. */
    random: hostFunction<Random>().default(() => machineRandom),
    /** XState inspection events of the whole actor system. */
    inspect: objectWith<Inspect>().optional(),
    /** The logger of the kernel; by default none. */
    logger: objectWith<Logger>().default(() => quietLogger),
    /** Receives commits and stages, such as `createObserver` of `countersign/telemetry`. */
    telemetry: objectWith<Telemetry>().default(() => quietTelemetry),
    /**
     * The notifiers that inform people of gates that are opened, revised, due soon, escalated or decided; the ledger
     * must keep deliveries.
     */
    notifiers: z
      .array(
        objectWith<Notifier>("deliver").refine(
          ({ name }) => notifierName.safeParse(name).success,
          "must have a name of letters, digits and _.-",
        ),
      )
      .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, "two notifiers have one name")
      .readonly()
      .default([]),
    /** Notifications of T6's artifact bus; called without waiting. */
    notify: hostFunction<(notification: RpcNotification) => void>().optional(),
    /** Runs once, before the first workflow does anything; a workflow that it fails for can be retried. */
    initialize: hostFunction<() => void | Promise<void>>().optional(),
    /**
     * Intent types whose workflows other processes drive: requests for them, decisions and commands are recorded here,
     * and nothing of them is called here. By default none.
     */
    elsewhere: z.array(z.string().min(1)).readonly().default([]),
    /** False: open without taking up unfinished workflows. */
    recover: z.boolean().default(true),
    /** The intent type of a text that matches none well enough; by default it is refused. */
    fallbackIntent: z.string().nullable().default(null),
    /**
     * Thresholds from 0 to 1, by default 0.5. Below `classification` the intent of a text is not accepted; below
     * `confidence` and `grounding` (of the final text) the workflow's answer carries a warning.
     */
    thresholds: z
      .strictObject({
        /** A text that is classified with less is not typed. */
        classification: share,
        /** An answer that is less sure of itself carries a warning. */
        confidence: share,
        /** The share of an answer that the steps' outputs must support; below it the answer carries a warning. */
        grounding: share,
      })
      .prefault({}),
    /** Checks all of an output in windows of 5000 characters, not just the first. */
    checkAllOutput: z.boolean().default(false),
    /**
     * Work that begins when an event from outside arrives: the event's name, the intent type, and its inputs, in which
     * `{{event.output.payload.order}}` refers to the event. The sender of the event is the requester.
     */
    on: z.array(EventStart).readonly().default([]),
    /** The one-time addresses of waits that have `token: true`, and the secrets that they are made with. */
    waitTokens: WaitTokenOptions.optional(),
    /** Names this process in leases. */
    owner: z.string().min(1).optional(),
    /** Makes the host that drives workflows; by default this process drives them. */
    host: hostFunction<(work: HostWork) => Host>().optional(),
  })
  .superRefine(({ on, capabilities }, { addIssue }) => {
    const known = new Set(capabilities.map(({ intentType }) => intentType));
    for (const [i, { intent_type }] of on.entries())
      if (!known.has(intent_type))
        addIssue({ code: "custom", path: ["on", i, "intent_type"], message: "no package takes it" });
  })
  .refine(({ ledger, notifiers }) => notifiers.length === 0 || ledger === undefined || "deliveries" in ledger, {
    path: ["notifiers"],
    error: "need a ledger that keeps deliveries, as sqliteLedger does",
  });

/** The options of createKernel; each has a default. */
export interface KernelOptions extends Readonly<z.input<typeof Options>> {}

/** The options, with the defaults of those that are absent. */
export type ReadOptions = z.output<typeof Options>;

/** Replaces a tier's definition; for tests of supervision. */
export type TierPatch = (definition: TierDefinition) => TierDefinition;

/** The options of a kernel, and the parts that are made from them. */
export interface Resolved
  extends Pick<
    ReadOptions,
    "random" | "limits" | "classifier" | "matchMemory" | "models" | "federation" | "budgets" | "domainPipelines"
  > {
  readonly options: ReadOptions;
  readonly clock: KernelClock;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  readonly engine: PolicyEngine;
  readonly authenticator: Authenticator;
  readonly security: Security;
  readonly scorers: Scorers;
  readonly planner: Planner;
  readonly artifacts: ArtifactStore;
  readonly retryPolicies: Readonly<Record<string, number>>;
  readonly same: Same;
  /** Null without the option of that name. */
  readonly waitTokens: WaitTokens | null;
}

/**
 * Resolves options and their defaults. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH,
 * T4_MIDDLEWARE_VIOLATION.
 */
export function resolveOptions(given: KernelOptions): Resolved {
  const options = readStrictly(Options, given, {
    what: "createKernel",
    source: moduleRef(0, "kernel", "createKernel"),
  });
  const { random, limits, classifier, matchMemory, models, federation, budgets, domainPipelines } = options;
  const clock = kernelClock(options.clock);
  const logger = guardLogger(options.logger);
  checkCustomMiddleware(options.middleware);
  const policies = assemblePolicies(options.policies, {
    withDefault: options.defaultPolicies,
    version: options.policyVersion,
  });
  return {
    ...{ options, random, limits, classifier, matchMemory, models, federation, budgets, domainPipelines },
    clock,
    logger,
    telemetry: guardTelemetry(options.telemetry),
    engine: { ...policies, clock, timeoutMs: limits.policyTimeoutMs, maxRounds: limits.maxPolicyRounds },
    authenticator: options.authenticator ?? roleAuthenticator(options.roles),
    security: { ...openSecurity, ...guardSecurity(boundMembers(options.security, security)) },
    scorers: guardScorers(boundMembers(options.scorers, scorers), logger),
    planner: options.planner === undefined ? templatePlanner : guardPlanner(options.planner),
    artifacts: options.artifacts ?? memoryArtifacts(),
    retryPolicies: { ...retryPolicies, ...options.retryPolicies },
    same: guardSamePerson(options.samePerson),
    waitTokens: options.waitTokens === undefined ? null : createWaitTokens(options.waitTokens),
  };
}

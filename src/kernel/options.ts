/** The options of a kernel, and their defaults. */

import type { Same } from "../../machines/quorum.ts";
import { guardPlanner } from "../adapters/describe-data.ts";
import { guardSecurity } from "../adapters/guard-security.ts";
import { keywordClassifier } from "../adapters/keyword-classifier.ts";
import { memoryArtifacts } from "../adapters/memory-artifacts.ts";
import { openSecurity } from "../adapters/open-security.ts";
import { guardScorers } from "../adapters/plain-scorers.ts";
import { guardLogger, guardTelemetry, quietLogger, quietTelemetry } from "../adapters/quiet-telemetry.ts";
import { type Role, roleAuthenticator } from "../adapters/role-authenticator.ts";
import { machineRandom } from "../adapters/seeded-random.ts";
import { templatePlanner } from "../adapters/template-planner.ts";
import { wallClock } from "../adapters/wall-clock.ts";
import { matchWords } from "../adapters/word-matcher.ts";
import { Budgets, type ParsedBudgets } from "../contract/budget.ts";
import type { CapabilityDefinition } from "../contract/capability.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { checkFederation, type FederationOptions } from "../contract/federation.ts";
import { boundMembers, readStrictly } from "../contract/known-keys.ts";
import { ModelRouting, type ParsedModelRouting } from "../contract/model-route.ts";
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
import { defaultDomainPipelines, type Pipeline } from "../tiers/t6-metacognition/route-activation.ts";
import { checkKernelOptions, scorerMembers, securityMembers } from "./options-shape.ts";
import { assemblePolicies, type Policies } from "./policies.ts";

/** A store that a kernel can work on; one that keeps deliveries can have notifiers. */
export type KernelLedger = LedgerStore & Partial<KeepsDeliveries>;

/** The options of createKernel; each has a default. */
export interface KernelOptions {
  /** The ledger that keeps the turns; by default SQLite in memory. */
  readonly ledger?: KernelLedger;
  /** The packages that requests can be for; their operators are registered with them. */
  readonly capabilities?: readonly CapabilityDefinition[];
  /** Further operators, for packages that name theirs by text. */
  readonly operators?: readonly Operator[];
  /** Rules, and sets of them, asked before the default rules; `defaultPolicies: false` leaves these out. */
  readonly policies?: Policies;
  /** False leaves the default rules out; true by default. */
  readonly defaultPolicies?: boolean;
  /** The version of the policies, instead of the one that is derived from them. */
  readonly policyVersion?: string;
  /** The rights of each role; by default `defaultRoles`. A caller with another role is refused. */
  readonly roles?: Readonly<Record<string, Role>>;
  /** The authenticator, which determines a caller's identity and rights, instead of the table of roles. */
  readonly authenticator?: Authenticator;
  /** The public keys of approvers, for signed approvals; without it no signature is taken. */
  readonly approverKeys?: ApproverKeys;
  /**
   * Tells which principals are one person, for separation of duties, votes, delegations and withdrawals; by default
   * none are.
   */
  readonly samePerson?: SamePerson;
  /** Types a request that is a text; by default by the packages' keywords. */
  readonly classifier?: Classifier;
  /** Makes all plans, in place of the packages' own templates and functions. */
  readonly planner?: Planner;
  /** Measures of requests and outputs; those left out are the shipped ones. */
  readonly scorers?: Partial<Scorers>;
  /** Checks of incoming requests and of operators' results; without one everything passes. */
  readonly security?: Partial<Security>;
  /** Search for operators whose `capabilities` name `reasoning` or `deep_research`: their `context.retrieval`. */
  readonly retrieval?: RetrievalProvider;
  /** Returns the memory records that match a text, best first; by default those that share words with it. */
  readonly matchMemory?: (
    text: string,
    records: readonly StoredMemory[],
  ) => readonly { readonly record: StoredMemory; readonly score: number }[];
  /** The store of bytes that tools return; by default in memory. */
  readonly artifacts?: ArtifactStore;
  /** Custom hooks around operator calls; the four fixed ones cannot be moved. */
  readonly middleware?: readonly Middleware[];
  /** Further retry policies by name: maximum attempts. */
  readonly retryPolicies?: Readonly<Record<string, number>>;
  /**
   * This kernel's name among replicas, and the replicas whose changes are merged into its tenants' memory; by default
   * none.
   */
  readonly federation?: FederationOptions;
  /** Limits in place of `defaultLimits`; `src/guide/limits.md` has all of them. */
  readonly limits?: Partial<Limits>;
  /** The endpoints that model calls are routed to; an operator asks for one with `route`. */
  readonly models?: ModelRouting;
  /** Ceilings: of a request, a token, a workflow's resources and capabilities, and over workflows. */
  readonly budgets?: Budgets;
  /**
   * `effects`, the default: nothing is answered, decided, reported or sent before the rows it depends on are synced;
   * operators with the effect `none` or `read` may be called before, and are called again after a power cut. `full`
   * syncs every commit, and calls no operator before its start is synced.
   */
  readonly durability?: "full" | "effects";
  /** The pipeline of each domain, whatever the complexity; by default requests about money get `enhanced`. */
  readonly domainPipelines?: Readonly<Record<string, Pipeline>>;
  /** Time and timers; by default the machine's own. */
  readonly clock?: Clock;
  /** Randomness; by default the machine's own. `seededRandom` repeats. */
  readonly random?: Random;
  /** XState inspection events of the whole actor system. */
  readonly inspect?: Inspect;
  /** The logger of the kernel; by default none. */
  readonly logger?: Logger;
  /** Receives commits and stages, such as `createObserver` of `countersign/telemetry`. */
  readonly telemetry?: Telemetry;
  /**
   * The notifiers that inform people of gates that are opened, revised, due soon, escalated or decided; the ledger must
   * keep deliveries.
   */
  readonly notifiers?: readonly Notifier[];
  /** Notifications of T6's artifact bus; called without waiting. */
  readonly notify?: (notification: RpcNotification) => void;
  /** Runs once, before the first workflow does anything; a workflow that it fails for can be retried. */
  readonly initialize?: () => void | Promise<void>;
  /** False: open without taking up unfinished workflows. */
  readonly recover?: boolean;
  /** The intent type of a text that matches none well enough; by default it is refused. */
  readonly fallbackIntent?: string | null;
  /**
   * Thresholds from 0 to 1, by default 0.5. Below `classification` the intent of a text is not accepted; below
   * `confidence` and `grounding` (of the final text) the workflow's answer carries a warning.
   */
  readonly thresholds?: {
    /** A text that is classified with less is not typed. */
    readonly classification?: number;
    /** An answer that is less sure of itself carries a warning. */
    readonly confidence?: number;
    /** The share of an answer that the steps' outputs must support; below it the answer carries a warning. */
    readonly grounding?: number;
  };
  /** Checks all of an output in windows of 5000 characters, not just the first. */
  readonly checkAllOutput?: boolean;
  /** Names this process in leases. */
  readonly owner?: string;
  /** Makes the host that drives workflows; by default this process drives them. */
  readonly host?: (work: HostWork) => Host;
}

/** Replaces a tier's definition; for tests of supervision. */
export type TierPatch = (definition: TierDefinition) => TierDefinition;

const optionsRef = moduleRef(0, "kernel", "createKernel");

export interface Resolved {
  readonly options: KernelOptions;
  readonly clock: KernelClock;
  readonly random: Random;
  readonly limits: Limits;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  readonly engine: PolicyEngine;
  readonly authenticator: Authenticator;
  readonly security: Security;
  readonly scorers: Scorers;
  readonly classifier: Classifier;
  readonly planner: Planner;
  readonly artifacts: ArtifactStore;
  readonly matchMemory: NonNullable<KernelOptions["matchMemory"]>;
  readonly models: ParsedModelRouting;
  readonly federation: FederationOptions;
  readonly budgets: ParsedBudgets;
  readonly domainPipelines: Readonly<Record<string, Pipeline>>;
  readonly retryPolicies: Readonly<Record<string, number>>;
  readonly same: Same;
}

/**
 * Resolves options and their defaults. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH,
 * T4_MIDDLEWARE_VIOLATION.
 */
export function resolveOptions(options: KernelOptions): Resolved {
  checkKernelOptions(options);
  if ((options.notifiers ?? []).length > 0 && options.ledger !== undefined && !("deliveries" in options.ledger))
    refuse("notifiers need a ledger that keeps deliveries, as sqliteLedger does");
  const limits = Object.freeze({ ...defaultLimits, ...options.limits });
  const clock = kernelClock(options.clock ?? wallClock);
  const logger = guardLogger(options.logger ?? quietLogger);
  checkCustomMiddleware(options.middleware ?? []);
  const policies = assemblePolicies(options.policies ?? [], {
    withDefault: options.defaultPolicies,
    version: options.policyVersion,
  });
  return {
    options,
    clock,
    limits,
    random: options.random ?? machineRandom,
    logger,
    telemetry: guardTelemetry(options.telemetry ?? quietTelemetry),
    engine: { ...policies, clock, timeoutMs: limits.policyTimeoutMs, maxRounds: limits.maxPolicyRounds },
    authenticator: options.authenticator ?? roleAuthenticator(options.roles),
    security: {
      ...openSecurity,
      ...guardSecurity(boundMembers<Partial<Security>>(options.security ?? {}, securityMembers)),
    },
    scorers: guardScorers(boundMembers<Partial<Scorers>>(options.scorers ?? {}, scorerMembers), logger),
    classifier: options.classifier ?? keywordClassifier,
    planner: options.planner === undefined ? templatePlanner : guardPlanner(options.planner),
    artifacts: options.artifacts ?? memoryArtifacts(),
    matchMemory: options.matchMemory ?? matchWords,
    models: readStrictly(ModelRouting, options.models ?? { endpoints: [] }, { what: "models", source: optionsRef }),
    federation: checkFederation(options.federation ?? { replica: "local", replicas: {} }),
    budgets: readStrictly(Budgets, options.budgets ?? {}, { what: "budgets", source: optionsRef }),
    domainPipelines: options.domainPipelines ?? defaultDomainPipelines,
    retryPolicies: resolveRetryPolicies(options.retryPolicies ?? {}),
    same: guardSamePerson(options.samePerson),
  };
}

function resolveRetryPolicies(given: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  for (const [name, attempts] of Object.entries(given)) {
    if (name in retryPolicies) refuse(`retry policy ${name} is fixed`);
    if (!Number.isInteger(attempts) || attempts < 1) refuse(`retry policy ${name} needs a whole number of attempts`);
  }
  return { ...retryPolicies, ...given };
}

const refuse = (message: string): never => raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, optionsRef));

/**
 * The eight tiers, and the settings and services of T4, with the ports that a host's options filled.
 */

import { jwsVerifier } from "../adapters/jws-verifier.ts";
import { refOf } from "../contract/gate-vote.ts";
import { concerns } from "../contract/halt.ts";
import { callAside } from "../contract/maybe-promise.ts";
import type { Running } from "../contract/messages/t7.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { singleFlight } from "../contract/single-flight.ts";
import { outside } from "../engine/actors/async-context.ts";
import type { TierDefinition } from "../engine/actors/define-tier.ts";
import type { Registry } from "../engine/actors/registry.ts";
import { callWithin } from "../engine/actors/within.ts";
import type { LedgerReading } from "../engine/follow/ledger-reader.ts";
import type { HaltRegistry } from "../engine/log/halt-registry.ts";
import type { createLedgerWriter } from "../engine/log/ledger-writer.ts";
import type { TenantAppend } from "../engine/log/tenant-log.ts";
import type { TenantRegistry } from "../engine/log/tenant-registry.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import { createFoundationTier } from "../tiers/t0-foundation/tier.ts";
import { createPerceptionTier } from "../tiers/t1-perception/tier.ts";
import { createCognitionTier } from "../tiers/t2-cognition/tier.ts";
import { createPlanningTier } from "../tiers/t3-planning/tier.ts";
import { renameReferences } from "../tiers/t4-execution/decide/payload/resolve-templates.ts";
import { draftOfStep, type Settings } from "../tiers/t4-execution/decide/run/run.ts";
import type { Executor } from "../tiers/t4-execution/executor.ts";
import type { Mailbox } from "../tiers/t4-execution/mailbox.ts";
import type { Services } from "../tiers/t4-execution/perform/services.ts";
import { createExecutionTier } from "../tiers/t4-execution/tier.ts";
import type { BudgetLimiter } from "../tiers/t5-ego/admission/budget-limiter.ts";
import type { CapabilityRegistry } from "../tiers/t5-ego/admission/capability-registry.ts";
import { createEgoTier } from "../tiers/t5-ego/tier.ts";
import { createMetacognitionTier } from "../tiers/t6-metacognition/tier.ts";
import type { Places } from "../tiers/t7-orchestration/places.ts";
import { createOrchestrationTier } from "../tiers/t7-orchestration/tier.ts";
import type { ReadOptions, Resolved } from "./options.ts";
import { findEvent } from "./outside-events.ts";
import { queuedBefore, queuePlace } from "./queues.ts";
import { findSharedKey } from "./shared-keys.ts";
import { tokenUrlOf } from "./wait-answers.ts";

export function createSettings(resolved: Resolved, registry: Registry, halts: Pick<HaltRegistry, "of">): Settings {
  const { options, budgets, retryPolicies, engine, limits } = resolved;
  return {
    registry,
    limits,
    durability: options.durability,
    holdsStreams: options.security.validateOutput !== undefined,
    checkAllOutput: options.checkAllOutput,
    middleware: options.middleware,
    maxCost: budgets.maxCost,
    perToken: budgets.perToken,
    reserves: budgets.limits.length > 0,
    retryPolicies,
    policyVersion: engine.version,
    same: resolved.same,
    haltsOn: (tenantId, intent) => {
      const standing = halts.of(tenantId).halts;
      if (standing.length === 0) return noneMet;
      const met = standing.filter((halt) => concerns(halt, intent));
      return met.map(({ halt_id, of }) => ({ halt_id, operator: of.operator ?? null }));
    },
    tellsPeople: options.samePerson !== undefined,
  };
}

const noneMet: readonly never[] = Object.freeze([]);

interface ServiceParts {
  readonly resolved: Resolved;
  readonly store: LedgerStore;
  readonly reading: LedgerReading;
  readonly timers: Services["timers"];
}

export function createServices(parts: ServiceParts): Omit<Services, "children" | "command"> {
  const { resolved, store, reading, timers } = parts;
  return {
    findEvent: (search) => findEvent({ store, now: resolved.clock.now }, search),
    waitUrl: (record, stepId) => tokenUrlOf(resolved.waitTokens, record, stepId),
    queuePlace: (record) => queuePlace({ store, now: resolved.clock.now }, record),
    queuedBefore: (record) => queuedBefore(store, record),
    security: resolved.security,
    timers,
    ensureInitialized: createInitializer(resolved),
    findSharedKey: (question) => findSharedKey({ store, reading }, question),
    findDraft: async (workflowId, stepId) => draftOfStep(await reading.readWorkflowState(workflowId), stepId),
  };
}

const initializing = {
  source: moduleRef(0, "kernel", "initialize"),
  onTimeout: "T0_KERNEL_INITIALIZE_FAILED",
  onThrow: "T0_KERNEL_INITIALIZE_FAILED",
  what: "initialize",
} as const;

/**
 * Makes the initializer: runs that start at once share one initialisation; a failed one is repeated by the next run
 * (LIF-04).
 */
function createInitializer({ options: { initialize }, clock, limits }: Resolved): Services["ensureInitialized"] {
  let ready = initialize === undefined;
  const begin = singleFlight(async () => {
    await callWithin(() => outside(() => initialize?.()), {
      ...initializing,
      clock,
      timeoutMs: limits.initializeTimeoutMs,
    });
    ready = true;
  });
  return () => (ready ? null : begin());
}

interface TierParts {
  readonly resolved: Resolved;
  readonly registry: Registry;
  readonly capabilityRegistry: CapabilityRegistry;
  readonly limiter: BudgetLimiter;
  readonly store: LedgerStore;
  readonly executor: Executor;
  readonly writer: ReturnType<typeof createLedgerWriter>;
  readonly tenantLog: TenantAppend;
  readonly places: Places;
  readonly grants: TenantRegistry;
  readonly standIns: TenantRegistry;
}

/** Returns whether a workflow that is awake runs: one that waits for a place has none. */
export const hasPlace = ({ log }: Mailbox): boolean => !log.exists || log.record.place !== "waiting";

function describeRunning({ log }: Mailbox): Running {
  const { workflow_id, tenant_id } = log.identity;
  return { workflow_id, tenant_id, principal: log.exists ? refOf(log.record.intent.actor) : null };
}

export function defineTiers({
  resolved,
  registry,
  capabilityRegistry,
  limiter,
  store,
  executor,
  writer,
  tenantLog,
  places,
  grants,
  standIns,
}: TierParts): readonly TierDefinition[] {
  const { options, security, classifier, scorers, planner, engine, authenticator, budgets, artifacts, matchMemory } =
    resolved;
  const { classification, confidence, grounding } = options.thresholds;
  const rename = (step: Parameters<typeof renameReferences>[0], renamed: ReadonlyMap<string, string>) =>
    renameReferences(step, renamed) as never;
  return [
    createFoundationTier({
      client: (operator, version) => registry.findOperator(operator, version)?.tool?.client ?? null,
      artifacts,
      holdsAnswers: options.security.validateOutput !== undefined,
    }),
    createPerceptionTier({
      registry,
      ...{ security, classifier, scorers },
      fallbackIntent: options.fallbackIntent,
      minConfidence: classification,
    }),
    createCognitionTier({
      append: tenantLog,
      version: (tenant, thread) => store.version(tenant, thread),
      memory: (query) => store.memory(query),
      documents: (tenant, wanted) => store.documents(tenant, wanted),
      matchMemory,
      threadWorkflows: (tenant_id, thread_id, limit) => store.listHeads({ tenant_id, thread_id, limit }),
    }),
    createPlanningTier({
      registry,
      planner,
      cuts: options.planner !== undefined,
      rename,
      takesSignatures: options.approverKeys !== undefined,
      same: resolved.same,
    }),
    createExecutionTier({ executor, writer, store }),
    createEgoTier({
      authenticator,
      engine,
      maxCost: budgets.maxCost,
      capabilityRegistry,
      limiter,
      ...{ same: resolved.same, federation: resolved.federation },
      ...{ grants: { known: grants, store }, standIns: { known: standIns, store } },
      signatures: { verifier: jwsVerifier, keysOf: options.approverKeys ?? null },
    }),
    createMetacognitionTier({
      scorers,
      thresholds: { confidence, grounding },
      domainPipelines: resolved.domainPipelines,
      publish: publisher(options, resolved.logger),
    }),
    createOrchestrationTier({
      ...{ places, limits: resolved.limits, models: resolved.models },
      running: () => executor.mailboxes().filter(hasPlace).map(describeRunning),
      charges: async (counters) => store.charges(null, counters),
    }),
  ];
}

/** Makes a publisher: outside listeners are called without being awaited, and their errors are logged. */
function publisher({ notify }: ReadOptions, logger: Resolved["logger"]): NonNullable<ReadOptions["notify"]> {
  if (notify === undefined) return () => undefined;
  const report = (error: unknown): void => logger.error({ error }, "a notification listener threw");
  return (notification) => queueMicrotask(() => callAside(() => notify(notification), report));
}

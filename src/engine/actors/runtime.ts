/**
 * The runtime: the dependencies that every tier receives. A tier uses nothing else of its environment.
 *
 * Owns: the limits by name, and the reading of a Result: ok and partial are consumed, an error is raised.
 */
import type { KernelError } from "../../contract/error.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { federationLimits } from "../../contract/federation.ts";
import type { IdSource } from "../../contract/ids.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Result } from "../../contract/result.ts";
import type { Signal, SignalFactory } from "../../contract/signal.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Logger, Telemetry } from "../../ports/telemetry.ts";
import type { Tier } from "./bus.ts";

/** Every limit of a kernel (law 10). Times in ms unless the name says otherwise, sizes in characters of JSON. */
export interface Limits {
  /**
   * The number of steps of one plan. A package's longer plan is refused (`T3_PLAN_TOO_LONG`); of a planner's the
   * further steps are skipped, with a warning.
   */
  readonly maxSteps: number;
  /** Steps of one workflow that run at once. */
  readonly maxConcurrentSteps: number;
  /** Plans that may follow one of which a step failed; with 0 the first failed step ends its workflow. */
  readonly maxReplans: number;
  /** The number of plans of one workflow, after failures and continuations alike. */
  readonly maxRounds: number;
  /** Levels of children below a workflow that a request began. */
  readonly maxChildDepth: number;
  /** Workflows that run at once; parked ones do not count. A child gets its place in any case. */
  readonly maxInFlight: number;
  /** The share of `maxInFlight` that one tenant may use, in percent; with 100 it may use all. */
  readonly inFlightTenantPercent: number;
  /** The share of `maxInFlight` that one principal may use, in percent; with 100 they may use all. */
  readonly inFlightPrincipalPercent: number;
  /**
   * Submits and accepted workflows that wait for a place at once, beyond which a submit is refused; tenants and
   * principals have the same shares of it.
   */
  readonly maxWaitingSubmits: number;
  /** The time that a submit waits for a place before its workflow is accepted and waits on; with 0 it is at once. */
  readonly submitWaitMs: number;
  /** The items of a list that one step may go through; a longer list is refused, not cut. */
  readonly maxItems: number;
  /** Questions between tiers that are unanswered at once. */
  readonly maxBusWaiting: number;
  /** One request, whole; also one evaluation report. */
  readonly maxRequestChars: number;
  /** The text of a request. */
  readonly maxTextChars: number;
  /** Levels of nesting in a request: at most 1,000. */
  readonly maxDepth: number;
  /** The result of one call, and each event and checkpoint that it records. */
  readonly maxOutputChars: number;
  /** The context that a planner and operators are given. */
  readonly maxBundleChars: number;
  /** Earlier workflows of the same thread that the context names. */
  readonly maxRecentEvents: number;
  /** Records of memory that the context takes in, of the thread, by name and by likeness each. */
  readonly maxMemoryRecords: number;
  /** Changes that one call may bring to a tenant's memory. */
  readonly maxSyncChanges: number;
  /** The value of one such change. */
  readonly maxMemoryChars: number;
  /** Evaluation reports that one workflow keeps. */
  readonly maxReports: number;
  /** Contexts that are kept for further plans. */
  readonly maxCachedBundles: number;
  /**
   * The number of events of workflows that wait for a person and are kept folded for an early decision, on a store that
   * reports whether anybody else has written. With 0 none are kept: each decision reads its workflow whole.
   */
  readonly maxRestingEvents: number;
  /**
   * The number of text chunks that one call may stream; further chunks, and text beyond `maxOutputChars` in all, are
   * left out.
   */
  readonly maxStreamChunks: number;
  /** Events and checkpoints that one call may record. */
  readonly maxCallRecords: number;
  /** Model routes that one attempt of a step may ask for. */
  readonly maxRoutes: number;
  /** Advice, loans, early decisions and used signatures that one gate keeps, of each kind. */
  readonly maxGateEntries: number;
  /** The workflows that one list examines for a text, and the different sets of people of one list of gates. */
  readonly maxListScanned: number;
  /**
   * The number of characters of logs against which one list of gates over many workflows is checked; gates beyond it
   * are marked as unchecked.
   */
  readonly maxListedLog: number;
  /** Restarts of one tier after crashes, before it stays down. */
  readonly maxTierRestarts: number;
  /**
   * Characters of events at which a row is written before its workflow decides further: a row is read and hashed in one
   * piece.
   */
  readonly maxRowChars: number;
  /** Rows of one transaction. */
  readonly maxBatch: number;
  /** The number of committed rows whose workflows continue before the process runs anything else. */
  readonly maxBurst: number;
  /** The time that a planner, or a package's plan function, may take. */
  readonly plannerTimeoutMs: number;
  /**
   * The number of times that rules may change one payload, with all rules judging it again each time, before it is
   * denied.
   */
  readonly maxPolicyRounds: number;
  /** The time that one rule may take before it denies. */
  readonly policyTimeoutMs: number;
  /** The time that the classifier may take. */
  readonly classifierTimeoutMs: number;
  /** The time that one check of `security` may take. */
  readonly securityTimeoutMs: number;
  /** The time that the authenticator and `approverKeys` may take. */
  readonly authenticatorTimeoutMs: number;
  /** The time that an operator's `preview` and its `check` may take. */
  readonly previewTimeoutMs: number;
  /** The time that one hook of a middleware may take. */
  readonly middlewareTimeoutMs: number;
  /** The time that `initialize` may take. */
  readonly initializeTimeoutMs: number;
  /** The time that the ledger may take to confirm that it can be written, when the kernel's readiness is asked for. */
  readonly checkTimeoutMs: number;
  /** The longest pause before a workflow whose log failed is folded again; it begins at a second and doubles. */
  readonly foldAgainMs: number;
  /** The time for which a process without a heartbeat keeps its workflows; it sends one each third of this time. */
  readonly leaseMs: number;
  /**
   * A workflow whose next step pauses for longer than this is parked in the ledger: no lease, no memory, a due time.
   */
  readonly restAfterMs: number;
  /** The interval at which a workflow's owner looks for appends of other processes. */
  readonly tailPollMs: number;
  /** The time for which an event from outside is kept for a step that does not wait for it yet. */
  readonly eventTtlMs: number;
  /**
   * The age of a schedule's instant, beyond its jitter, at which it has been missed: its `catch_up` says whether it is
   * begun.
   */
  readonly missedAfterMs: number;
  /** The instants that one backfill of a schedule may name. */
  readonly maxBackfill: number;
  /** The time before a gate falls due at which people are reminded, at the earliest when half of its time is over. */
  readonly dueSoonMs: number;
  /** The time that a notifier may take over one notice. */
  readonly deliveryTimeoutMs: number;
  /** Attempts at one notice before it is given up. */
  readonly maxDeliveryAttempts: number;
  /** The longest pause between two attempts; the first is a second, and each doubles. */
  readonly maxDeliveryPauseMs: number;
  /** Notices that one notifier is given at once. */
  readonly maxDeliveriesInFlight: number;
  /**
   * The size of the newest part of a followed log that is kept for its readers; a reader further behind reads the log.
   */
  readonly maxTailChars: number;
  /** The size of the logs of one tenant's workflows that are kept folded for readers of its feed. */
  readonly maxFeedChars: number;
}

/** The default limits of a kernel. */
export const defaultLimits: Limits = Object.freeze({
  maxSteps: 10,
  maxConcurrentSteps: 5,
  maxReplans: 2,
  maxRounds: 32,
  maxChildDepth: 8,
  maxInFlight: 1024,
  inFlightTenantPercent: 75,
  inFlightPrincipalPercent: 50,
  maxWaitingSubmits: 10_000,
  submitWaitMs: 1_000,
  maxItems: 10_000,
  maxBusWaiting: 65_536,
  maxRequestChars: 1_000_000,
  maxTextChars: 100_000,
  maxDepth: 64,
  maxOutputChars: 4_000_000,
  maxBundleChars: 64_000,
  maxRecentEvents: 20,
  maxMemoryRecords: 20,
  ...federationLimits,
  maxReports: 100,
  maxCachedBundles: 256,
  maxRestingEvents: 4096,
  maxStreamChunks: 10_000,
  maxCallRecords: 1_000,
  maxRoutes: 32,
  maxGateEntries: 1_000,
  maxListScanned: 1_000_000,
  maxListedLog: 1_000_000,
  maxTierRestarts: 1_000,
  maxRowChars: 500_000,
  maxBatch: 64,
  maxBurst: 16,
  plannerTimeoutMs: 30_000,
  maxPolicyRounds: 4,
  policyTimeoutMs: 5_000,
  classifierTimeoutMs: 5_000,
  securityTimeoutMs: 5_000,
  authenticatorTimeoutMs: 5_000,
  previewTimeoutMs: 10_000,
  middlewareTimeoutMs: 30_000,
  initializeTimeoutMs: 60_000,
  checkTimeoutMs: 2_000,
  foldAgainMs: 60_000,
  leaseMs: 30_000,
  restAfterMs: 2_000,
  tailPollMs: 250,
  eventTtlMs: 604_800_000,
  missedAfterMs: 60_000,
  maxBackfill: 10_000,
  dueSoonMs: 3_600_000,
  deliveryTimeoutMs: 10_000,
  maxDeliveryAttempts: 30,
  maxDeliveryPauseMs: 3_600_000,
  maxDeliveriesInFlight: 8,
  maxTailChars: 256_000,
  maxFeedChars: 4_000_000,
});

export interface Runtime {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly signals: SignalFactory;
  readonly limits: Limits;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  readonly ask: (to: Tier, signal: Signal) => Promise<Result>;
  /** Asks as `ask` does; returns the Result itself if it is available at once. */
  readonly askNow: (to: Tier, signal: Signal) => Result | Promise<Result>;
  /** Publishes without expecting an answer. */
  readonly send: (to: Tier, signal: Signal) => void;
}

const consumeRef = moduleRef(4, "ooda_loop", "consume");

/**
 * Returns the signals of an upstream Result: all of ok, the present ones of partial (its error is logged), none of
 * skip.
 * @throws KernelErrorException the error of an error Result.
 */
export function consume(result: Result, log: (error: KernelError) => void): readonly Signal[] {
  if (result.status === "error")
    raise(result.error ?? kernelError("T0_TIER_CRASHED", "an error Result without an error", consumeRef));
  if (result.status === "partial" && result.error !== null) log(result.error);
  return result.signals;
}

/** Returns the data of the first DATA signal of a Result. */
export function dataOf<T>(result: Result, log: (error: KernelError) => void = () => undefined): T {
  const [signal] = consume(result, log);
  if (signal === undefined || signal.kind !== "data")
    raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", "the answer carries no data", consumeRef));
  return signal.body["data"] as T;
}

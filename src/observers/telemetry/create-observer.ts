/**
 * createObserver: spans, metrics and a log of what a kernel commits. It is the kernel's `telemetry` option.
 *
 * Owns: the distribution of commits to its parts. Never: affects a workflow; asks the kernel for anything but gauges.
 * 1.  An error of a tracer, a meter or a logger is counted and goes no further.
 * 2.  All reports are based on committed events and carry their instants.
 * 3.  At most `maxLives` running lives are held; after `stop` none are.
 */
import { context, type Meter, type Tracer } from "@opentelemetry/api";
import { z } from "zod";
import type { CapabilityDefinition } from "../../contract/capability.ts";
import { limitsOf, objectWith } from "../../contract/host-object.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Operator } from "../../contract/operator.ts";
import type { Commit, Kernel, LedgerStore, Logger, Telemetry } from "../../index.ts";
import { type LifeListener, Lifetimes } from "./lifetimes.ts";
import { logCommit } from "./log-commit.ts";
import { type HttpRequestSeen, logRequest } from "./log-request.ts";
import { MeterInstruments } from "./meter-instruments.ts";
import { MetricRecorder } from "./metric-recorder.ts";
import { observeLedger } from "./observe-ledger.ts";
import { observeProcess } from "./observe-process.ts";
import { prometheusMeter } from "./prometheus-meter.ts";
import { SpanRecorder } from "./span-recorder.ts";
import { traceCapability, traceOperator } from "./trace-operators.ts";
import type { WorkflowIds } from "./workflow-ids.ts";

/** The default limits of an observer. */
export const defaultObserverLimits = {
  /**
   * The number of workflows, steps, calls and gates under way that are remembered; the longest idle ones are dropped
   * first.
   */
  maxLives: 20_000,
  /** Values that one label may take; further ones are "other". */
  maxLabelValues: 200,
  /** The maximum number of open gates that the gauge counts. */
  maxGatesCounted: 1_000,
} as const;
/** Limits of an observer, by name. */
export type ObserverLimits = { readonly [K in keyof typeof defaultObserverLimits]: number };

const Options = z.strictObject({
  /** The tracer of an OpenTelemetry SDK; without it there are no spans. */
  tracer: objectWith<Tracer>("startSpan").optional(),
  /** The id generator that the tracer's SDK was given: then traces stay whole across restarts and processes. */
  ids: objectWith<WorkflowIds>().optional(),
  /** The meter of an OpenTelemetry SDK; without it there are no OpenTelemetry metrics. */
  meter: objectWith<Meter>("createCounter").optional(),
  /** Receives events that people should know: gates, refusals, failures, calls in doubt. */
  logger: objectWith<Logger>("info", "warn", "error").optional(),
  /** Whether measurements are labelled with the tenant; enable it only for few tenants. */
  tenantLabel: z.boolean().default(false),
  /** Limits that replace those of `defaultObserverLimits`. */
  limits: limitsOf<ObserverLimits>(defaultObserverLimits, ["maxLives", "maxLabelValues", "maxGatesCounted"]),
});
/**
 * The options of an observer. A missing one disables its part: without a tracer no spans, without a meter no
 * OpenTelemetry metrics.
 */
export interface ObserverOptions extends Readonly<z.input<typeof Options>> {}
type Read = Omit<z.output<typeof Options>, "ids"> & { readonly ids?: WorkflowIds | null | undefined };

/** Spans, metrics and a log of what a kernel commits; it is the option `telemetry`. */
export interface Observer extends Telemetry {
  readonly committed: (commit: Commit) => void;
  /** Returns the same operator, or a package of them, whose calls run in the context of their span. */
  readonly traced: <T extends Operator | CapabilityDefinition>(given: T) => T;
  /** Returns the same store, whose transactions are measured. */
  readonly ledger: (store: LedgerStore) => LedgerStore;
  /** Measures and logs a request; it is the HTTP app's `observe`. */
  readonly http: (seen: HttpRequestSeen) => void;
  /** Gauges of this process and its kernels, all that are watched together, until the function it gives is called. */
  readonly watch: (kernel: Kernel) => () => void;
  /** Everything measured so far, in Prometheus' text. */
  readonly prometheus: () => Promise<string>;
  /** Returns the number of remembered lives. */
  readonly size: () => number;
  /**
   * Drops everything and receives nothing more. Spans of running work are reported by the process that continues it.
   */
  readonly stop: () => void;
}

interface Parts {
  readonly lifetimes: Lifetimes;
  readonly metrics: MetricRecorder;
  readonly spans: SpanRecorder | null;
  readonly prometheus: () => Promise<string>;
  readonly instruments: MeterInstruments;
  readonly guard: Guard;
}

/** Runs work that may throw; null if it did. */
type Guard = <T>(work: () => T) => T | null;

/**
 * Creates the observer of a kernel's commits: its option `telemetry`, which makes spans, metrics and log lines.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for an invalid option.
 */
export function createObserver(given: ObserverOptions = {}): Observer {
  const source = moduleRef(0, "telemetry", "createObserver");
  const options = readStrictly(Options, given, { what: "createObserver", source });
  const { limits, logger } = options;
  const models = new Set<string>();
  const parts = createParts(options, (operator) => models.has(operator));
  const { lifetimes, metrics, spans, prometheus, instruments, guard } = parts;
  const watched = watchKernels((kernels) => observeProcess(kernels, instruments, limits));
  let stopped = false;
  const enter = contextFinder(parts);
  return {
    mark(stage, { notifier, outcome, kind }) {
      if (stopped) return;
      if (stage === "take_up") guard(() => metrics.record("takeUps", 1, { kind: String(kind) }));
      if (stage === "notice")
        guard(() => metrics.record("notices", 1, { notifier: String(notifier), outcome: String(outcome) }));
    },
    committed(commit) {
      if (stopped) return;
      guard(() => metrics.took(commit));
      guard(() => lifetimes.take(commit));
      if (logger !== undefined) logCommit(commit, logger, guard);
    },
    traced: (given) => (spans === null ? given : traceEither(given, enter, (name) => models.add(name))),
    ledger: (store) => observeLedger(store, metrics, guard),
    http(seen) {
      if (stopped) return;
      guard(() => metrics.record("httpDuration", seen.ms / 1000, httpLabels(seen)));
      guard(() => logger && logRequest(seen, logger));
    },
    watch: watched.add,
    prometheus,
    size: () => lifetimes.size,
    stop() {
      stopped = true;
      lifetimes.forgetAll();
      watched.clear();
    },
  };
}

/** Watches the kernels of the process, whose gauges are reported together. */
function watchKernels(begin: (kernels: () => readonly Kernel[]) => () => void) {
  const watches = new Set<{ readonly kernel: Kernel }>();
  let end: (() => void) | null = null;
  const stop = (): void => {
    end?.();
    end = null;
  };
  return {
    add(kernel: Kernel) {
      const watch = { kernel };
      watches.add(watch);
      end ??= begin(() => [...new Set([...watches].map((each) => each.kernel))]);
      return () => {
        if (watches.delete(watch) && watches.size === 0) stop();
      };
    },
    clear() {
      watches.clear();
      stop();
    },
  };
}

function createParts(
  { tracer, meter, ids = null, tenantLabel, limits: { maxLabelValues, maxLives } }: Read,
  isModel: (operator: string) => boolean,
): Parts {
  const own = prometheusMeter();
  // The host's meter comes last: if it throws, Prometheus has the measurement already.
  const instruments = new MeterInstruments([own.meter, ...(meter === undefined ? [] : [meter])]);
  const metrics = new MetricRecorder(instruments, { maxLabelValues, tenantLabel });
  const fail = () => {
    try {
      instruments.record("failures", 1);
    } catch {
      // The host's meter threw again. Prometheus has counted the failure already.
    }
    return null;
  };
  const guard: Guard = (work) => {
    try {
      const made = work();
      // A logger may well be async.
      if (made instanceof Promise) made.catch(fail);
      return made;
    } catch {
      return fail();
    }
  };
  const spans = tracer === undefined ? null : new SpanRecorder(tracer, ids, isModel);
  const listeners = [metrics, ...(spans === null ? [] : [spans])];
  const lifetimes = new Lifetimes(guardListeners(listeners, guard), maxLives);
  return { lifetimes, metrics, spans, prometheus: () => own.text(fail), instruments, guard };
}

const guardListeners = (listeners: readonly LifeListener[], guard: Guard): LifeListener => ({
  began(life, record) {
    for (const listener of listeners) guard(() => listener.began(life, record));
  },
  ended(life, end) {
    for (const listener of listeners) guard(() => listener.ended(life, end));
  },
  forgotten(life) {
    for (const listener of listeners) guard(() => listener.forgotten(life));
  },
});

const httpLabels = ({ method, route, status }: HttpRequestSeen) => ({
  "http.request.method": method,
  "http.route": route,
  "http.response.status_code": String(status),
});

/** The context of a call's span, if it has one. */
const contextFinder =
  ({ lifetimes, spans, guard }: Parts) =>
  (workflowId: string, stepId: string, attempt: number) =>
    guard(() => {
      const life = lifetimes.attemptOf(workflowId, stepId, attempt);
      return life === null ? null : (spans?.contextOf(life, context.active()) ?? null);
    });

function traceEither<T extends Operator | CapabilityDefinition>(
  given: T,
  enter: ReturnType<typeof contextFinder>,
  onModel: (name: string) => void,
): T {
  if ("intentType" in given) return traceCapability(given, enter, onModel) as T;
  return traceOperator(given, enter, onModel) as T;
}

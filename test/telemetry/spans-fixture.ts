/**
 * A real SDK with an exporter in memory, and its spans in words that tests can compare.
 * Owns: the tracer of a test. Never: asserts anything.
 */
import type { HrTime } from "@opentelemetry/api";
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { LedgerEvent } from "../../src/index.ts";
import type { Kernel } from "../../src/kernel/kernel-interface.ts";
import { createObserver, type ObserverOptions, workflowIds } from "../../src/observers/telemetry/index.ts";

export interface Tracing {
  readonly options: Pick<ObserverOptions, "tracer" | "ids">;
  /** Spans that were started, ended or not. */
  readonly started: () => number;
  /** Spans that have ended, in the order of their ends. */
  readonly spans: () => readonly ReadableSpan[];
}

/** Without `derived` the SDK makes ids of its own. */
export function openTracing({ derived = true } = {}): Tracing {
  const exporter = new InMemorySpanExporter();
  const ids = workflowIds();
  let started = 0;
  const count = {
    onStart: () => {
      started += 1;
    },
    onEnd: () => undefined,
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  const provider = new TracerProvider({
    spanProcessors: [count, new SimpleSpanProcessor({ exporter })],
    ...(derived ? { idGenerator: ids } : {}),
  });
  return {
    options: { tracer: provider.getTracer("countersign"), ...(derived ? { ids } : {}) },
    started: () => started,
    spans: () => exporter.getFinishedSpans(),
  };
}

export function openObserver({ derived = true, ...more }: ObserverOptions & { readonly derived?: boolean } = {}) {
  const tracing = openTracing({ derived });
  return { ...tracing, observer: createObserver({ ...tracing.options, ...more }) };
}

export const msOf = ([seconds, nanos]: HrTime): number => seconds * 1000 + nanos / 1_000_000;

export function hrTimeOf(timestamp = ""): HrTime {
  const ms = Date.parse(timestamp);
  return [Math.floor(ms / 1000), (ms % 1000) * 1_000_000];
}

/** `name under parent`, with how it ended. */
export const describeSpan = (span: ReadableSpan, all: readonly ReadableSpan[]): string => {
  const parent = all.find((s) => s.spanContext().spanId === span.parentSpanContext?.spanId);
  const under = span.parentSpanContext === undefined ? "root" : (parent?.name ?? "nowhere");
  const error = span.attributes["error.type"];
  return `${span.name} < ${under}: ${span.attributes["countersign.outcome"]}${error === undefined ? "" : ` ${error}`}`;
};

export const describeSpans = (all: readonly ReadableSpan[]): readonly string[] =>
  all.map((span) => describeSpan(span, all));

export const named = (all: readonly ReadableSpan[], name: string): readonly ReadableSpan[] =>
  all.filter((span) => span.name === name);

export async function eventsOf(kernel: Kernel, workflowId: string): Promise<readonly LedgerEvent[]> {
  return Array.fromAsync(kernel.events(workflowId, { live: false }));
}

/** The instants of a workflow's events of a type, epoch ms. */
export async function instantsOf(kernel: Kernel, workflowId: string, type: string): Promise<readonly number[]> {
  const events = await eventsOf(kernel, workflowId);
  return events.filter((e) => e.event_type === type).map((e) => Date.parse(e.timestamp));
}

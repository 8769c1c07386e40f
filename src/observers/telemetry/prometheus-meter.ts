/**
 * A meter that Prometheus scrapes: a meter provider of this package's own, whose measurements OpenTelemetry's
 * Prometheus exporter writes as text. It contains nothing of the host's, and the host's SDK contains nothing of it.
 *
 * Owns: the names in Prometheus' form. Never: listens on a port.
 */
import type { Meter } from "@opentelemetry/api";
import { PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { AggregationTemporality, InstrumentType, MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import { type InstrumentName, instrumentNames, rowOf } from "./instruments.ts";

export interface PrometheusMeter {
  readonly meter: Meter;
  /** Returns all measurements in Prometheus' text format. `onError` receives the error of a gauge's callback. */
  readonly text: (onError: (thrown: unknown) => void) => Promise<string>;
}

/** A reader that collects when it is asked. */
class ScrapeReader extends MetricReader {
  constructor() {
    super({
      // A cumulative gauge would show its last value for ever, although nobody observes it any more.
      aggregationTemporalitySelector: (type) =>
        type === InstrumentType.OBSERVABLE_GAUGE ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE,
    });
  }

  protected override async onForceFlush(): Promise<void> {
    // There is nothing to flush: it pushes nothing.
  }

  protected override async onShutdown(): Promise<void> {
    // There is nothing to close: it does not listen.
  }
}

export function prometheusMeter(): PrometheusMeter {
  const reader = new ScrapeReader();
  const serializer = new PrometheusSerializer("", false, undefined, true, true);
  const views = instrumentNames.map((name) => ({
    instrumentName: rowOf(name).name,
    name: prometheusNameOf(name),
    // The metric recorder bounds the values of each label; the SDK's own bound would merge combinations of them.
    aggregationCardinalityLimit: Number.MAX_SAFE_INTEGER,
  }));
  const meter = new MeterProvider({ readers: [reader], views }).getMeter("countersign");
  return {
    meter,
    async text(onError) {
      const { resourceMetrics, errors } = await reader.collect();
      for (const error of errors) onError(error);
      // The names contain the units, and version 0.0.4 of the text format has no UNIT line.
      return serializer.serialize(resourceMetrics).replaceAll(/^# UNIT .*\n/gm, "");
    },
  };
}

/** Prometheus' spelling: `countersign_workflow_duration_seconds`, `countersign_tokens_total`. */
export function prometheusNameOf(name: InstrumentName): string {
  const { kind, name: spelled, unit } = rowOf(name);
  const base = `${spelled.replaceAll(".", "_")}${unit === "s" ? "_seconds" : ""}`;
  return kind === "counter" ? `${base}_total` : base;
}

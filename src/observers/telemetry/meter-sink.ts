/**
 * Measurements to an OpenTelemetry meter: one instrument a row of the table.
 */
import type { Counter, Histogram, Meter, ObservableGauge, ObservableResult } from "@opentelemetry/api";
import { type InstrumentName, instrumentNames, type MetricSink, rowOf } from "./instruments.ts";

export function meterSink(meter: Meter): MetricSink {
  const recorders = new Map<InstrumentName, (value: number, labels: Readonly<Record<string, string>>) => void>();
  const gauges = new Map<InstrumentName, ObservableGauge>();
  for (const name of instrumentNames) {
    const made = createInstrument(meter, name);
    if ("add" in made) recorders.set(name, (value, labels) => made.add(value, labels));
    else if ("record" in made) recorders.set(name, (value, labels) => made.record(value, labels));
    else gauges.set(name, made);
  }
  return {
    record: (name, value, labels) => recorders.get(name)?.(value, labels),
    watch(name, read) {
      const observe = async (result: ObservableResult): Promise<void> => result.observe(await read());
      const gauge = gauges.get(name);
      gauge?.addCallback(observe);
      return () => gauge?.removeCallback(observe);
    },
  };
}

function createInstrument(meter: Meter, name: InstrumentName): Counter | Histogram | ObservableGauge {
  const { kind, name: spelled, unit, help: description, buckets } = rowOf(name);
  if (kind === "counter") return meter.createCounter(spelled, { unit, description });
  if (kind === "gauge") return meter.createObservableGauge(spelled, { unit, description });
  const advice = buckets === undefined ? {} : { advice: { explicitBucketBoundaries: [...buckets] } };
  return meter.createHistogram(spelled, { unit, description, ...advice });
}

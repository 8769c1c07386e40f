/**
 * The instruments of the table on OpenTelemetry meters: the meter of this package, which Prometheus scrapes, and the
 * host's.
 */
import type { Counter, Histogram, Meter, ObservableGauge, ObservableResult } from "@opentelemetry/api";
import { type InstrumentName, instrumentNames, type Labels, rowOf } from "./instruments.ts";

type Instrument = Counter | Histogram | ObservableGauge;

export class MeterInstruments {
  readonly #instruments: ReadonlyMap<InstrumentName, readonly Instrument[]>;

  constructor(meters: readonly Meter[]) {
    this.#instruments = new Map(
      instrumentNames.map((name) => [name, meters.map((meter) => createInstrument(meter, name))]),
    );
  }

  /** Adds to a counter, or records a value of a histogram. */
  record(name: InstrumentName, value: number, labels: Labels = {}): void {
    for (const instrument of this.#instruments.get(name) ?? []) {
      if ("add" in instrument) instrument.add(value, labels);
      else if ("record" in instrument) instrument.record(value, labels);
    }
  }

  /** Calls `read` whenever a gauge is collected, until the returned function is called. */
  watch(name: InstrumentName, read: () => number | Promise<number>): () => void {
    const observe = async (result: ObservableResult): Promise<void> => result.observe(await read());
    const gauges = (this.#instruments.get(name) ?? []).filter((instrument) => "addCallback" in instrument);
    for (const gauge of gauges) gauge.addCallback(observe);
    return () => {
      for (const gauge of gauges) gauge.removeCallback(observe);
    };
  }
}

function createInstrument(meter: Meter, key: InstrumentName): Instrument {
  const { kind, name, unit, help: description, labels, buckets } = rowOf(key);
  if (kind === "gauge") return meter.createObservableGauge(name, { unit, description });
  if (kind === "histogram") {
    const advice = buckets === undefined ? {} : { advice: { explicitBucketBoundaries: [...buckets] } };
    return meter.createHistogram(name, { unit, description, ...advice });
  }
  const counter = meter.createCounter(name, { unit, description });
  // A counter without labels is exported from the beginning, so that its first increase is seen as one.
  if (labels.length === 0) counter.add(0);
  return counter;
}

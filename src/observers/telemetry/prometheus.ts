/**
 * Measurements in Prometheus' text, over a registry of its own: nothing of the host's is in it, and nothing of ours in the
 * host's.
 */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { type InstrumentName, instrumentNames, type Labels, type MetricSink, rowOf } from "./instruments.ts";

export interface PrometheusSink extends MetricSink {
  /** The text that a scrape gets, and its content type. */
  readonly text: () => Promise<string>;
  readonly contentType: string;
}

/** With `extraLabels` every instrument that has labels has these too. */
export function prometheusSink(extraLabels: readonly string[] = []): PrometheusSink {
  const registry = new Registry();
  const recorders = new Map<InstrumentName, (value: number, labels: Labels) => void>();
  const readers = new Map<InstrumentName, () => number | Promise<number>>();
  for (const name of instrumentNames) {
    const record = addMetric(registry, name, { readers, extraLabels });
    if (record !== null) recorders.set(name, record);
  }
  return {
    record: (name, value, labels) => recorders.get(name)?.(value, labels),
    watch(name, read) {
      readers.set(name, read);
      return () => {
        if (readers.get(name) === read) readers.delete(name);
      };
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

/** Prometheus' spelling: `countersign_workflow_duration_seconds`, `countersign_tokens_total`. */
export function prometheusNameOf(name: InstrumentName): string {
  const { kind, name: spelled, unit } = rowOf(name);
  const base = `${spell(spelled)}${unit === "s" ? "_seconds" : ""}`;
  return kind === "counter" ? `${base}_total` : base;
}

const spell = (name: string): string => name.replaceAll(".", "_");

const spellLabels = (labels: Labels): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).map(([name, value]) => [spell(name), value]));

interface Adding {
  readonly readers: ReadonlyMap<InstrumentName, () => number | Promise<number>>;
  readonly extraLabels: readonly string[];
}

function addMetric(
  registry: Registry,
  instrument: InstrumentName,
  { readers, extraLabels }: Adding,
): ((value: number, labels: Labels) => void) | null {
  const { kind, help, labels, buckets } = rowOf(instrument);
  const labelNames = labels.length === 0 ? [] : [...labels, ...extraLabels].map(spell);
  // Most labels are spelled the same in both.
  const spelled = labels.some((label) => label !== spell(label)) ? spellLabels : (given: Labels) => given;
  const base = { name: prometheusNameOf(instrument), help, labelNames, registers: [registry] };
  if (kind === "counter") {
    const counter = new Counter(base);
    return (value, given) => counter.inc(spelled(given), value);
  }
  if (kind === "histogram") {
    const histogram = new Histogram({ ...base, ...(buckets === undefined ? {} : { buckets: [...buckets] }) });
    return (value, given) => histogram.observe(spelled(given), value);
  }
  new Gauge({
    ...base,
    async collect() {
      const read = readers.get(instrument);
      if (read === undefined) this.remove();
      else this.set(await read());
    },
  });
  return null;
}

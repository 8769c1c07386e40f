/**
 * A reader of Prometheus' text format, as strict as a scraper: comments are HELP and TYPE, a sample is a name, labels
 * and a number, its family was announced, and no sample comes twice.
 */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Samples {
  readonly all: readonly Sample[];
  /** Families by name, with their type. */
  readonly types: ReadonlyMap<string, string>;
  /** Of all samples of the name that have these labels. */
  readonly sum: (name: string, labels?: object) => number;
}

const sampleLine = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (NaN|[+-]?Inf|[-+.\de]+)$/;
const labelPair = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;

export function readSamples(text: string): Samples {
  if (!text.endsWith("\n")) throw new Error("the last line does not end");
  const types = new Map<string, string>();
  const all: Sample[] = [];
  for (const line of text.split("\n").filter((each) => each !== "")) {
    const [, type, family = "", kind = ""] = /^# (TYPE|HELP) (\S+) (.+)$/.exec(line) ?? [];
    if (type === "TYPE") types.set(family, kind);
    if (line.startsWith("#") && type === undefined) throw new Error(`no comment of the format: ${line}`);
    if (!line.startsWith("#")) all.push(readSample(line));
  }
  for (const { name } of all) if (!isAnnounced(name, types)) throw new Error(`${name} has no TYPE`);
  const keys = all.map(({ name, labels }) => JSON.stringify([name, Object.entries(labels).sort()]));
  if (new Set(keys).size !== keys.length) throw new Error("a sample comes twice");
  const has = (sample: Sample, labels: object): boolean =>
    Object.entries(labels).every(([label, value]) => sample.labels[label] === value);
  return {
    all,
    types,
    sum: (name, labels = {}) =>
      all.filter((s) => s.name === name && has(s, labels)).reduce((sum, { value }) => sum + value, 0),
  };
}

function readSample(line: string): Sample {
  const [, name, inside = "", value] = sampleLine.exec(line) ?? [];
  if (name === undefined) throw new Error(`no sample: ${line}`);
  const labels: Record<string, string> = {};
  labelPair.lastIndex = 0;
  for (let at = 0; at < inside.length; at = labelPair.lastIndex) {
    const [, label, text] = labelPair.exec(inside) ?? [];
    if (label === undefined) throw new Error(`no label at ${at} of ${inside}`);
    labels[label] = text ?? "";
  }
  return { name, labels, value: Number(value) };
}

const isAnnounced = (name: string, types: ReadonlyMap<string, string>): boolean =>
  types.has(name) || types.get(name.replace(/_(bucket|sum|count)$/, "")) === "histogram";

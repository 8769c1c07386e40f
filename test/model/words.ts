/**
 * The events of a chart, read off the chart: each that it declares, and where guards read an event, one for each way
 * through them. A transition that is added to a machine is here at once.
 *
 * V1  Two events of a type that take the same transitions in every state are one word; the plainest stands for it.
 */
import type { AnyMachineSnapshot, AnyStateMachine } from "xstate";
import { compileChart } from "../../machines/index.ts";
import { eventsOf, type ProbeEvent, event as probe } from "../machines/interpreter.ts";

/** The part of an event that the charts read; without the fields that no guard reads in an event of its type. */
export type ChartEvent = Partial<ProbeEvent> & { readonly type: string };

/** Every value that any guard tells from others, the plainest first. */
const fields = {
  action: ["deny", "allow"],
  pending: [false, true],
  final: [false, true],
  resolution: ["failed", "retry", "done"],
  status: [null, "failed"],
  cause: [null, "basis"],
  label: [null, "dependency_cancelled"],
  recovered: [false, true],
  gates: [["gate-one"], []],
  compensating: [false, true],
  answer: [null, { ok: true }],
} as const satisfies { readonly [F in keyof Omit<ProbeEvent, "type">]: readonly ProbeEvent[F][] };
type Field = keyof typeof fields;
const fieldNames = Object.keys(fields) as readonly Field[];

const combinations = fieldNames.reduce<readonly Partial<ProbeEvent>[]>(
  (all, field) => all.flatMap((one) => fields[field].map((value) => ({ ...one, [field]: value }))),
  [{}],
);

/** A chart's words, and the word for what a ledger holds. */
export interface Words {
  readonly all: readonly ChartEvent[];
  /** Null for an event that is not of this chart. */
  readonly wordFor: (type: string, payload?: object) => ChartEvent | null;
}

export function wordsOf(machine: AnyStateMachine): Words {
  const tell = createTeller(machine);
  const byType = new Map(eventsOf(machine).map((type) => [type, wordsFor(type, tell)] as const));
  return {
    all: [...byType.values()].flatMap((words) => [...words.values()]),
    wordFor: (type, payload = {}) => byType.get(type)?.get(tell(probe(type, knownFields(payload)))) ?? null,
  };
}

const knownFields = (payload: object): Partial<ProbeEvent> =>
  Object.fromEntries(Object.entries(payload).filter(([key]) => key in fields));

type Teller = (event: ProbeEvent) => string;

/** Which transitions an event takes, state by state, as a text. */
function createTeller(machine: AnyStateMachine): Teller {
  const states = compileChart(machine).states.map((path) => stateAt(machine, path));
  const numbers = new Map<unknown, number>();
  const numberOf = (transition: unknown): number => {
    if (!numbers.has(transition)) numbers.set(transition, numbers.size);
    return numbers.get(transition) as number;
  };
  return (event) => states.map((state) => machine.getTransitionData(state as never, event).map(numberOf)).join(";");
}

/** `running.calling` as the snapshot of a machine that is there. */
function stateAt(machine: AnyStateMachine, path: string): AnyMachineSnapshot {
  const value = path
    .split(".")
    .reduceRight<unknown>((inner, part) => (inner === null ? part : { [part]: inner }), null);
  return machine.resolveState({ value: value as never, context: {} as never });
}

/** The words of a type by what they do. */
function wordsFor(type: string, tell: Teller): ReadonlyMap<string, ChartEvent> {
  const probes = combinations.map((chosen) => probe(type, chosen));
  const read = fieldNames.filter((field) =>
    probes.some((one) => fields[field].some((value) => tell({ ...one, [field]: value }) !== tell(one))),
  );
  const words = new Map<string, ChartEvent>();
  for (const one of probes) {
    const meaning = tell(one);
    if (!words.has(meaning))
      words.set(meaning, { type, ...Object.fromEntries(read.map((field) => [field, one[field]])) });
  }
  return words;
}

/** `GATE_EXPIRED(allow)`, `ACTION_FAILED(pending)`. */
export function nameOf({ type, ...read }: ChartEvent): string {
  const told = Object.entries(read).flatMap(([field, value]) => {
    if (Array.isArray(value)) return value.length === 0 ? `no ${field}` : [];
    if (typeof value === "object") return value === null ? [] : field;
    return value === true ? field : value || [];
  });
  return told.length === 0 ? type : `${type}(${told.join(", ")})`;
}

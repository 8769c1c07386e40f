/**
 * The facts by which gates of one kind are told apart: the short members of what would run, numbers first.
 *
 * Never: leaves out what is decided on; the gate itself shows all of it.
 */
import type { Gate } from "../../../src/contract/gate.ts";
import type { Json } from "../../../src/contract/json.ts";
import { spaced } from "../words.ts";

export interface KeyFact {
  readonly name: string;
  readonly value: string | number;
}

const maxChars = 60;

/** A link, a digest or an id tells a person little. */
const isTelling = (value: string): boolean =>
  value !== "" && value.length <= maxChars && !/\n|^https?:|^[0-9a-f]{32,}$|^[a-z]{2,4}_[0-9A-Z]{26}$/.test(value);

/** Returns the facts of a gate in the order of its payload, numbers first; none where it is cut or no record. */
export function keyFacts({ payload, kind }: Pick<Gate, "payload" | "kind">): readonly KeyFact[] {
  if (kind === "ask" || typeof payload !== "object" || payload === null || Array.isArray(payload)) return [];
  const facts = Object.entries(payload as Readonly<Record<string, Json>>).flatMap(([name, value]): KeyFact[] =>
    typeof value === "number" || (typeof value === "string" && isTelling(value)) ? [{ name: spaced(name), value }] : [],
  );
  return [...facts.filter(isNumber), ...facts.filter((fact) => !isNumber(fact))];
}

const isNumber = ({ value }: KeyFact): boolean => typeof value === "number";

export const tellFact = (value: string | number): string =>
  typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 6 }) : value;

/** Returns the names that the facts of several gates have, the most frequent first; at most `most`. */
export function sharedNames(all: readonly (readonly KeyFact[])[], most: number): readonly string[] {
  const counts = new Map<string, number>();
  for (const { name } of all.flat()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, most)
    .map(([name]) => name);
}

/** Returns the sum of each number that all of the gates have, by name. A sum of binary fractions is rounded. */
export function sumsOf(all: readonly (readonly KeyFact[])[]): readonly KeyFact[] {
  const [first = []] = all;
  return first.filter(isNumber).flatMap(({ name }) => {
    const values = all.map((facts) => facts.find((fact) => fact.name === name)?.value);
    if (!values.every((value) => typeof value === "number")) return [];
    return [{ name, value: Math.round(1e6 * values.reduce((sum, value) => sum + value, 0)) / 1e6 }];
  });
}

/** Returns why a person is asked: in the words of the plan if it asked, else of the operator, else of the rules. */
export function tellWhy({ kind, reasons }: Pick<Gate, "kind" | "reasons">): string {
  if (kind === "in_doubt") return "a call ended without an answer: nobody knows whether it happened";
  const of = (wanted: string) => reasons.find(({ source }) => source === wanted);
  return (of("plan") ?? of("operator") ?? reasons[0])?.reason ?? "";
}

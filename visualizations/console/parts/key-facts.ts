/**
 * The facts by which gates of one kind are told apart: the short ones of those that the gate shows, numbers first.
 *
 * Never: leaves out what is decided on; the gate itself shows all of it.
 */
import type { Gate } from "../../../src/contract/gate.ts";
import type { PresentedFact } from "../../../src/contract/present.ts";
import { tellFact as tellPresented } from "../../../src/protocol/present-facts.ts";

export interface KeyFact {
  readonly name: string;
  readonly value: string | number;
  /** The value as it is shown, if that is more than the value: an amount with its currency. It is never summed. */
  readonly text?: string;
}

const maxChars = 60;
const telling: readonly PresentedFact["format"][] = ["text", "date", "person"];

/** A link, a digest or an id tells a person little. */
const isTelling = (value: string): boolean =>
  value !== "" && value.length <= maxChars && !/\n|^https?:|^[0-9a-f]{32,}$|^[a-z]{2,4}_[0-9A-Z]{26}$/.test(value);

/** Returns the facts of a gate in the order in which it shows them, numbers first. */
export function keyFacts({ payload, facts = [] }: Pick<Gate, "payload" | "facts">): readonly KeyFact[] {
  const members = typeof payload === "object" && payload !== null ? Object.values(payload) : [];
  const numbers = new Map(members.flatMap((one) => (typeof one === "number" ? [[String(one), one] as const] : [])));
  const short = facts.flatMap((fact): KeyFact[] => {
    const { label: name, format, value } = fact;
    if (typeof value === "number") return [{ name, value, text: tellPresented(fact) }];
    if (typeof value !== "string" || !telling.includes(format) || !isTelling(value)) return [];
    return [{ name, value: numbers.get(value) ?? value }];
  });
  return [...short.filter(isNumber), ...short.filter((fact) => !isNumber(fact))];
}

const isNumber = ({ value }: KeyFact): boolean => typeof value === "number";

export const tellFact = ({ value, text }: Pick<KeyFact, "value" | "text">): string =>
  text ?? (typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 6 }) : value);

/** Returns the names that the facts of several gates have, the most frequent first; at most `most`. */
export function sharedNames(all: readonly (readonly KeyFact[])[], most: number): readonly string[] {
  const counts = new Map<string, number>();
  for (const { name } of all.flat()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, most)
    .map(([name]) => name);
}

/** Returns the sum of each plain number that all gates have, by name. A sum of binary fractions is rounded. */
export function sumsOf(all: readonly (readonly KeyFact[])[]): readonly KeyFact[] {
  const [first = []] = all;
  const isPlain = (fact: KeyFact) => isNumber(fact) && fact.text === undefined;
  return first.filter(isPlain).flatMap(({ name }) => {
    const values = all.map((facts) => facts.find((fact) => fact.name === name && isPlain(fact))?.value);
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

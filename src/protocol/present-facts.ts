/**
 * The facts of a gate for people: as its operator presented them, or of the payload by the titles of its schema; each
 * as one text, and their sums over several gates. Every face shows them before any JSON.
 */
import { cutText } from "../contract/cut-text.ts";
import type { Gate } from "../contract/gate.ts";
import type { Json, JsonObject } from "../contract/json.ts";
import type { PresentedFact } from "../contract/present.ts";

interface Schema {
  readonly title?: string;
  readonly description?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}

const most = { facts: 16, chars: 500, items: 20, depth: 2 } as const;

/** Returns the facts of a payload by the titles and descriptions of its schema; none of one without members. */
export function defaultFacts(
  gate: Pick<Gate, "kind" | "payload">,
  schema: JsonObject | null,
): readonly PresentedFact[] {
  return factsOf(shownPayload(gate), (schema ?? {}) as Schema, 1).slice(0, most.facts);
}

/** Returns the payload; of a question, what is shown with it. */
function shownPayload({ kind, payload }: Pick<Gate, "kind" | "payload">): Json {
  if (kind !== "ask" || !isRecord(payload)) return payload;
  return payload["show"] ?? null;
}

function factsOf(value: Json, schema: Schema, depth: number): readonly PresentedFact[] {
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const own = schema.properties?.[name] ?? {};
    const label = own.title ?? labelOf(name);
    if (isRecord(member) && depth < most.depth)
      return factsOf(member, own, depth + 1).map((fact) => ({ ...fact, label: `${label}: ${fact.label}` }));
    const about = own.description === undefined ? {} : { about: cutText(own.description, 200) };
    return [{ label: cutText(label, 80), ...about, ...readMember(member, own) }];
  });
}

type Members = Readonly<Record<string, Json>>;

const isRecord = (value: Json): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isScalar = (value: Json): value is string | number | boolean =>
  ["string", "number", "boolean"].includes(typeof value);

const formats: Readonly<Record<string, "date" | "link">> = { date: "date", "date-time": "date", uri: "link" };

function readMember(value: Json, { format = "" }: Schema): Pick<PresentedFact, "format" | "value"> {
  if (typeof value === "string" && value !== "")
    return { format: formats[format] ?? "text", value: cutText(value, most.chars) };
  if (Array.isArray(value) && value.length > 0 && value.every(isScalar)) {
    const left = value.length - most.items;
    const items = value.slice(0, most.items).map((item) => cutText(String(item), 80));
    return { format: "list", value: left > 0 ? [...items, `… ${left} more`] : items };
  }
  return { format: "text", value: tellPlain(value) };
}

/** Returns a value without a format as a text: `none` for an empty one, `yes` and `no`. */
export function tellPlain(value: Json): string {
  if (value === null || value === "") return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "object") {
    const count = Array.isArray(value) ? value.length : Object.keys(value).length;
    return count === 0 ? "none" : cutText(JSON.stringify(value), most.chars);
  }
  return String(value);
}

/** Returns the name of a member as people write it: `amountEur` and `amount_eur` as `Amount eur`. */
export function labelOf(name: string): string {
  const words = name
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1 $2")
    .replace(/[_-]+/g, " ")
    .trim();
  return words === "" ? name : `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** The words for a file where it cannot be shown. */
const fileNames: Readonly<Record<string, string>> = { image: "an image", pdf: "a PDF" };

/** Returns the value of a fact as a text: `61,000.00 EUR`; lists with commas. */
export function tellFact({ format, value, currency }: Pick<PresentedFact, "format" | "value" | "currency">): string {
  if (Array.isArray(value)) return value.join(", ");
  if (typeof value === "string") return value.startsWith("data:") ? (fileNames[format] ?? value) : value;
  return tellMoney(value, currency);
}

/** Returns an amount with its currency, as in `61,000.00 EUR`. */
export function tellMoney(amount: number, currency: string | undefined): string {
  const digits = currency === undefined ? {} : digitsOf(currency);
  const text = new Intl.NumberFormat("en", digits).format(amount);
  return currency === undefined ? text : `${text} ${currency}`;
}

function digitsOf(currency: string): Intl.NumberFormatOptions {
  const { minimumFractionDigits: usual = 2 } = new Intl.NumberFormat("en", {
    ...{ style: "currency", currency },
  }).resolvedOptions();
  return { minimumFractionDigits: usual, maximumFractionDigits: Math.max(usual, 6) };
}

/** The sum of one fact over several gates. */
export interface FactSum {
  readonly label: string;
  readonly currency: string | undefined;
  readonly amount: number;
  /** The number of gates that have the fact. */
  readonly count: number;
}

type WithFacts = { readonly facts?: readonly PresentedFact[] | undefined };

/** Returns the sums of the facts that may be summed, by label and currency, in the order in which they are met. */
export function sumFacts(gates: readonly WithFacts[]): readonly FactSum[] {
  const sums = new Map<string, { readonly fact: PresentedFact; readonly millionths: bigint; readonly count: number }>();
  for (const fact of gates.flatMap(({ facts = [] }) => facts)) {
    if (fact.total !== true || typeof fact.value !== "number") continue;
    const key = JSON.stringify([fact.label, fact.currency ?? null]);
    const { millionths = 0n, count = 0 } = sums.get(key) ?? {};
    sums.set(key, { fact, millionths: millionths + toMillionths(fact.value), count: count + 1 });
  }
  return [...sums.values()].map(({ fact: { label, currency }, millionths, count }) => ({
    ...{ label, currency, count },
    amount: Number(millionths) / 1_000_000,
  }));
}

/** Returns an amount in whole millionths, of which sums are exact. */
const toMillionths = (amount: number): bigint =>
  Math.abs(amount) < 1e15 ? BigInt(amount.toFixed(6).replace(".", "")) : BigInt(Math.trunc(amount)) * 1_000_000n;

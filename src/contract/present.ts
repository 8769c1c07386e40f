/**
 * The presentation of a call or of a request to people: a title, facts with labels, and one line that sums it up. The
 * operator or the capability package makes it of the input, and it is recorded as it was made.
 *
 * 1.  It is bounded: long texts are cut, and end in `…`; facts beyond `maxFacts` are left out.
 * 2.  It informs and binds nothing: a decision is bound to the payload.
 */
import { z } from "zod";
import { cutText, cutToLine } from "./cut-text.ts";
import { isPlainObject } from "./json.ts";
import { writeMail } from "./mail-text.ts";

/** A way in which a fact is shown. */
export type FactFormat =
  | ("text" | "money" | "date" | "person" | "link" | "list")
  | ("markdown" | "image" | "mail" | "pdf");
export const factFormats = [
  "text",
  "money",
  "date",
  "person",
  "link",
  "list",
  "markdown",
  "image",
  "mail",
  "pdf",
] as const satisfies readonly FactFormat[];

/** A code of ISO 4217, such as `EUR`. */
export const CurrencyCode = z.string().regex(/^[A-Z]{3}$/, "must be a code of three capitals, such as EUR");

/** The most facts of one call, and the most characters of their parts. */
export const maxFacts = 24;
const most = { title: 200, summary: 500, label: 80, about: 200, text: 2_000, items: 50, markdown: 20_000 } as const;
const maxImage = 64_000;

/** One fact about a call, for people. */
export const PresentedFact = z.object({
  /** The name of the fact. */
  label: z.string(),
  /** The meaning of the fact, in a sentence. */
  about: z.string().optional(),
  /** The way in which the value is shown. */
  format: z.enum(factFormats),
  /**
   * The value: a number of `money`, texts of `list`, a `data:` URL of `image`; of `pdf` such
   * a URL or an address; the header lines of a `mail`, an empty line and its body; a text of every other format.
   */
  value: z.union([z.string(), z.number(), z.array(z.string())]),
  /** The currency of `money`. */
  currency: z.string().optional(),
  /** Whether the fact is summed over several gates, by label and currency; only of `money`. */
  total: z.literal(true).optional(),
});
export type PresentedFact = z.infer<typeof PresentedFact>;

/** A call or a request as people see it. */
export const Presented = z.object({
  /** The title of the call, or of the run. */
  title: z.string().optional(),
  /** One line that says what it is. */
  summary: z.string().optional(),
  /** The facts, the most important first. */
  facts: z.array(PresentedFact),
});
export type Presented = z.infer<typeof Presented>;

/** Returns a title of the package on one line; undefined if it is empty. @throws TypeError for anything but a text. */
export function readTitle(given: unknown): string | undefined {
  return readLine("title", given, most.title);
}

/**
 * Returns the bounded presentation of what a package has made. A fact whose value is null, undefined or empty is left
 * out. @throws TypeError for values that do not fit their formats.
 */
export function readPresented(given: unknown): Presented {
  if (!isPlainObject(given)) throw new TypeError("present gives an object with title, summary and facts");
  const { title, summary, facts = [] } = given;
  if (!Array.isArray(facts)) throw new TypeError("the facts are a list");
  const named = { title: readTitle(title), summary: readLine("summary", summary, most.summary) };
  return {
    ...(named.title !== undefined && { title: named.title }),
    ...(named.summary !== undefined && { summary: named.summary }),
    facts: facts.flatMap(readFact).slice(0, maxFacts),
  };
}

function readLine(what: string, given: unknown, max: number): string | undefined {
  if (given === undefined || given === null) return undefined;
  if (typeof given !== "string") throw new TypeError(`the ${what} is a text`);
  const line = cutToLine(given, max);
  return line === "" ? undefined : line;
}

function readFact(given: unknown): PresentedFact[] {
  if (!isPlainObject(given)) throw new TypeError("a fact is an object with label, value and format");
  const { value, format = "text", currency, total, about } = given;
  const label = readLine("label of a fact", given["label"], most.label);
  if (label === undefined) throw new TypeError("a fact has a label");
  if (value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0)) return [];
  const hint = readLine(`description of ${label}`, about, most.about);
  const described = { label, ...(hint !== undefined && { about: hint }) };
  if (format === "money") {
    if (typeof value !== "number" || !Number.isFinite(value)) throw new TypeError(`${label}: money is a number`);
    const code = currency === undefined ? undefined : CurrencyCode.parse(currency);
    const more = { ...(code !== undefined && { currency: code }), ...(total === true && { total: true as const }) };
    return [{ ...described, format, value, ...more }];
  }
  return [{ ...described, ...readValue(label, format as FactFormat, value) }];
}

function readValue(label: string, format: FactFormat, value: unknown): Pick<PresentedFact, "format" | "value"> {
  switch (format) {
    case "list":
      if (!Array.isArray(value)) throw new TypeError(`${label}: a list is an array`);
      return { format, value: readItems(label, value) };
    case "person":
      return { format, value: cutToLine(isPlainObject(value) ? namePerson(value) : textOf(label, value), most.text) };
    case "image": {
      const url = textOf(label, value);
      if (!/^data:image\/(png|jpeg|gif|webp);base64,/.test(url))
        throw new TypeError(`${label}: an image is a data: URL of a PNG, JPEG, GIF or WebP in base64`);
      if (url.length <= maxImage) return { format, value: url };
      return { format: "text", value: `an image of ${url.length} characters, which is too large to be shown here` };
    }
    case "pdf": {
      const url = textOf(label, value);
      if (!/^(data:application\/pdf;base64,|https?:\/\/)/.test(url))
        throw new TypeError(`${label}: a PDF is its address, or a data: URL in base64`);
      if (!url.startsWith("data:")) return { format, value: cutText(url, most.text) };
      if (url.length <= maxImage) return { format, value: url };
      return { format: "text", value: `a PDF of ${url.length} characters, which is too large to be shown here` };
    }
    case "mail":
      return { format, value: cutText(writeMail(label, value), most.markdown) };
    case "text":
    case "date":
    case "link":
      return { format, value: cutText(textOf(label, value), most.text) };
    case "markdown":
      return { format, value: cutText(textOf(label, value), most.markdown) };
    default:
      throw new TypeError(`${label}: ${String(format)} is no format; there are ${factFormats.join(", ")}`);
  }
}

function readItems(label: string, value: readonly unknown[]): string[] {
  const shown = value.slice(0, most.items).map((item) => cutToLine(textOf(label, item), most.label));
  const left = value.length - shown.length;
  return left === 0 ? shown : [...shown, `… ${left} more`];
}

const namePerson = ({ type, id }: Readonly<Record<string, unknown>>): string =>
  [type, id].filter((part) => part !== undefined).join(" ");

function textOf(label: string, value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return String(value);
  throw new TypeError(`${label}: the value is no text`);
}

const isCut = (text: string, max: number): boolean => text.length >= max - 1 && text.endsWith("…");

/** Returns whether a title that a package has made was cut. */
export const isCutTitle = (title: string): boolean => isCut(title, most.title);

/** Returns whether a summary was cut. */
export const isCutSummary = (summary: string): boolean => isCut(summary, most.summary);

/** Returns whether the gate shows only the beginning of a fact. */
export function isCutFact({ format, value }: PresentedFact): boolean {
  if (typeof value === "number") return false;
  if (Array.isArray(value)) return value.length > most.items || value.some((item) => isCut(item, most.label));
  const max = format === "markdown" || format === "mail" ? most.markdown : most.text;
  return (
    isCut(value, max) || (format === "text" && /^an? (image|PDF) of \d+ characters, which is too large/.test(value))
  );
}

const longFormats: readonly FactFormat[] = ["image", "markdown", "mail", "pdf"];

/** Returns the facts of a list: at most `max` of them, with short texts, and without pages, images, mails and PDFs. */
export function cutFacts(facts: readonly PresentedFact[], max: number): readonly PresentedFact[] {
  const short = facts.filter(({ format }) => !longFormats.includes(format)).slice(0, max);
  return short.map((fact) => ({ ...fact, value: cutValue(fact.value) }));
}

function cutValue(value: PresentedFact["value"]): PresentedFact["value"] {
  if (typeof value === "string") return cutText(value, most.about);
  return Array.isArray(value) ? value.slice(0, 4).map((item) => cutText(item, most.label)) : value;
}

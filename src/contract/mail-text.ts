/**
 * A mail as one text: its header lines, an empty line, and its body. `src/protocol/read-mail.ts` takes it apart again.
 *
 * 1.  A header is one line, whatever it is given: no subject adds a header, or begins the body.
 */
import { cutToLine } from "./cut-text.ts";
import { isPlainObject } from "./json.ts";

const headers = { from: "From", to: "To", cc: "Cc", subject: "Subject" } as const;
const maxHeader = 400;
const members = [...Object.keys(headers), "body", "html"];

/**
 * Writes the mail `{ from, to, cc, subject, body }`, whose body is a text, or HTML under `html`; `to` and `cc` may be
 * lists. @throws TypeError for anything else.
 */
export function writeMail(label: string, given: unknown): string {
  if (!isPlainObject(given)) throw new TypeError(`${label}: a mail is an object with ${members.join(", ")}`);
  const unknown = Object.keys(given).find((name) => !members.includes(name));
  if (unknown !== undefined) throw new TypeError(`${label}: a mail has no ${unknown}; it has ${members.join(", ")}`);
  const { body, html } = given;
  const content = html ?? body;
  if (typeof content !== "string" || (html !== undefined && body !== undefined))
    throw new TypeError(`${label}: a mail has one text, as body or as html`);
  const lines = Object.entries(headers).flatMap(([name, title]) => headerOf(label, { title, value: given[name] }));
  return [...lines, ...(html === undefined ? [] : [htmlHeader]), "", content].join("\n");
}

const htmlHeader = "Content-Type: text/html";

interface Header {
  readonly title: string;
  readonly value: unknown;
}

function headerOf(label: string, { title, value }: Header): readonly string[] {
  if (value === undefined || value === null) return [];
  const texts = Array.isArray(value) ? value : [value];
  if (!texts.every((one) => typeof one === "string")) throw new TypeError(`${label}: ${title} of a mail is a text`);
  return [`${title}: ${cutToLine(texts.join(", "), maxHeader)}`];
}

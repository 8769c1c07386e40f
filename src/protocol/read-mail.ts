/** Takes a mail apart that `writeMail` of `src/contract/mail-text.ts` has put together. */

/** The parts of a mail. */
export interface MailParts {
  /** The header lines in their order, without that of the content type. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly body: string;
  readonly isHtml: boolean;
}

const line = /^([\w-]+): (.*)$/s;

/** Returns the parts of a mail; a text that is none is a body without headers. */
export function readMail(text: string): MailParts {
  const end = text.startsWith("\n") ? 0 : text.indexOf("\n\n");
  const lines = end < 0 ? [] : text.slice(0, end).split("\n");
  const found = lines.filter((one) => one !== "").map((one) => line.exec(one));
  if (end < 0 || found.includes(null)) return { headers: [], body: text, isHtml: false };
  const all = found.map((parts) => ({ name: parts?.[1] ?? "", value: parts?.[2] ?? "" }));
  const isType = ({ name }: { readonly name: string }) => name === "Content-Type";
  const body = text.slice(end === 0 ? 1 : end + 2);
  return { headers: all.filter((one) => !isType(one)), body, isHtml: all.some(isType) };
}

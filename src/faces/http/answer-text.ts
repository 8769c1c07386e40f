/** Text that is made once and requested often: with a tag by which a reader detects that nothing has changed. */
import { hash } from "node:crypto";
import type { Call } from "./edge.ts";
import { isMatched } from "./match-etag.ts";

export interface TaggedText {
  readonly body: string;
  readonly etag: string;
}

export const tagText = (body: string): TaggedText => ({
  body,
  etag: `"${hash("sha256", body, "base64url").slice(0, 22)}"`,
});

/** Answers with the text, or with 304 for a reader that has it. Readers keep it and ask each time. */
export function answerText(
  call: Call,
  { body, etag }: TaggedText,
  headers: Readonly<Record<string, string>>,
): Response {
  const kept = { etag, "cache-control": "no-cache" };
  if (isMatched(call.req.header("if-none-match"), etag)) return new Response(null, { status: 304, headers: kept });
  return new Response(body, { headers: { ...headers, ...kept } });
}

/** Makes it when it is first asked for. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/**
 * A thrown value as a ledger keeps it: name, code and message of an error, of its causes and of the members of an
 * AggregateError.
 *
 * Never: throws, whatever getters and proxies the thrown value has. Stacks are for the debug log alone.
 * 1.  It is plain JSON and bounded: at most `maxErrors` errors, each text cut; a cyclic chain ends.
 * 2.  Secrets that can be recognised by their form are removed from every text.
 */
import { capText, messageOf } from "./kernel-error.ts";
import { scrubSecrets } from "./secret.ts";

/** One error of a failure. */
export interface ThrownError {
  readonly name: string;
  /** A system's or a library's own, such as ECONNREFUSED. */
  readonly code?: string;
  readonly message: string;
  readonly cause?: ThrownError;
  /** Members of an AggregateError. */
  readonly errors?: readonly ThrownError[];
}

/** Errors of one failure that are kept, with causes and members. */
const maxErrors = 16;
const maxChars = 500;

/**
 * Describes an error that has a code, causes or members; null for one that has only a message, and for other values.
 */
export function describeThrown(thrown: unknown): ThrownError | null {
  const seen = new Set<unknown>();
  const described = describe(thrown, seen);
  if (described === null) return null;
  const { code, cause, errors } = described;
  return code === undefined && cause === undefined && errors === undefined ? null : described;
}

/** Returns the message, then those of its causes, outermost first: `fetch failed: connect ECONNREFUSED 127.0.0.1:9`. */
export function explainThrown(thrown: unknown): string {
  const described = describeThrown(thrown);
  const own = messageOf(thrown);
  if (described === null) return own;
  const causes = [...textsBelow(described)].filter((text) => !own.includes(text));
  return capText([own, ...causes].filter((text) => text !== "").join(": "));
}

function* textsBelow({ code, message, cause, errors = [] }: ThrownError): Iterable<string> {
  if (message === "" && errors.length === 0 && code !== undefined) yield code;
  const [first, ...others] = errors.map(textOf);
  if (first !== undefined) yield [first, ...others].join(", ");
  if (cause === undefined) return;
  if (cause.message !== "") yield cause.message;
  yield* textsBelow(cause);
}

const textOf = ({ message, code, name }: ThrownError): string => message || (code ?? name);

function describe(thrown: unknown, seen: Set<unknown>): ThrownError | null {
  try {
    if (!(thrown instanceof Error) || seen.has(thrown) || seen.size >= maxErrors) return null;
    seen.add(thrown);
    const { code } = thrown as { readonly code?: unknown };
    const cause = describe(thrown.cause, seen) ?? describeValue(thrown.cause);
    const members = thrown instanceof AggregateError && Array.isArray(thrown.errors) ? thrown.errors : [];
    const errors = members.slice(0, maxErrors).flatMap((member) => describe(member, seen) ?? []);
    return {
      name: cut(thrown.name),
      ...(typeof code === "string" && code !== "" && { code: cut(code) }),
      message: cut(thrown.message),
      ...(cause !== null && { cause }),
      ...(errors.length > 0 && { errors }),
    };
  } catch {
    return null;
  }
}

/** Describes a cause that is not an error: some libraries use a text. */
const describeValue = (cause: unknown): ThrownError | null =>
  typeof cause === "string" && cause !== "" ? { name: "", message: cut(cause) } : null;

const cut = (text: unknown): string => capText(scrubSecrets(String(text)), maxChars).toWellFormed();

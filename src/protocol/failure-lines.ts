/**
 * A failure as lines for a person: the error's name, code and message, then its causes and members.
 *
 * Never: repeats a line; changes a text. A face makes each character of the lines visible.
 */
import type { KernelError } from "../contract/kernel-error.ts";
import { isSpent } from "../contract/spent-call.ts";
import type { ThrownError } from "../contract/thrown.ts";

/** Returns whether a call in doubt answered and its answer was refused: it has taken effect. */
export const hasAnswered = (error: KernelError | null): boolean => isSpent(error);

/** Returns one line for each error on record, outermost first; a cause begins with `caused by`. */
export function failureLines(error: KernelError): readonly string[] {
  const lines: string[] = [];
  for (let at: KernelError | null = error; at !== null; at = at.cause) {
    const thrown = at.detail["failure"] as ThrownError | undefined;
    const reported = typeof thrown === "object" && thrown !== null ? thrownLines(thrown) : [at.message];
    lines.push(...reported.map((line) => (at === error ? line : causedBy(line))));
  }
  return [...new Set(lines)];
}

function thrownLines({ name, code, message, cause, errors = [] }: ThrownError): readonly string[] {
  const head = [name, ...(code === undefined ? [] : [`(${code})`])].filter((part) => part !== "").join(" ");
  return [
    [head, message].filter((part) => part !== "").join(": "),
    ...errors.flatMap(thrownLines).map((line) => `one of: ${line}`),
    ...(cause === undefined ? [] : thrownLines(cause).map(causedBy)),
  ];
}

const causedBy = (line: string): string => (line.startsWith("caused by: ") ? line : `caused by: ${line}`);

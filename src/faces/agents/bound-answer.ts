/** The result of a tool as it is recorded when its framework reports it: JSON of a bounded length. */
import { messageOf } from "../../contract/kernel-error.ts";
import type { ReportedAnswer } from "./agent-call.ts";
import type { ToolAnswer } from "./call-package.ts";

/** The characters of a result that are kept. */
const maxChars = 20_000;

/** Returns the answer; one that is too long is the beginning of its text, with the length that it had. */
export function boundAnswer(answer: ReportedAnswer): ToolAnswer {
  if ("error" in answer) return isLong(answer.error) ? { error: cut(answer.error), ...from(answer.error) } : answer;
  const text = textOf(answer.output);
  return isLong(text) ? { output: cut(text), ...from(text) } : { output: JSON.parse(text) };
}

const isLong = (text: string): boolean => text.length > maxChars;
/** Returns the beginning of a text; half a pair of surrogates at its end becomes the replacement character. */
const cut = (text: string): string => text.slice(0, maxChars).toWellFormed();
const from = ({ length }: string) => ({ cut_from: length });

/** Returns the JSON of an output; of one that has none, the reason. */
function textOf(output: unknown): string {
  try {
    return JSON.stringify(output) ?? "null";
  } catch (thrown) {
    return JSON.stringify(`the output is not JSON: ${messageOf(thrown)}`);
  }
}

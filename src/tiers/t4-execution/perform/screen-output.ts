/**
 * What leaves an operator passes here before it is recorded anywhere (seed 002 section 10).
 *
 * O1  `validateOutput` sees at most the first 5000 characters, once per result; what it refuses becomes the marker.
 * O2  The status is kept, whatever happens to the text.
 */
import type { Json } from "../../../contract/json.ts";
import { follow, isPromise } from "../../../contract/maybe-promise.ts";
import { type StepResult, toStepResult } from "../../../contract/step.ts";
import type { Security } from "../../../ports/perception.ts";
import { checkedChars, sanitizedMarker } from "../decide/redact.ts";

export interface Screened {
  readonly result: StepResult;
  /** Why it was replaced; null when it was not. */
  readonly sanitized: string | null;
  /** Characters of the whole output. */
  readonly length: number;
}

type Validate = Security["validateOutput"];

export function screenOutput(raw: Json, validate: Validate, checkAll: boolean): Screened | Promise<Screened> {
  const result = toStepResult(raw);
  const text = textOf(result);
  const windows = checkAll ? Math.max(1, Math.ceil(text.length / checkedChars)) : 1;
  return checkWindows({ result, text, windows, validate }, 0);
}

/** All of a result that anybody can read: its data as text and, where it says something else, what people are shown. */
function textOf({ data, output_text }: StepResult): string {
  const text = typeof data === "string" ? data : (JSON.stringify(data) ?? "");
  return output_text === text ? text : `${output_text}\n${text}`;
}

interface Check {
  readonly result: StepResult;
  readonly text: string;
  readonly windows: number;
  readonly validate: Validate;
}

function checkWindows(check: Check, from: number): Screened | Promise<Screened> {
  const { result, text, windows, validate } = check;
  for (let i = from; i < windows; i += 1) {
    const verdict = validate(text.slice(i * checkedChars, (i + 1) * checkedChars));
    if (isPromise(verdict))
      return follow(verdict, (v) => (v.ok ? checkWindows(check, i + 1) : replaced(result, v.reason, text.length)));
    if (!verdict.ok) return replaced(result, verdict.reason, text.length);
  }
  return { result, sanitized: null, length: text.length };
}

const replaced = (result: StepResult, reason: string, length: number): Screened => ({
  result: { data: sanitizedMarker, output_text: sanitizedMarker, status: result.status },
  sanitized: reason,
  length,
});

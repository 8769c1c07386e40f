/**
 * The screening of an operator's output, before it is recorded anywhere.
 *
 * 1.  `validateOutput` reads at most the first 5000 characters, once per result; a refused output becomes the marker.
 * 2.  The status is kept, whatever happens to the text.
 * 3.  An output longer than `limits.maxOutputChars` is not recorded.
 */

import { raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import type { Json } from "../../../contract/json.ts";
import { follow, isPromise } from "../../../contract/maybe-promise.ts";
import { type StepResult, toStepResult } from "../../../contract/step.ts";
import type { Security } from "../../../ports/perception.ts";
import type {} from "../decide/call/end-call.ts";
import type { Screened } from "../decide/run/intention.ts";
import { checkedChars, sanitizedMarker } from "../decide/run/redact.ts";
import { oodaRef } from "../decide/run/run.ts";
import { type Asking, callHost } from "./services.ts";

/** Returns the output as validateOutput allows it. @throws KernelErrorException T0_VALIDATION_PAYLOAD_TOO_LARGE. */
export function screenOutput(at: Asking, raw: Json, operator: string): Screened | Promise<Screened> {
  const { maxOutputChars } = at.runtime.limits;
  const call = (): Screened | Promise<Screened> => validated(at, raw);
  return follow(callHost(at, { fn: "screen", what: "security.validateOutput", call }), (screened) => {
    if (screened.length <= maxOutputChars) return screened;
    const size = `${screened.length} characters, more than limits.maxOutputChars = ${maxOutputChars}`;
    const message = `the output of ${operator} has ${size}`;
    return raise(kernelError("T0_VALIDATION_PAYLOAD_TOO_LARGE", message, oodaRef("screen")));
  });
}

function validated({ run, services }: Asking, raw: Json): Screened | Promise<Screened> {
  const result = toStepResult(raw);
  const text = result.data === raw ? result.output_text : textOf(result);
  const windows = run.settings.checkAllOutput ? Math.max(1, Math.ceil(text.length / checkedChars)) : 1;
  const { validateOutput } = services.security;
  return follow(findRefusal({ text, windows, validate: validateOutput }, 0), (sanitized) => {
    const shown =
      sanitized === null ? raw : { data: sanitizedMarker, output_text: sanitizedMarker, status: result.status };
    return { result: shown, sanitized, length: text.length };
  });
}

/** Returns all readable text of a result: its data as text and, if it differs, the text that is shown to people. */
function textOf({ data, output_text }: StepResult): string {
  const text = typeof data === "string" ? data : (JSON.stringify(data) ?? "");
  return output_text === text ? text : `${output_text}\n${text}`;
}

interface Check {
  readonly text: string;
  readonly windows: number;
  readonly validate: Security["validateOutput"];
}

/** Returns the reason for which the text may not be shown; null if it may. */
function findRefusal(check: Check, from: number): string | null | Promise<string | null> {
  const { text, windows, validate } = check;
  for (let i = from; i < windows; i += 1) {
    const verdict = validate(text.slice(i * checkedChars, (i + 1) * checkedChars));
    // A thenable of the host need not be a complete promise.
    if (isPromise(verdict))
      return Promise.resolve(verdict).then((later) => (later.ok ? findRefusal(check, i + 1) : later.reason));
    if (!verdict.ok) return verdict.reason;
  }
  return null;
}

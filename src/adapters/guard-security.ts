/**
 * The guard around a host's own security checks.
 *
 * 1.  A verdict is read once, where it is given, and into plain JSON: what the kernel decides by is what it records.
 * 2.  What is no verdict, or cannot be read, is a failure of the check: it throws, and the caller refuses.
 */
import { follow } from "../contract/maybe-promise.ts";
import type { Security, Verdict } from "../ports/perception.ts";

const pass = Object.freeze({ ok: true });
/** Characters of a reason that are kept. */
const maxReasonChars = 2_000;

/** Returns the same checks, whose verdicts are plain records that nobody else holds. */
export function guardSecurity({
  validate,
  validateParams,
  validateOutput,
  validateChunk,
}: Partial<Security>): Partial<Security> {
  return {
    ...(validate && { validate: guard(validate) }),
    ...(validateParams && { validateParams: guard(validateParams) }),
    ...(validateOutput && { validateOutput: guard(validateOutput) }),
    ...(validateChunk && { validateChunk: guard(validateChunk) }),
  };
}

const guard =
  <Q>(check: (question: Q) => unknown) =>
  (question: Q): Verdict<never> | Promise<Verdict<never>> =>
    follow(check(question), readVerdict);

/** @throws TypeError for what is no verdict; whatever reading it throws. */
function readVerdict(given: unknown): Verdict<never> {
  const { ok, reason } = (given ?? {}) as { readonly ok?: unknown; readonly reason?: unknown };
  if (typeof ok !== "boolean") throw new TypeError("it gave no verdict");
  if (ok) return pass as Verdict<never>;
  return {
    ok,
    reason: typeof reason === "string" ? reason.slice(0, maxReasonChars).toWellFormed() : "no reason given",
  };
}

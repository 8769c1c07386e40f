/**
 * The middleware chain around every operator call.
 *
 * Owns: the order. Never: the verdicts (T5 gives them), the call itself.
 * 1.  Before: Trace → Policy → Approval → custom → Timeout. After and on error: Timeout → custom → Approval → Policy →
 *     Trace. The order belongs to spec version 1.1 and cannot be configured.
 * 2.  A failure in `before` prevents the call; the on-error chain runs completely.
 * 3.  On a retry Policy and Approval are skipped; Trace and Timeout run (MID-05).
 */
import { raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { isPlainObject } from "../../../../contract/json.ts";
import { moduleRef } from "../../../../contract/module-ref.ts";
import type { Middleware } from "../../../../ports/middleware.ts";

export const middlewareSpecVersion = "1.1";
const fixed = ["Trace", "Policy", "Approval", "Timeout"] as const;
export type FixedName = (typeof fixed)[number];
export const isFixed = (name: string): name is FixedName => fixed.includes(name as FixedName);

/** Returns the names in `before` order; custom ones stand between Approval and Timeout. */
export const orderOf = (custom: readonly Middleware[]): readonly string[] =>
  custom.length === 0 ? fixed : ["Trace", "Policy", "Approval", ...custom.map(({ name }) => name), "Timeout"];

/** Returns whether a fixed middleware is skipped on a retry (rule 3). */
export const isSkippedOnRetry = (name: string): boolean => name === "Policy" || name === "Approval";

const members: ReadonlySet<string> = new Set(["name", "before", "after", "onError"] satisfies (keyof Middleware)[]);

/**
 * Checks that each custom middleware has a unique name and no members but three hooks; it cannot choose its place.
 * @throws KernelErrorException T4_MIDDLEWARE_VIOLATION for a fixed, repeated or missing name, or for any other member.
 */
export function checkCustomMiddleware(custom: readonly Middleware[]): void {
  const names = custom.map((m) => m.name);
  const taken = names.find(
    (name, i) => fixed.some((f) => f.toLowerCase() === String(name).toLowerCase()) || names.indexOf(name) !== i,
  );
  const nameless = custom.some((m) => typeof m.name !== "string" || m.name === "");
  const beyond = custom
    .filter(isPlainObject)
    .flatMap((m) => Object.keys(m))
    .find((member) => !members.has(member));
  if (taken === undefined && beyond === undefined && !nameless) return;
  const what = taken ?? (beyond === undefined ? "without a name" : `with ${beyond}`);
  const order = `the order Trace, Policy, Approval, Timeout is fixed by spec ${middlewareSpecVersion}`;
  const message = `middleware ${what} cannot be added: ${order}`;
  raise(kernelError("T4_MIDDLEWARE_VIOLATION", message, moduleRef(4, "middleware", "checkCustomMiddleware")));
}

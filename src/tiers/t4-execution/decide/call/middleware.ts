/**
 * The middleware chain around every operator call.
 *
 * Owns: the order. Never: the verdicts (T5 gives them), the call itself.
 * M1  before: Trace → Policy → Approval → custom → Timeout; after and on error: Timeout → custom → Approval → Policy →
 *     Trace. The order is a fact of spec version 1.1 and has no configuration.
 * M2  A failure in `before` prevents the call; the on-error chain runs over all of it.
 * M3  On a retry Policy and Approval are skipped, Trace and Timeout run (MID-05).
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

/** Names in `before` order: the custom ones stand between Approval and Timeout. */
export const orderOf = (custom: readonly Middleware[]): readonly string[] =>
  custom.length === 0 ? fixed : ["Trace", "Policy", "Approval", ...custom.map(({ name }) => name), "Timeout"];

/** M3 */
export const isSkippedOnRetry = (name: string): boolean => name === "Policy" || name === "Approval";

const members: ReadonlySet<string> = new Set(["name", "before", "after", "onError"] satisfies (keyof Middleware)[]);

/**
 * A custom middleware is a name of its own and three hooks; it cannot ask for a place.
 * @throws KernelErrorException for a fixed name, a name twice, no name, or anything besides the hooks.
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
  const message = `middleware ${what} cannot be added: the order Trace, Policy, Approval, Timeout is fixed by spec ${middlewareSpecVersion}`;
  raise(kernelError("T4_MIDDLEWARE_VIOLATION", message, moduleRef(4, "middleware", "checkCustomMiddleware")));
}

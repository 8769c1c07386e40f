/**
 * The middleware chain around every operator call (seed 002 section 6).
 *
 * Owns: the order. Never: the verdicts (T5 gives them), the call itself.
 * M1  before: Trace → Policy → Approval → custom → Timeout; after and on error: Timeout → custom → Approval → Policy →
 *     Trace. The order is a fact of spec version 1.1 and has no configuration.
 * M2  A failure in `before` prevents the call; the on-error chain runs over all of it.
 * M3  On a retry Policy and Approval are skipped, Trace and Timeout run (MID-05).
 */
import { raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { isPlainObject } from "../../../contract/json.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { Middleware, SkillExecutionContext } from "../../../ports/middleware.ts";
import { pending } from "./run.ts";

export const middlewareSpecVersion = "1.1";
export const fixedMiddleware = Object.freeze(["Trace", "Policy", "Approval", "Timeout"] as const);
export type FixedName = (typeof fixedMiddleware)[number];
export const isFixed = (name: string): boolean => fixedMiddleware.some((fixed) => fixed === name);

type Hook = (context: SkillExecutionContext) => void;

export interface Slot {
  readonly name: string;
  readonly before?: Hook;
  readonly after?: Hook;
  readonly onError?: Hook;
  readonly skipsOnRetry: boolean;
}

/** The chain's slots in `before` order: the four fixed ones as given, the custom ones between Approval and Timeout. */
export function buildChain(
  fixed: Readonly<Record<FixedName, Omit<Slot, "name" | "skipsOnRetry">>>,
  custom: readonly Omit<Slot, "skipsOnRetry">[],
): readonly Slot[] {
  const { Trace, Policy, Approval, Timeout } = fixed;
  return [
    { name: "Trace", skipsOnRetry: false, ...Trace },
    { name: "Policy", skipsOnRetry: true, ...Policy },
    { name: "Approval", skipsOnRetry: true, ...Approval },
    ...custom.map((m) => ({ ...m, skipsOnRetry: false })),
    { name: "Timeout", skipsOnRetry: false, ...Timeout },
  ];
}

const members: ReadonlySet<string> = new Set(["name", "before", "after", "onError"] satisfies (keyof Middleware)[]);

/**
 * A custom middleware is a name of its own and three hooks; it cannot ask for a place.
 * @throws KernelErrorException for a fixed name, a name twice, no name, or anything besides the hooks.
 */
export function checkCustomMiddleware(custom: readonly Middleware[]): void {
  const names = custom.map((m) => m.name);
  const taken = names.find(
    (name, i) =>
      fixedMiddleware.some((f) => f.toLowerCase() === String(name).toLowerCase()) || names.indexOf(name) !== i,
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

type Mark = (phase: "before" | "after" | "on_error", name: string) => void;

export function runBefore(chain: readonly Slot[], context: SkillExecutionContext, mark: Mark): void {
  for (const slot of chain) {
    if (slot.before === undefined || (slot.skipsOnRetry && context.is_retry)) continue;
    mark("before", slot.name);
    slot.before(context);
  }
}

/** Runs `after` or `on_error` from the inside out; every slot runs even if one fails, and the first failure is thrown. */
export function runBack(
  chain: readonly Slot[],
  phase: "after" | "on_error",
  { context, mark }: { readonly context: SkillExecutionContext; readonly mark: Mark },
): void {
  const failures: unknown[] = [];
  for (let i = chain.length - 1; i >= 0; i -= 1) {
    const slot = chain[i] as Slot;
    mark(phase, slot.name);
    const hook = phase === "after" ? slot.after : slot.onError;
    if (hook === undefined) continue;
    try {
      hook(context);
    } catch (thrown) {
      if (thrown === pending) throw thrown;
      failures.push(thrown);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/**
 * The packages of a guard for processes that decide its gates and have no connection to its servers.
 *
 * 1.  Calls are driven by the guard alone: a deciding process records the decision, and calls nothing.
 * 2.  A deciding process begins nothing of a guard: no call that its clients did not make, and no acceptance of a tool
 *     that no server listed.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { CapabilityDefinition } from "../../index.ts";
import { acceptPackage } from "./accept-package.ts";
import { callIntent, callPackages } from "./call-package.ts";

const decideRef = moduleRef(0, "guard", "decide_package");

/** The intent types that only a guard drives. */
export const guardDriven: readonly string[] = [callIntent];

/** Creates the packages, by which a deciding process reads and checks what a gate shows. */
export function decidePackages(): readonly CapabilityDefinition[] {
  const send = async () =>
    raise(kernelError("T0_GUARD_UPSTREAM_GONE", "this process has no connection to a server", decideRef));
  return [...callPackages({ send, timeoutSec: 300 }), acceptPackage].map(withoutBeginning);
}

/** Returns the package with an input that no request has. Workflows that a guard began have read theirs already. */
const withoutBeginning = (one: CapabilityDefinition): CapabilityDefinition =>
  Object.freeze({ ...one, input: one.input.refine(() => false, "only the guard itself begins this") });

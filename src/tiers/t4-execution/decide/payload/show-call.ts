/**
 * The operator's statements about a call before it is made: whether it is possible, what it would do, and the basis of
 * that.
 *
 * Never: makes the call, opens a gate. The operator is asked once in a pass; its statement about a payload holds for
 * the rest of the pass.
 */

import { digest } from "../../../../contract/digest.ts";
import { raise } from "../../../../contract/error.ts";
import type { Presented } from "../../../../contract/present.ts";
import type { Answered } from "../run/input.ts";
import { type Shown, toHost } from "../run/intention.ts";
import { ask, type Run } from "../run/run.ts";
import type { Prepared } from "./prepare-step.ts";

/**
 * Asks the operator whether the call is possible. @throws KernelErrorException with the operator's reason if it is not.
 */
export function checkCall(run: Run, { operator, payload, step }: Prepared): void {
  if (operator.check != null)
    ask(run, `check_call:${digest(payload)}`, toHost("check_call", { step_id: step.step_id, payload }));
}

/**
 * Returns the operator's preview of the call, or the payload if it has none. @throws KernelErrorException if the
 * preview fails.
 */
export function showCall(run: Run, prepared: Prepared): Shown {
  const { data, error } = askPreview(run, prepared);
  return error === null ? data : raise(error);
}

/** Returns the preview as `showCall` does, and the payload if the preview fails. */
export function showCallOrPayload(run: Run, prepared: Prepared): Shown {
  const { data, error } = askPreview(run, prepared);
  if (error === null) return data;
  const plain = plainOf(prepared);
  return { ...plain, preview: `${plain.preview}\n\n(no preview: ${error.message})` };
}

/** A call as its operator presents it, or the reason why it is not presented. */
export type PresentedCall = Presented | { readonly problem: string };

/** Returns how the operator presents the call; null if it does not. A failure leaves the call as it is. */
export function presentCall(run: Run, { operator, payload }: Prepared): PresentedCall | null {
  if (operator.present == null) return null;
  const { name, version } = operator.metadata;
  const asked = toHost("present", { name, version, payload });
  const { data, error } = run.scopes.ask(`present:${digest(payload)}`, asked).answer;
  return error === null ? data : { problem: error.message };
}

const plainOf = ({ payload }: Prepared): Shown => ({
  preview: JSON.stringify(payload, null, 2),
  diff: null,
  basis: [],
});

function askPreview(run: Run, prepared: Prepared): Pick<Answered<Shown>, "data" | "error"> {
  const { operator, payload, step } = prepared;
  if (operator.preview === null) return { data: plainOf(prepared), error: null };
  return run.scopes.ask(`show:${digest(payload)}`, toHost("show", { step_id: step.step_id, payload })).answer;
}

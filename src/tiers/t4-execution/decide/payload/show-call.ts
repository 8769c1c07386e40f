/**
 * What an operator says of a call before it is made: whether it could be, what it would do, and what that rests on.
 *
 * Never: makes the call, opens a gate. Once a pass: what it said of a payload stands for the rest of it.
 */

import { digest } from "../../../../contract/digest.ts";
import { raise } from "../../../../contract/error.ts";
import type { Answered } from "../run/input.ts";
import { type Shown, toHost } from "../run/intention.ts";
import { ask, type Run } from "../run/run.ts";
import type { Prepared } from "./prepare-step.ts";

/** Asks the operator whether the call could be made. @throws KernelErrorException why not, in the operator's own words. */
export function checkCall(run: Run, { operator, payload, step }: Prepared): void {
  if (operator.check != null)
    ask(run, `check_call:${digest(payload)}`, toHost("check_call", { step_id: step.step_id, payload }));
}

/** What the operator shows of the call; the payload where it shows nothing. @throws KernelErrorException where it fails to. */
export function showCall(run: Run, prepared: Prepared): Shown {
  const { data, error } = askPreview(run, prepared);
  return error === null ? data : raise(error);
}

/** As `showCall`; the payload also where the operator fails to show it. */
export function showCallOrPayload(run: Run, prepared: Prepared): Shown {
  const { data, error } = askPreview(run, prepared);
  if (error === null) return data;
  const plain = plainOf(prepared);
  return { ...plain, preview: `${plain.preview}\n\n(no preview: ${error.message})` };
}

const plainOf = ({ payload }: Prepared): Shown => ({
  preview: JSON.stringify(payload, null, 2),
  diff: null,
  basis: [],
});

function askPreview(run: Run, prepared: Prepared): Pick<Answered<Shown>, "data" | "error"> {
  const { operator, payload, step } = prepared;
  if (operator.preview === null) return { data: plainOf(prepared), error: null };
  return run.scopes.hear(`show:${digest(payload)}`, toHost("show", { step_id: step.step_id, payload })).answer;
}

/**
 * Decides what follows from the end of a submit that a schedule's instant began.
 *
 * 1.  A refusal that may pass (a full queue, a ledger that cannot be reached) is tried again with the next take-over;
 *     every other one is recorded, and the schedule goes on.
 */
import type { KernelError } from "../../../contract/error.ts";
import { draft, type EventDraft } from "../../../contract/event.ts";
import { instantText } from "../../../contract/instant.ts";
import type { ScheduleStanding } from "../../../contract/schedule.ts";
import { type Looked, type Looking, withDue } from "./look-at-schedule.ts";

/** The end of the submit of an instant: the workflow that it began, or the error that refused it. */
export type InstantEnd =
  | { readonly instant: string; readonly workflow_id: string }
  | { readonly instant: string; readonly error: KernelError };

/** The attempts at one submit before a refusal that may pass is final. */
const maxTries = 20;

/** Returns the event of an end; null if the instant has one already, or is tried again. */
export function settleInstant(
  schedule: Looked,
  end: InstantEnd,
  on: Pick<Looking, "now" | "takeOverMs" | "instantsOf">,
): { readonly event: EventDraft; readonly standing: ScheduleStanding } | null {
  const { name, standing } = schedule;
  if (standing.begun?.instant !== end.instant) return null;
  const { instant } = end;
  if ("workflow_id" in end) {
    const { workflow_id } = end;
    const last = { instant, workflow_id, at: instantText(on.now), cancelled: false };
    const fired = { ...standing, begun: null, last, refused_in_row: 0, fired: standing.fired + 1 };
    const after = withDue({ ...schedule, standing: fired }, on);
    return { event: draft("SCHEDULE_FIRED", { name, instant, workflow_id, standing: after }), standing: after };
  }
  const { error } = end;
  if (mayPass(error) && standing.begun.tries < maxTries) return null;
  const refused = {
    ...standing,
    begun: null,
    refusal: { instant, code: error.code, message: error.message },
    refused_in_row: standing.refused_in_row + 1,
    refused: standing.refused + 1,
  };
  const after = withDue({ ...schedule, standing: refused }, on);
  return { event: draft("SCHEDULE_REFUSED", { name, instant, error, standing: after }), standing: after };
}

const mayPass = ({ code, retry_eligible }: KernelError): boolean =>
  retry_eligible || code === "T0_KERNEL_STOPPED" || code.startsWith("T0_LEDGER_");

/** Names the moments at which policy judged. */
import type { EventPayloads } from "../contract/event.ts";
import type { PolicyMoment } from "../contract/policy.ts";
import { namePrincipal } from "./name-principal.ts";

const moments: Readonly<Record<PolicyMoment, string>> = {
  decision: "asked again at a decision",
  call: "asked again before the call",
};

/** Returns the moment of a later judgement in words; "" for the first one. */
export const nameMoment = (moment: PolicyMoment | undefined): string => (moment === undefined ? "" : moments[moment]);

/** Returns what a decision of policy was asked about, in words: a later moment, or a person's word; "" for neither. */
export function nameAsked({ moment, by }: Pick<EventPayloads["POLICY_DECIDED"], "moment" | "by">): string {
  if (by !== undefined) return `asked whether ${namePrincipal(by.principal)} may ${by.decision}`;
  return nameMoment(moment);
}

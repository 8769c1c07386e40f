/**
 * A reminder of an event that has not arrived, as text. Text of the plan is made visible on one line; it is withheld
 * where a channel may not carry the content of work.
 */
import type { WaitNotice } from "../../contract/gate-notice.ts";
import { showLine } from "../../protocol/visible-text.ts";
import type { DescribedNotice } from "./describe-notice.ts";

/** Describes a reminder of a wait. */
export function describeWait(notice: WaitNotice, linkOnly: boolean): Pick<DescribedNotice, "subject" | "facts"> {
  const { title, event, key, step_id, workflow_id, intent_type, role, sent, due_at } = notice;
  const facts: readonly (readonly [string, string])[] = [
    ["step", `${step_id} of ${workflow_id} (${intent_type})`],
    ...(linkOnly ? [] : [["waits for", `the event ${event} of ${key}`] as const]),
    ["reminder", `${sent}, for the role ${role}`],
    ["ends", due_at ?? "never"],
  ];
  return {
    subject: showLine(linkOnly ? "Still waited for" : `Still waited for: ${title}`),
    facts: facts.map(([name, value]) => [name, showLine(value)]),
  };
}

/** Returns a reminder without text of the plan. */
export const withholdWait = (notice: WaitNotice): WaitNotice => ({ ...notice, title: "", key: "" });

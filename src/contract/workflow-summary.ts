/**
 * A workflow as lists show it: the content of the ledger's index. The whole workflow, by its id: workflow-state.ts.
 *
 * 1.  It is bounded: a summary has a few hundred characters, at most `maxTitleChars` of them its title.
 * 2.  A list is newest first, by `created_at`, then `workflow_id`.
 */
import { z } from "zod";
import { Compensated } from "./compensation.ts";
import { cutToLine } from "./cut-text.ts";
import { PrincipalRef } from "./gate-vote.ts";
import { CorrelationId, IntentId, TenantId, ThreadId, WorkflowId } from "./ids.ts";
import type { Intent } from "./intent.ts";
import { WorkflowStateName } from "./progress.ts";

export const maxTitleChars = 200;

/** A workflow as lists show it. */
export const WorkflowSummary = z
  .object({
    workflow_id: WorkflowId,
    tenant_id: TenantId,
    thread_id: ThreadId.nullable(),
    correlation_id: CorrelationId,
    intent_id: IntentId,
    intent_type: z.string(),
    state: WorkflowStateName,
    /** The part of its work that was undone; null if that was not begun. */
    compensated: Compensated.nullable(),
    /** Whether a person has paused it. */
    paused: z.boolean(),
    /** Whether it waits for a place in its queue. */
    queued: z.boolean(),
    /** The halts that hold it, or a step of it. */
    held_by: z.array(z.string()).readonly(),
    progress: z.object({ percent: z.int().min(0).max(100) }).readonly(),
    /** The title that the capability gives, the request's text, or its short inputs; one line. */
    title: z.string(),
    /** The principal who requested the work. */
    principal: PrincipalRef.readonly(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    /** The instant at which something falls due while it is parked. */
    due_at: z.iso.datetime().nullable(),
    open_gates: z.int().nonnegative(),
  })
  .readonly();
export type WorkflowSummary = z.infer<typeof WorkflowSummary>;

/** A page of a list; `total` counts all that the filter finds, where it was asked for. */
export type Listed<T> = readonly T[] & { readonly total?: number };

/** Returns the title of the work in a list: one line of at most `maxTitleChars`. */
export function titleOf({ title, text, inputs }: Titled): string {
  // A record of an earlier version need not have a text.
  const line = cutToLine(title ?? text ?? "", maxTitleChars);
  return line === "" ? describeInputs(inputs) : line;
}

type Titled = Pick<Intent, "inputs"> & Partial<Pick<Intent, "title" | "text">>;

/** The longest input that a title names: a longer one is a content, and no name. */
const longestNamed = 60;

/**
 * Describes the inputs that are short texts on one line, without those that are empty: `order A-7, shop Berlin`.
 * Numbers are left out: a title stands in lists that many people read, and an amount may be somebody's pay.
 */
function describeInputs(inputs: Intent["inputs"]): string {
  let title = "";
  for (const [name, value] of Object.entries(inputs)) {
    if (typeof value !== "string" || value.length > longestNamed || /^\s*$|[\r\n]/.test(value)) continue;
    title += `${title === "" ? "" : ", "}${name.slice(0, longestNamed)} ${value}`;
    if (title.length > maxTitleChars) break;
  }
  return cutToLine(title, maxTitleChars);
}

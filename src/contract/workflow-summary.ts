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
    /** The request's text, or its inputs in short where it came without; one line. */
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
export function titleOf({ text, inputs }: Pick<Intent, "inputs"> & { readonly text?: string | undefined }): string {
  // A record of an earlier version need not have one.
  const line = cutToLine(text ?? "", maxTitleChars);
  return line === "" ? describeInputs(inputs) : line;
}

/** Describes the inputs that are not lists or records themselves: `order A-7, cents 1999`. */
function describeInputs(inputs: Intent["inputs"]): string {
  let title = "";
  for (const [name, value] of Object.entries(inputs)) {
    if (typeof value === "object" || title.length > maxTitleChars) continue;
    const shown = typeof value === "string" ? value.slice(0, 4 * maxTitleChars) : String(value);
    title += `${title === "" ? "" : ", "}${name.slice(0, maxTitleChars)} ${shown}`;
  }
  return cutToLine(title, maxTitleChars);
}

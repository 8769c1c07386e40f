/**
 * The edits of what a gate shows, as the fold reads them from the ledger.
 *
 * 1.  An edit never shows a value that is masked in the present payload.
 */
import { z } from "zod";
import { PrincipalRef } from "./gate-vote.ts";
import { JsonValue } from "./json.ts";

/** One value that an edit changed. A value that the payload lacked, or lacks now, is absent. */
export const GateChange = z.object({
  /** The path of the change, such as `lines[0].amount`; `payload` if the payload is a single value. */
  path: z.string(),
  from: JsonValue.optional(),
  to: JsonValue.optional(),
});
export type GateChange = z.infer<typeof GateChange>;

/** One person's edit of the gate's payload. */
export const GateEdit = z.object({
  by: PrincipalRef,
  at: z.string(),
  /** The values of the payload that the edit changed, in the order of the payload. */
  changes: z.array(GateChange),
  /** The comment of an edit without a decision; otherwise the decision or the vote holds it. */
  comment: z.string().optional(),
});
export type GateEdit = z.infer<typeof GateEdit>;

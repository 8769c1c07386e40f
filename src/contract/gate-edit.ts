/**
 * The edits of what a gate shows, as the fold reads them from the ledger.
 *
 * 1.  An edit never tells a value that the payload of now has masked.
 */
import { z } from "zod";
import { PrincipalRef } from "./gate-vote.ts";
import { JsonValue } from "./json.ts";

/** One value that an edit changed. A value that the payload lacked, or lacks now, is absent. */
export const GateChange = z.object({
  /** As in `lines[0].amount`; where the payload is one value, `payload`. */
  path: z.string(),
  from: JsonValue.optional(),
  to: JsonValue.optional(),
});
export type GateChange = z.infer<typeof GateChange>;

/** One person's edit of what the gate shows. */
export const GateEdit = z.object({
  by: PrincipalRef,
  at: z.string(),
  /** The values of the payload that the edit changed, in the order of the payload. */
  changes: z.array(GateChange),
  /** The comment that came with the edit, where the edit decided nothing; else the decision or the vote holds it. */
  comment: z.string().optional(),
});
export type GateEdit = z.infer<typeof GateEdit>;

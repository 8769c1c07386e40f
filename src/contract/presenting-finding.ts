/** A finding of the doctor about what people see of definitions and gates. */
import { z } from "zod";
import { WorkflowId } from "./ids.ts";

/**
 * One finding about what people see: `raw` if gates or runs would show bare members, `missing` if a fact names a member
 * that no input has, `cut` if an open gate shows only the beginning of a text. It keeps nothing from running.
 */
export const PresentingFinding = z.object({
  what: z.enum(["raw", "missing", "cut"]),
  definition: z.enum(["operator", "capability"]),
  name: z.string(),
  version: z.string(),
  workflow_id: WorkflowId.nullable(),
  gate_id: z.string().nullable(),
  reason: z.string(),
  next: z.string().describe("What the author of the definition can do."),
});
export type PresentingFinding = z.infer<typeof PresentingFinding>;

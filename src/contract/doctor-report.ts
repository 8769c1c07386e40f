/**
 * The doctor's report: workflows that this kernel cannot run with its registered packages, and the remedies of each.
 */
import { z } from "zod";
import type { ErrorCode } from "./error-codes.ts";
import { TenantId, WorkflowId } from "./ids.ts";
import { PresentingFinding } from "./presenting-finding.ts";
import { WorkflowStateName } from "./progress.ts";

/** The selection of workflows to examine; those that have ended are left out. */
export const DoctorQuestion = z.strictObject({
  /** Limits the examination to this workflow. */
  workflow_id: z.string().optional(),
  /** Limits the examination to workflows of this intent type. */
  intent_type: z.string().optional(),
});
export type DoctorQuestion = z.infer<typeof DoctorQuestion>;

/** Any text in JSON Schema; in TypeScript the codes of the error catalogue. */
const Code = z
  .string()
  .describe("What the workflow, or a decision on it, would be refused with.") as z.ZodType<ErrorCode>;

/** One obstacle to running a workflow. */
export const Obstacle = z.object({
  what: z.enum(["package", "operator", "payload", "ledger"]),
  /** The error that the workflow, or a decision on it, would meet. */
  code: Code,
  name: z.string().describe("Of what is missing, or of what no longer takes what waits."),
  version: z.string(),
  registered: z.array(z.string()).describe("The versions of that name that are registered.").readonly(),
  step_id: z.string().nullable(),
  gate_id: z.string().nullable(),
  reason: z.string(),
});
export type Obstacle = z.infer<typeof Obstacle>;

/** A call of the workflow that took effect: under another version of its operator a migration would make it again. */
export const EffectDone = z.object({ step_id: z.string(), operator: z.string(), operator_version: z.string() });
export type EffectDone = z.infer<typeof EffectDone>;

/**
 * One remedy: `pin` registers the missing version beside the present one; `migrate` starts the work again under
 * `version` (retry, mode migrate); `edit` changes the payload at its gate; `end` cancels the workflow.
 */
export const Remedy = z.object({
  kind: z.enum(["pin", "migrate", "edit", "end"]),
  version: z.string().nullable(),
  what: z.string(),
});
export type Remedy = z.infer<typeof Remedy>;

/** A workflow that cannot run here, with the reason and the remedies. */
export const DoctorFinding = z.object({
  workflow_id: WorkflowId,
  tenant_id: TenantId,
  intent_type: z.string(),
  version: z.string(),
  state: WorkflowStateName,
  obstacles: z.array(Obstacle).readonly(),
  done: z.array(EffectDone).describe("Its calls that took effect.").readonly(),
  remedies: z.array(Remedy).readonly(),
});
export type DoctorFinding = z.infer<typeof DoctorFinding>;

/** The number of workflows that the doctor examined and that are stranded, with its findings. */
export const DoctorReport = z.object({
  ok: z.boolean(),
  workflows: z.int().describe("Workflows that have not ended."),
  stranded: z.int().describe("Of these, what cannot run here."),
  presenting: z.array(PresentingFinding).describe("What people would see badly; it does not count for ok.").readonly(),
});
export type DoctorReport = z.infer<typeof DoctorReport>;

/** The doctor: which workflows of the caller's tenant have not ended and cannot run with what is registered here. */
import { z } from "zod";
import { TenantId, WorkflowId } from "../../../contract/ids.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { WorkflowStateName } from "../../../contract/progress.ts";
import type { Edge } from "../edge.ts";
import { addSearch } from "./add-search.ts";

const Asked = z.strictObject({
  workflow_id: WorkflowId.optional().describe("Only this one."),
  intent_type: z.string().min(1).optional().describe("Only those of this intent type."),
});

const Finding = z.object({
  workflow_id: WorkflowId,
  tenant_id: TenantId,
  intent_type: z.string(),
  version: z.string(),
  state: WorkflowStateName,
  obstacles: z.array(
    z.object({
      what: z.enum(["package", "operator", "payload", "ledger"]),
      code: z.string().describe("What the workflow, or a decision on it, would be refused with."),
      name: z.string().describe("Of what is missing, or of what no longer takes what waits."),
      version: z.string(),
      registered: z.array(z.string()).describe("The versions of that name that are registered."),
      step_id: z.string().nullable(),
      gate_id: z.string().nullable(),
      reason: z.string(),
    }),
  ),
  done: z
    .array(z.object({ step_id: z.string(), operator: z.string(), operator_version: z.string() }))
    .describe("Its calls that took effect."),
  remedies: z.array(
    z.object({ kind: z.enum(["pin", "migrate", "edit", "end"]), version: z.string().nullable(), what: z.string() }),
  ),
});

const Report = z.object({
  kind: z.literal("report"),
  ok: z.boolean(),
  workflows: z.int().describe("Workflows that have not ended."),
  stranded: z.int().describe("Of these, what cannot run here."),
  told: z.int().describe("Findings that were told; there may be more."),
});

export const addDoctor = (edge: Edge): void =>
  addSearch(edge, {
    name: "doctor",
    operation: "askDoctor",
    summary: "Workflows that have not ended and cannot run with what is registered, each with the ways out",
    asked: Asked,
    bodyOptional: true,
    names: true,
    finding: Finding,
    report: Report,
    most: edge.options.limits.maxDoctorFindings,
    find: (asked, caller) => edge.kernel.doctor(asked, caller),
    source: moduleRef(0, "kernel", "doctor"),
  });

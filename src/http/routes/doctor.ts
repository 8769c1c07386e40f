/**
 * The doctor: which workflows of the caller's tenant have not ended and cannot run with what is registered here.
 *
 * D1  Findings as they are found, then the counts; what is examined is read, and nothing is run or written.
 * D2  It reads each of them: a caller has one at a time; further findings than `limits.maxDoctorFindings` are counted and not told.
 */
import { z } from "zod";
import { kernelError } from "../../contract/error-codes.ts";
import { TenantId, WorkflowId } from "../../contract/ids.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { WorkflowStateName } from "../../contract/progress.ts";
import type { DoctorQuestion } from "../../index.ts";
import { addRoute, type Route } from "../add-route.ts";
import { answerStream, type Opening } from "../answer-stream.ts";
import type { Edge } from "../edge.ts";
import { readJsonBody } from "../read-body.ts";
import { tellFound } from "../tell-found.ts";
import { readScope, requireReader } from "./reads.ts";

const doctorRef = moduleRef(0, "kernel", "doctor");

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
      what: z.enum(["package", "operator", "inputs", "payload", "ledger"]),
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

const doctorRoute: Route = {
  method: "post",
  path: "/v1/kernel/doctor",
  operation: "askDoctor",
  summary: "Workflows that have not ended and cannot run with what is registered, each with the ways out",
  needs: readScope,
  body: Asked,
  bodyOptional: true,
  names: true,
  answers: {
    200: {
      description: "Server-sent events called `kernel.doctor`: findings, and the report at the end.",
      mediaType: "text/event-stream",
      schema: z.union([Finding, Report]),
      event: "kernel.doctor",
    },
  },
};

export function addDoctor(edge: Edge): void {
  const { kernel, options } = edge;
  addRoute(edge, doctorRoute, async (call) => {
    const caller = await requireReader(call, edge);
    const asked = readAsked(await readJsonBody(call.req.raw, options.limits));
    const open = ({ signal }: Opening) => {
      signal.addEventListener("abort", edge.heavy.take(caller));
      return tellFound(kernel.doctor(asked, caller), options.limits.maxDoctorFindings);
    };
    return answerStream(call, edge, { event: "kernel.doctor", open });
  });
}

function readAsked(body: unknown): DoctorQuestion {
  const parsed = Asked.safeParse(body);
  if (parsed.success) return parsed.data;
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `doctor: ${z.prettifyError(parsed.error)}`, doctorRef));
}

/** The doctor: finds unfinished workflows of the caller's tenant that cannot run with the registered packages. */
import { z } from "zod";
import { searches } from "../../../api/reads.ts";
import { WorkflowId } from "../../../contract/ids.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { Edge } from "../edge.ts";
import { addSearch } from "./add-search.ts";

const DoctorQuery = z.strictObject({
  workflow_id: WorkflowId.optional().describe("Only this one."),
  intent_type: z.string().min(1).optional().describe("Only those of this intent type."),
});

export const addDoctor = (edge: Edge): void =>
  addSearch(edge, searches.doctor, {
    asked: DoctorQuery,
    bodyOptional: true,
    names: true,
    most: edge.options.limits.maxDoctorFindings,
    find: (asked, caller) => edge.kernel.doctor(asked, caller),
    source: moduleRef(0, "kernel", "doctor"),
  });

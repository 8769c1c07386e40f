/**
 * Project.Handover.Prepare: a summary and a checklist from a project's notes, each written after its own approval.
 *
 * Owns: the plan and its replan: read the primary source; where that failed, read the fallback instead. Never: reads
 * both sources, or writes one document on the approval of the other.
 * 1.  Once a round has turned to the fallback, later rounds stay with it, so that completed steps remain valid.
 */
import { z } from "zod";
import type { PlanningSituation } from "../../../contract/capability.ts";
import type { ExecutionPlan } from "../../../contract/plan.ts";
import type { Reference } from "../../../contract/reference.ts";
import { defineCapability } from "../../../define/define-capability.ts";
import type { StepBuilder, StepWithOutcome } from "../../../define/step-builder.ts";
import { fileRead } from "../../operators/files/file-read.ts";
import { fileWrite } from "../../operators/files/file-write.ts";
import { FolderPath, PathInside } from "../../operators/files/safe-path.ts";
import { checklistOperator, HandoverChecklistDraft, HandoverSummaryDraft, summarizeOperator } from "./operators.ts";

export const HandoverInput = z
  .object({
    folder: FolderPath.meta({ title: "Folder" }),
    /** The notes to read, and those to read if they cannot be read. Relative to the folder, as all names here. */
    primary: PathInside.default("HANDOVER.md").meta({ title: "Primary" }),
    fallback: PathInside.default("README.md").meta({ title: "Fallback" }),
    summary_out: PathInside.default("HANDOVER-SUMMARY.md").meta({ title: "Summary out" }),
    checklist_out: PathInside.default("HANDOVER-CHECKLIST.md").meta({ title: "Checklist out" }),
    title: z.string().min(1).max(200).default("Handover").meta({ title: "Title" }),
  })
  .refine((input) => input.summary_out !== input.checklist_out, "the two documents need files of their own");
type HandoverInput = Readonly<z.output<typeof HandoverInput>>;

const operators = [fileRead, summarizeOperator, checklistOperator, fileWrite] as const;
const outcomes = {
  "Draft.HandoverSummary": HandoverSummaryDraft,
  "Draft.HandoverChecklist": HandoverChecklistDraft,
};
type StepOf = StepBuilder<typeof operators, typeof outcomes>;

export const projectHandover = defineCapability({
  intentType: "Project.Handover.Prepare",
  version: "1.0",
  description: "Prepares a handover: a summary and a checklist from the notes of a project, each approved on its own.",
  keywords: ["handover", "hand over", "onboarding checklist"],
  input: HandoverInput,
  operators,
  outcomes,
  plan: ({ input, situation, step }) => planHandover(input, situation, step),
  policyTags: { publish_summary: ["folder-write"], publish_checklist: ["folder-write"] },
  uiActions: {
    publish_summary: [
      { action: "apply", label: "Write the summary" },
      { action: "edit", label: "Edit the summary" },
      { action: "discard", label: "Discard" },
    ],
    publish_checklist: [
      { action: "apply", label: "Write the checklist" },
      { action: "edit", label: "Edit the checklist" },
      { action: "discard", label: "Discard" },
    ],
  },
  weights: { primary: 1, fallback: 1, summary: 2, checklist: 2, publish_summary: 1, publish_checklist: 1 },
});

type Source = "primary" | "fallback";

function chooseSource({ completed, failed }: PlanningSituation): Source {
  const seen = [...completed, ...failed].map((step) => step.step_id);
  return seen.includes("fallback") || failed.some((step) => step.step_id === "primary") ? "fallback" : "primary";
}

function planHandover(input: HandoverInput, situation: PlanningSituation, step: StepOf): ExecutionPlan {
  const source = chooseSource(situation);
  const reason = situation.failed.find((one) => one.step_id === "primary")?.message ?? "it failed before";
  const why = source === "primary" ? "" : ` ${input.primary} could not be read: ${reason}.`;
  const { folder, summary_out, checklist_out } = input;
  const read = step({
    step_id: source,
    name: `Read the ${source} source`,
    operator: "File.Read",
    params: { folder, path: input[source] },
  });
  const reported = (what: string) => ({ title: `${input.title}: ${what}`.slice(0, 200), source: read.output });
  const summary = step({
    step_id: "summary",
    name: "Draft the summary",
    operator: "Handover.Summarize",
    params: reported("summary"),
    outcome: "Draft.HandoverSummary",
  });
  const checklist = step({
    step_id: "checklist",
    name: "Draft the checklist",
    operator: "Handover.Checklist",
    params: reported("checklist"),
    outcome: "Draft.HandoverChecklist",
  });
  const publish = (draft: StepWithOutcome, content: Reference<string>, path: string) =>
    step({
      step_id: `publish_${draft.step_id}`,
      name: `Write the ${draft.step_id}`,
      operator: "File.Write",
      params: { folder, path, content },
      applies: draft,
      gate: { reason: `this writes ${path} into the folder` },
    });
  return {
    reasoning: `Read ${input[source]}, draft a summary and a checklist, and write each after its own approval.${why}`,
    steps: [
      read,
      summary,
      checklist,
      publish(summary, summary.output.markdown, summary_out),
      publish(checklist, checklist.output.markdown, checklist_out),
    ],
  };
}

// Project.Handover.Prepare: a summary and a checklist from a project's notes, each written after its own approval.
// Owns: the plan and its replan: read the primary source; where that failed, read the fallback instead.
// Never: reads both sources, or writes one document on the approval of the other.
// INV-1  Once a round has turned to the fallback, later rounds stay with it, so that completed steps remain valid.

import { z } from "zod";
import type { PlanningSituation } from "../../contract/capability.ts";
import type { ExecutionPlan, PlanStepDraft } from "../../contract/plan.ts";
import { defineCapability } from "../../define/define-capability.ts";
import { fileRead } from "../../operators/files/file-read.ts";
import { fileWrite } from "../../operators/files/file-write.ts";
import { FolderPath, PathInside } from "../../operators/files/safe-path.ts";
import { checklistOperator, HandoverChecklistDraft, HandoverSummaryDraft, summarizeOperator } from "./operators.ts";

export const HandoverInput = z
  .object({
    folder: FolderPath,
    /** The notes to read, and what to read when they cannot be read. Relative to the folder, as all names here. */
    primary: PathInside.default("HANDOVER.md"),
    fallback: PathInside.default("README.md"),
    summary_out: PathInside.default("HANDOVER-SUMMARY.md"),
    checklist_out: PathInside.default("HANDOVER-CHECKLIST.md"),
    title: z.string().min(1).max(200).default("Handover"),
  })
  .refine((input) => input.summary_out !== input.checklist_out, "the two documents need files of their own");
type HandoverInput = Readonly<z.output<typeof HandoverInput>>;

export const projectHandover = defineCapability({
  intentType: "Project.Handover.Prepare",
  version: "1.0",
  description: "Prepares a handover: a summary and a checklist from the notes of a project, each approved on its own.",
  keywords: ["handover", "hand over", "onboarding checklist"],
  input: HandoverInput,
  operators: [fileRead, summarizeOperator, checklistOperator, fileWrite],
  outcomes: { "Draft.HandoverSummary": HandoverSummaryDraft, "Draft.HandoverChecklist": HandoverChecklistDraft },
  plan: ({ input, situation }) => planHandover(input, situation),
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

function planHandover(input: HandoverInput, situation: PlanningSituation): ExecutionPlan {
  const source = chooseSource(situation);
  const reason = situation.failed.find((step) => step.step_id === "primary")?.message ?? "it failed before";
  const why = source === "primary" ? "" : ` ${input.primary} could not be read: ${reason}.`;
  return {
    reasoning: `Read ${input[source]}, draft a summary and a checklist, and write each after its own approval.${why}`,
    steps: [
      readStep(input, source),
      draftStep(input, source, "summary"),
      draftStep(input, source, "checklist"),
      publishStep(input, "summary"),
      publishStep(input, "checklist"),
    ],
  };
}

type DocumentKind = "summary" | "checklist";

const documents = {
  summary: { operator: "Handover.Summarize", outcome: "Draft.HandoverSummary", title: "summary" },
  checklist: { operator: "Handover.Checklist", outcome: "Draft.HandoverChecklist", title: "checklist" },
} as const;

function readStep(input: HandoverInput, source: Source): PlanStepDraft {
  const name = `Read the ${source} source`;
  return { step_id: source, name, operator: "File.Read", params: { folder: input.folder, path: input[source] } };
}

function draftStep(input: HandoverInput, source: Source, kind: DocumentKind): PlanStepDraft {
  const { operator, outcome, title } = documents[kind];
  return {
    step_id: kind,
    name: `Draft the ${title}`,
    operator,
    params: { title: `${input.title}: ${title}`.slice(0, 200), source: `{{${source}.output}}` },
    depends_on: [source],
    outcome,
  };
}

function publishStep(input: HandoverInput, kind: DocumentKind): PlanStepDraft {
  const path = kind === "summary" ? input.summary_out : input.checklist_out;
  return {
    step_id: `publish_${kind}`,
    name: `Write the ${kind}`,
    operator: "File.Write",
    params: { folder: input.folder, path, content: `{{${kind}.output.markdown}}` },
    depends_on: [kind],
    applies: kind,
    gate: { reason: `this writes ${path} into the folder` },
  };
}

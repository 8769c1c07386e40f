// Repo.ReleaseNotes.Draft: release notes of a git repository, published only when a person has countersigned them.
// Owns: the plan: collect → classify → group → draft → check → publish, the last behind a gate.
// Never: writes without the gate, calls a model or the network.
// INV-1  What is published is the outcome of `draft` as the person left it, not what a later step computed.

import { z } from "zod";
import type { ExecutionPlan, PlanStepDraft } from "../../contract/plan.ts";
import { defineCapability } from "../../define/define-capability.ts";
import { fileWrite } from "../../operators/files/file-write.ts";
import { PathInside } from "../../operators/files/safe-path.ts";
import { GitRef, gitLog, RepositoryPath } from "../../operators/git-log/git-log.ts";
import { ReleaseNotesDraft } from "./change.ts";
import { checkOperator, classifyOperator, draftOperator, groupOperator } from "./operators.ts";

export const ReleaseNotesInput = z.object({
  repo: RepositoryPath,
  /** The last release; without it the latest tag, else the whole history. */
  since: GitRef.optional(),
  until: GitRef.optional(),
  /** Relative to the repository. */
  out: PathInside.default("RELEASE_NOTES.md"),
  title: z.string().min(1).max(200).default("Release notes"),
  version: z.string().min(1).max(100).default("unreleased"),
});
type ReleaseNotesInput = Readonly<z.output<typeof ReleaseNotesInput>>;

export const releaseNotes = defineCapability({
  intentType: "Repo.ReleaseNotes.Draft",
  version: "1.0",
  description: "Drafts release notes from the commits since the last release and publishes them once approved.",
  keywords: ["release notes", "changelog", "what changed"],
  input: ReleaseNotesInput,
  operators: [gitLog, classifyOperator, groupOperator, draftOperator, checkOperator, fileWrite],
  outcomes: { "Draft.ReleaseNotes": ReleaseNotesDraft },
  plan: ({ input }) => planReleaseNotes(input),
  policyTags: { publish: ["repository-write"] },
  uiActions: {
    publish: [
      { action: "apply", label: "Publish" },
      { action: "edit", label: "Edit the notes" },
      { action: "discard", label: "Discard" },
    ],
  },
  weights: { collect: 2, classify: 1, group: 1, draft: 3, check: 1, publish: 2 },
});

function planReleaseNotes(input: ReleaseNotesInput): ExecutionPlan {
  const { repo, out } = input;
  return {
    reasoning: `Read the history of ${repo}, sort it by kind of change, draft the notes, check that no commit is lost, and write ${out} after approval.`,
    steps: [collectStep(input), ...sortSteps, draftStep(input), checkStep, publishStep(input)],
  };
}

function collectStep({ repo, since, until }: ReleaseNotesInput): PlanStepDraft {
  return {
    step_id: "collect",
    name: "Collect commits",
    operator: "Git.Log",
    params: { repo, ...(since && { since }), ...(until && { until }) },
  };
}

const sortSteps: readonly PlanStepDraft[] = [
  {
    step_id: "classify",
    name: "Classify commits",
    operator: "ReleaseNotes.Classify",
    params: { commits: "{{collect.output.commits}}" },
    depends_on: ["collect"],
  },
  {
    step_id: "group",
    name: "Group changes",
    operator: "ReleaseNotes.Group",
    params: { changes: "{{classify.output.changes}}" },
    depends_on: ["classify"],
  },
];

function draftStep({ title, version }: ReleaseNotesInput): PlanStepDraft {
  return {
    step_id: "draft",
    name: "Draft the notes",
    operator: "ReleaseNotes.Draft",
    params: {
      groups: "{{group.output.groups}}",
      title,
      version,
      since: "{{collect.output.since}}",
      remote_url: "{{collect.output.remote_url}}",
      truncated: "{{collect.output.truncated}}",
    },
    depends_on: ["collect", "group"],
    outcome: "Draft.ReleaseNotes",
  };
}

const checkStep: PlanStepDraft = {
  step_id: "check",
  name: "Check the notes",
  operator: "ReleaseNotes.Check",
  params: {
    markdown: "{{draft.output.markdown}}",
    commits: "{{collect.output.commits}}",
    remote_url: "{{collect.output.remote_url}}",
  },
  depends_on: ["collect", "draft"],
};

function publishStep({ repo, out }: ReleaseNotesInput): PlanStepDraft {
  return {
    step_id: "publish",
    name: "Publish the notes",
    operator: "File.Write",
    params: { folder: repo, path: out, content: "{{draft.output.markdown}}" },
    depends_on: ["draft", "check"],
    applies: "draft",
    gate: { reason: `publishing writes ${out} into the repository` },
  };
}

// Repo.ReleaseNotes.Draft: release notes of a git repository, published only when a person has countersigned them.
// Owns: the plan: collect → classify → group → draft → check → publish, the last behind a gate; where it is asked for, the
//       same as JSON beside it, behind a gate of its own.
// Never: writes without the gate, calls a model or the network.
// INV-1  What is published is the outcome of `draft` as the person left it, not what a later step computed.

import { z } from "zod";
import type { ExecutionPlan, PlanStepDraft } from "../../contract/plan.ts";
import { defineCapability } from "../../define/define-capability.ts";
import { fileWrite } from "../../operators/files/file-write.ts";
import { PathInside } from "../../operators/files/safe-path.ts";
import { gitLog, RepositoryPath } from "../../operators/git-log/git-log.ts";
import { GitRef, TagPrefix } from "../../operators/git-log/range.ts";
import { ReleaseNotesData, ReleaseNotesDraft, Section } from "./change.ts";
import { readBodyParts } from "./classify.ts";
import { checkOperator, classifyOperator, dataOperator, draftOperator, groupOperator } from "./operators.ts";

export const ReleaseNotesInput = z.object({
  repo: RepositoryPath,
  /** The last release; without it the latest tag, else the whole history. */
  since: GitRef.optional(),
  until: GitRef.optional(),
  /** Of several packages in one repository: the beginning of this one's tags, and its files and folders. */
  tag_prefix: TagPrefix.default(""),
  paths: z.array(PathInside).max(100).default([]),
  /** Relative to the repository. */
  out: PathInside.default("RELEASE_NOTES.md"),
  /** Where the same is to be written as JSON. */
  data_out: PathInside.optional(),
  title: z.string().min(1).max(200).default("Release notes"),
  /** Without it that of the tag at hand. */
  version: z.string().min(1).max(100).optional(),
  /** In place of the usual sections. */
  sections: z.array(Section).min(1).max(100).optional(),
});
type ReleaseNotesInput = Readonly<z.output<typeof ReleaseNotesInput>>;

const buttons = (publish: string, edit: string) => [
  { action: "apply", label: publish },
  { action: "edit", label: edit },
  { action: "discard", label: "Discard" },
];

export const releaseNotes = defineCapability({
  intentType: "Repo.ReleaseNotes.Draft",
  version: "1.1",
  description: "Drafts release notes from the commits since the last release and publishes them once approved.",
  keywords: ["release notes", "changelog", "what changed"],
  input: ReleaseNotesInput,
  operators: [gitLog, classifyOperator, groupOperator, draftOperator, dataOperator, checkOperator, fileWrite],
  outcomes: { "Draft.ReleaseNotes": ReleaseNotesDraft, "Draft.ReleaseData": ReleaseNotesData },
  plan: ({ input }) => planReleaseNotes(input),
  policyTags: { publish: ["repository-write"], publish_data: ["repository-write"] },
  uiActions: {
    publish: buttons("Publish", "Edit the notes"),
    publish_data: buttons("Publish", "Edit the data"),
  },
  weights: { collect: 2, classify: 1, group: 1, draft: 3, check: 1, publish: 2, data: 1, publish_data: 1 },
});

function planReleaseNotes(input: ReleaseNotesInput): ExecutionPlan {
  const { repo, out, data_out } = input;
  const steps = [collectStep(input), classifyStep, groupStep(input), draftStep(input), checkStep, publishStep(input)];
  return {
    reasoning: `Read the history of ${repo}, sort it by kind of change, draft the notes, check that no commit is lost, and write ${out} after approval.`,
    steps: data_out === undefined ? steps : [...steps, dataStep(input), publishDataStep(repo, data_out)],
  };
}

const collectStep = ({ repo, since, until, tag_prefix, paths }: ReleaseNotesInput): PlanStepDraft => ({
  step_id: "collect",
  name: "Collect commits",
  operator: "Git.Log",
  params: {
    repo,
    ...(since && { since }),
    ...(until && { until }),
    tag_prefix,
    paths,
    contributors: true,
    body_parts: [...readBodyParts],
  },
});

const classifyStep: PlanStepDraft = {
  step_id: "classify",
  name: "Classify commits",
  operator: "ReleaseNotes.Classify",
  params: { commits: "{{collect.output.commits}}" },
  depends_on: ["collect"],
};

const groupStep = ({ sections }: ReleaseNotesInput): PlanStepDraft => ({
  step_id: "group",
  name: "Group changes",
  operator: "ReleaseNotes.Group",
  params: { changes: "{{classify.output.changes}}", ...(sections && { sections }) },
  depends_on: ["classify"],
});

/** Of the range what the notes say of it. */
const toldOfRange = ["since", "until_hash", "tag", "remote_url", "total", "shallow", "contributors"];

const noteParams = ({ title, version, tag_prefix }: ReleaseNotesInput): PlanStepDraft["params"] => ({
  groups: "{{group.output.groups}}",
  omitted: "{{group.output.omitted}}",
  title,
  version: version ?? null,
  tag_prefix,
  ...Object.fromEntries(toldOfRange.map((name) => [name, `{{collect.output.${name}}}`])),
});

const draftStep = (input: ReleaseNotesInput): PlanStepDraft => ({
  step_id: "draft",
  name: "Draft the notes",
  operator: "ReleaseNotes.Draft",
  params: noteParams(input),
  depends_on: ["collect", "group"],
  outcome: "Draft.ReleaseNotes",
});

const checkStep: PlanStepDraft = {
  step_id: "check",
  name: "Check the notes",
  operator: "ReleaseNotes.Check",
  params: {
    markdown: "{{draft.output.markdown}}",
    commits: "{{collect.output.commits}}",
    omitted: "{{group.output.omitted}}",
    remote_url: "{{collect.output.remote_url}}",
  },
  depends_on: ["collect", "group", "draft"],
};

const publishStep = ({ repo, out }: ReleaseNotesInput): PlanStepDraft => ({
  step_id: "publish",
  name: "Publish the notes",
  operator: "File.Write",
  params: { folder: repo, path: out, content: "{{draft.output.markdown}}" },
  depends_on: ["draft", "check"],
  applies: "draft",
  gate: { reason: `publishing writes ${out} into the repository` },
});

const dataStep = (input: ReleaseNotesInput): PlanStepDraft => ({
  step_id: "data",
  name: "Draft the data",
  operator: "ReleaseNotes.Data",
  params: noteParams(input),
  depends_on: ["collect", "group", "publish"],
  outcome: "Draft.ReleaseData",
});

const publishDataStep = (repo: string, path: string): PlanStepDraft => ({
  step_id: "publish_data",
  name: "Publish the data",
  operator: "File.Write",
  params: { folder: repo, path, content: "{{data.output.json}}" },
  depends_on: ["data"],
  applies: "data",
  gate: { reason: `publishing writes ${path} into the repository` },
});

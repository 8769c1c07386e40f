/**
 * Repo.ReleaseNotes.Draft: release notes of a git repository, published only when a person has countersigned them.
 *
 * Owns: the plan: collect → classify → group → draft → check → publish, the last behind a gate; on request,
 * the same as JSON beside it, behind a gate of its own. Never: writes without the gate, calls a model or the network.
 * 1.  The published text is the outcome of `draft` as the person left it, not what a later step computed.
 */
import { z } from "zod";
import type { ExecutionPlan } from "../../../contract/plan.ts";
import { defineCapability } from "../../../define/define-capability.ts";
import type { AnyStep } from "../../../define/quiet-steps.ts";
import type { StepBuilder } from "../../../define/step-builder.ts";
import { fileWrite } from "../../operators/files/file-write.ts";
import { PathInside } from "../../operators/files/safe-path.ts";
import { gitLog, RepositoryPath } from "../../operators/git-log/git-log.ts";
import { GitRef, TagPrefix } from "../../operators/git-log/range.ts";
import { ReleaseNotesData, ReleaseNotesDraft, Section } from "./change.ts";
import { readBodyParts } from "./classify.ts";
import { checkOperator, classifyOperator, dataOperator, draftOperator, groupOperator } from "./operators.ts";

export const ReleaseNotesInput = z.object({
  repo: RepositoryPath.meta({ title: "Repo" }),
  /** The last release; without it the latest tag, else the whole history. */
  since: GitRef.optional().meta({ title: "Since" }),
  until: GitRef.optional().meta({ title: "Until" }),
  /** The beginning of the tags, and the files and folders, of one of several packages in a repository. */
  tag_prefix: TagPrefix.default("").meta({ title: "Tag prefix" }),
  paths: z.array(PathInside).max(100).default([]).meta({ title: "Paths" }),
  /** Relative to the repository. */
  out: PathInside.default("RELEASE_NOTES.md").meta({ title: "Out" }),
  /** The path of the JSON form, if it is wanted. */
  data_out: PathInside.optional().meta({ title: "Data out" }),
  title: z.string().min(1).max(200).default("Release notes").meta({ title: "Title" }),
  /** Without it that of the tag at hand. */
  version: z.string().min(1).max(100).optional().meta({ title: "Version" }),
  /** Sections that replace the usual ones. */
  sections: z.array(Section).min(1).max(100).optional().meta({ title: "Sections" }),
});
type ReleaseNotesInput = Readonly<z.output<typeof ReleaseNotesInput>>;

const buttons = (publish: string, edit: string) => [
  { action: "apply", label: publish },
  { action: "edit", label: edit },
  { action: "discard", label: "Discard" },
];

const operators = [
  gitLog,
  classifyOperator,
  groupOperator,
  draftOperator,
  dataOperator,
  checkOperator,
  fileWrite,
] as const;
const outcomes = { "Draft.ReleaseNotes": ReleaseNotesDraft, "Draft.ReleaseData": ReleaseNotesData };

export const releaseNotes = defineCapability({
  intentType: "Repo.ReleaseNotes.Draft",
  version: "1.1",
  description: "Drafts release notes from the commits since the last release and publishes them once approved.",
  keywords: ["release notes", "changelog", "what changed"],
  input: ReleaseNotesInput,
  operators,
  outcomes,
  plan: ({ input, step }) => planReleaseNotes(input, step),
  policyTags: { publish: ["repository-write"], publish_data: ["repository-write"] },
  uiActions: {
    publish: buttons("Publish", "Edit the notes"),
    publish_data: buttons("Publish", "Edit the data"),
  },
  weights: { collect: 2, classify: 1, group: 1, draft: 3, check: 1, publish: 2, data: 1, publish_data: 1 },
});

type StepOf = StepBuilder<typeof operators, typeof outcomes>;

function planReleaseNotes(input: ReleaseNotesInput, step: StepOf): ExecutionPlan {
  const { repo, out, data_out } = input;
  const found = findChanges(input, step);
  const notes = draftNotes(input, step, found);
  const steps = [found.collect, found.classify, found.group, notes.draft, notes.check, notes.publish];
  const data = data_out === undefined ? [] : draftData(input, step, { ...found, ...notes, path: data_out });
  return {
    reasoning: [
      `Read the history of ${repo}, sort it by kind of change, draft the notes, check that no commit is lost,`,
      `and write ${out} after approval.`,
    ].join(" "),
    steps: [...steps, ...data],
  };
}

type Found = ReturnType<typeof findChanges>;

function findChanges({ repo, since, until, tag_prefix, paths, sections }: ReleaseNotesInput, step: StepOf) {
  const collect = step({
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
      ...(sections?.some(({ each }) => each === "folder") && { folders: true }),
      body_parts: [...readBodyParts],
    },
  });
  const classify = step({
    step_id: "classify",
    name: "Classify commits",
    operator: "ReleaseNotes.Classify",
    params: { commits: collect.output.commits },
  });
  const group = step({
    step_id: "group",
    name: "Group changes",
    operator: "ReleaseNotes.Group",
    params: { changes: classify.output.changes, ...(sections && { sections }) },
  });
  return { collect, classify, group };
}

const noteParams = ({ title, version, tag_prefix }: ReleaseNotesInput, { collect, group }: Found) => ({
  groups: group.output.groups,
  omitted: group.output.omitted,
  title,
  version: version ?? null,
  tag_prefix,
  since: collect.output.since,
  until_hash: collect.output.until_hash,
  tag: collect.output.tag,
  remote_url: collect.output.remote_url,
  total: collect.output.total,
  shallow: collect.output.shallow,
  contributors: collect.output.contributors,
});

function draftNotes(input: ReleaseNotesInput, step: StepOf, found: Found) {
  const { repo, out } = input;
  const { collect, group } = found;
  const draft = step({
    step_id: "draft",
    name: "Draft the notes",
    operator: "ReleaseNotes.Draft",
    params: noteParams(input, found),
    depends_on: [collect, group],
    outcome: "Draft.ReleaseNotes",
  });
  const check = step({
    step_id: "check",
    name: "Check the notes",
    operator: "ReleaseNotes.Check",
    params: {
      markdown: draft.output.markdown,
      commits: collect.output.commits,
      omitted: group.output.omitted,
      remote_url: collect.output.remote_url,
    },
    depends_on: [collect, group, draft],
  });
  const publish = step({
    step_id: "publish",
    name: "Publish the notes",
    operator: "File.Write",
    params: { folder: repo, path: out, content: draft.output.markdown },
    depends_on: [draft, check],
    applies: draft,
    gate: { reason: `publishing writes ${out} into the repository` },
  });
  return { draft, check, publish };
}

interface NotesPublished extends Found {
  readonly publish: AnyStep;
  readonly path: string;
}

function draftData(input: ReleaseNotesInput, step: StepOf, { publish, path, ...found }: NotesPublished) {
  const data = step({
    step_id: "data",
    name: "Draft the data",
    operator: "ReleaseNotes.Data",
    params: noteParams(input, found),
    depends_on: [found.collect, found.group, publish],
    outcome: "Draft.ReleaseData",
  });
  const publishData = step({
    step_id: "publish_data",
    name: "Publish the data",
    operator: "File.Write",
    params: { folder: input.repo, path, content: data.output.json },
    applies: data,
    gate: { reason: `publishing writes ${path} into the repository` },
  });
  return [data, publishData];
}

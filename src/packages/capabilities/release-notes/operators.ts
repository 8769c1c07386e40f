/**
 * The operators of the release notes package: each a schema around one pure function.
 *
 * Owns: the data that is passed between the steps of the plan. Never: reads the repository or the disk (Git.Log and
 * File.Write do).
 */
import { z } from "zod";
import { defineOperator, operatorError } from "../../../define/define-operator.ts";
import { Commit } from "../../operators/git-log/commit.ts";
import { GitLogOutput } from "../../operators/git-log/git-log.ts";
import { Change, ChangeGroup, Omission, ReleaseNotesData, ReleaseNotesDraft, Section } from "./change.ts";
import { checkDraft, describeProblems, isAccepted } from "./check.ts";
import { classifyCommits } from "./classify.ts";
import { describeAsData } from "./data.ts";
import { countCommits, draftSections, versionOf } from "./draft.ts";
import { groupChanges } from "./group.ts";

const RemoteUrl = z.url({ protocol: /^https?$/ }).nullable();

export const classifyOperator = defineOperator({
  name: "ReleaseNotes.Classify",
  version: "1.1",
  description: "Says of each commit what kind of change it is.",
  input: z.object({ commits: z.array(Commit) }),
  output: z.object({ changes: z.array(Change) }),
  idempotent: true,
  run: ({ input }) => ({ changes: [...classifyCommits(input.commits)] }),
});

const Grouped = z.object({ groups: z.array(ChangeGroup), omitted: z.array(Omission) });

export const groupOperator = defineOperator({
  name: "ReleaseNotes.Group",
  version: "1.1",
  description: "Sorts changes into the sections of the notes.",
  input: z.object({ changes: z.array(Change), sections: z.array(Section).max(100).optional() }),
  output: Grouped,
  idempotent: true,
  run: ({ input }) => {
    const { groups, omitted } = groupChanges(input.changes, input.sections);
    return { groups: [...groups], omitted: [...omitted] };
  },
});

/** The content of the notes, before it is text. The range has the form of Git.Log. */
const NotesInput = Grouped.extend({
  title: z.string().min(1).max(200),
  version: z.string().min(1).max(100).nullable(),
  tag_prefix: z.string(),
  remote_url: RemoteUrl,
  ...GitLogOutput.pick({ since: true, until_hash: true, tag: true, total: true, shallow: true, contributors: true })
    .shape,
});

const withVersion = ({ version, tag_prefix, ...input }: z.output<typeof NotesInput>) => ({
  ...input,
  version: versionOf(version, input.tag, tag_prefix),
});

export const draftOperator = defineOperator({
  name: "ReleaseNotes.Draft",
  version: "1.1",
  description: "Writes the notes as Markdown.",
  input: NotesInput,
  output: ReleaseNotesDraft,
  effect: "write_draft",
  idempotent: true,
  honoursAbort: true,
  run: ({ input, signal, report, stream }) => {
    const question = withVersion(input);
    const sections = draftSections(question);
    for (const [index, section] of sections.entries()) {
      signal.throwIfAborted();
      stream(section);
      report(Math.floor((100 * (index + 1)) / sections.length));
    }
    return { markdown: sections.join(""), version: question.version, commits: countCommits(question) };
  },
});

export const dataOperator = defineOperator({
  name: "ReleaseNotes.Data",
  version: "1.0",
  description: "Says what the notes say as JSON.",
  input: NotesInput,
  output: ReleaseNotesData,
  effect: "write_draft",
  idempotent: true,
  run: ({ input }) => ({ json: describeAsData(withVersion(input)) }),
});

export const checkOperator = defineOperator({
  name: "ReleaseNotes.Check",
  version: "1.1",
  description: "Refuses notes that lose a commit, name one twice, or hold a broken link or raw HTML.",
  input: z.object({
    markdown: z.string(),
    commits: z.array(z.object({ hash: z.string(), short: z.string() })),
    omitted: z.array(Omission),
    remote_url: RemoteUrl,
  }),
  output: z.object({ accepted: z.literal(true), commits: z.int() }),
  idempotent: true,
  run: ({ input: { markdown, commits, omitted, remote_url } }) => {
    const problems = checkDraft({ markdown, commits, omitted, remoteUrl: remote_url });
    if (isAccepted(problems)) return { accepted: true as const, commits: commits.length };
    const message = describeProblems(problems);
    throw operatorError({
      code: "RELEASE_NOTES_NOT_ACCEPTED",
      category: "validation",
      message,
      details: { ...problems },
    });
  },
});

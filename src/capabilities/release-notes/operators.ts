// The operators of the release notes package: each a schema around one pure function.
// Owns: what travels between the steps of the plan.
// Never: reads the repository or the disk (Git.Log and File.Write do).

import { z } from "zod";
import { defineOperator, operatorError } from "../../define/define-operator.ts";
import { Commit } from "../../operators/git-log/commit.ts";
import { Change, ChangeGroup, ReleaseNotesDraft } from "./change.ts";
import { checkDraft, describeComplaints, isAccepted } from "./check.ts";
import { classifyCommits } from "./classify.ts";
import { countChanges, draftSections } from "./draft.ts";
import { groupChanges } from "./group.ts";

const RemoteUrl = z.url({ protocol: /^https?$/ }).nullable();

export const classifyOperator = defineOperator({
  name: "ReleaseNotes.Classify",
  version: "1.0",
  description: "Says of each commit what kind of change it is.",
  input: z.object({ commits: z.array(Commit) }),
  output: z.object({ changes: z.array(Change) }),
  idempotent: true,
  run: ({ input }) => ({ changes: [...classifyCommits(input.commits)] }),
});

export const groupOperator = defineOperator({
  name: "ReleaseNotes.Group",
  version: "1.0",
  description: "Sorts changes into the sections of the notes.",
  input: z.object({ changes: z.array(Change) }),
  output: z.object({ groups: z.array(ChangeGroup) }),
  idempotent: true,
  run: ({ input }) => ({ groups: [...groupChanges(input.changes)] }),
});

export const draftOperator = defineOperator({
  name: "ReleaseNotes.Draft",
  version: "1.0",
  description: "Writes the notes as Markdown.",
  input: z.object({
    groups: z.array(ChangeGroup),
    title: z.string().min(1).max(200),
    version: z.string().min(1).max(100),
    since: z.string().nullable(),
    remote_url: RemoteUrl,
    truncated: z.boolean(),
  }),
  output: ReleaseNotesDraft,
  effect: "write_draft",
  idempotent: true,
  honoursAbort: true,
  run: ({ input: { remote_url, ...input }, signal, report, stream }) => {
    const sections = draftSections({ ...input, remoteUrl: remote_url });
    for (const [index, section] of sections.entries()) {
      signal.throwIfAborted();
      stream(section);
      report(Math.floor((100 * (index + 1)) / sections.length));
    }
    return { markdown: sections.join(""), version: input.version, commits: countChanges(input.groups) };
  },
});

export const checkOperator = defineOperator({
  name: "ReleaseNotes.Check",
  version: "1.0",
  description: "Refuses notes that leave out a commit, name one twice, or hold a broken link or raw HTML.",
  input: z.object({
    markdown: z.string(),
    commits: z.array(z.object({ hash: z.string(), short: z.string() })),
    remote_url: RemoteUrl,
  }),
  output: z.object({ accepted: z.literal(true), commits: z.int() }),
  idempotent: true,
  run: ({ input: { markdown, commits, remote_url } }) => {
    const complaints = checkDraft({ markdown, commits, remoteUrl: remote_url });
    if (isAccepted(complaints)) return { accepted: true as const, commits: commits.length };
    const message = describeComplaints(complaints);
    throw operatorError({
      code: "RELEASE_NOTES_NOT_ACCEPTED",
      category: "validation",
      message,
      details: { ...complaints },
    });
  },
});

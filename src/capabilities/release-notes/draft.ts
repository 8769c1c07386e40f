// Draft: the groups as a Markdown document. Pure: same groups, same bytes; no clock.
// Owns: the heading, the line on the range, one section a group, one entry a change.
// Never: trusts a subject: all text of commits goes through escapeMarkdown; links only where a remote is known.
// INV-1  Each change is exactly one line that begins with "- " and ends with its commit's mark.

import { escapeMarkdown } from "../markdown.ts";
import type { Change, ChangeGroup } from "./change.ts";
import { markCommit } from "./commit-link.ts";

const maxNoteChars = 1000;

export interface DraftQuestion {
  readonly groups: readonly ChangeGroup[];
  readonly title: string;
  readonly version: string;
  readonly since: string | null;
  readonly remoteUrl: string | null;
  /** The history held more commits than were read. */
  readonly truncated: boolean;
}

export const countChanges = (groups: readonly ChangeGroup[]): number =>
  groups.reduce((sum, group) => sum + group.changes.length, 0);

/** The document in pieces: the head, then one for each group. Their concatenation is the document. */
export function draftSections(question: DraftQuestion): readonly string[] {
  return [draftHead(question), ...question.groups.map((group) => draftGroup(group, question.remoteUrl))];
}

function draftHead({ groups, title, version, since, truncated }: DraftQuestion): string {
  const count = countChanges(groups);
  const changes = count === 1 ? "1 change" : `${count === 0 ? "No" : count} changes`;
  const range = since === null ? "since the beginning" : `since ${escapeMarkdown(since)}`;
  const warning = truncated ? "\nOlder changes of this range are not listed.\n" : "";
  return `# ${escapeMarkdown(title)}: ${escapeMarkdown(version)}\n\n${changes} ${range}.\n${warning}`;
}

function draftGroup({ title, changes }: ChangeGroup, remoteUrl: string | null): string {
  const entries = changes.map((change) => draftEntry(change, remoteUrl));
  return `\n## ${escapeMarkdown(title)}\n\n${entries.join("")}`;
}

function draftEntry(change: Change, remoteUrl: string | null): string {
  const scope = escapeMarkdown(change.scope ?? "");
  const summary = escapeMarkdown(change.summary) || "(no subject)";
  const undone = change.reverted_by === null ? "" : `, reverted by ${change.reverted_by}`;
  const note = escapeMarkdown(change.breaking_note ?? "", maxNoteChars);
  const text = `${scope === "" ? "" : `**${scope}:** `}${summary}${undone}`;
  return `- ${text} (${markCommit(change, remoteUrl)})\n${note === "" ? "" : `\n  ${note}\n`}`;
}

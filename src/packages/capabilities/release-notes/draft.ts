/**
 * Draft: the groups as a Markdown document. Pure: same groups, same bytes; no clock.
 *
 * Owns: the heading, the line on the range, one section a group, one entry a change, and the end: the commits without
 * an entry, and the authors. Never: trusts a subject: all text of commits goes through markdown.ts; links only where a
 * remote is known.
 * 1.  Each listed change is exactly one line that begins with "- " and ends with its commit's mark.
 * 2.  Omissions are stated: commits without an entry by kind, older ones that were not read, a shallow clone.
 */
import type { Contributor } from "../../operators/git-log/contributors.ts";
import { escapeMarkdown, toMarkdownLine } from "../markdown.ts";
import type { Change, ChangeGroup, Omission } from "./change.ts";
import { markCommit } from "./commit-link.ts";
import { compareUrl, referenceUrl } from "./host-links.ts";

const maxNoteChars = 1000;

/** The range in the form of Git.Log. */
export interface DraftRange {
  readonly since: string | null;
  readonly until_hash: string;
  readonly tag: { readonly name: string; readonly date: string } | null;
  readonly remote_url: string | null;
  readonly total: number;
  readonly shallow: boolean;
  readonly contributors: readonly Contributor[];
}

export interface DraftQuestion extends DraftRange {
  readonly groups: readonly ChangeGroup[];
  readonly omitted: readonly Omission[];
  readonly title: string;
  readonly version: string;
}

/** Returns the version of these notes: the one that was named, else the tag at hand without its prefix. */
export const versionOf = (named: string | null, tag: DraftRange["tag"], prefix: string): string =>
  named ?? (tag?.name.slice(prefix.length) || "unreleased");

const countListed = (groups: readonly ChangeGroup[]): number =>
  groups.reduce((sum, group) => sum + group.changes.length, 0);

/** Returns how many commits the document accounts for. */
export const countCommits = ({ groups, omitted }: Pick<DraftQuestion, "groups" | "omitted">): number =>
  countListed(groups) + omitted.length;

/** Returns the document in pieces: the head, one for each group, the end. Their concatenation is the document. */
export function draftSections(question: DraftQuestion): readonly string[] {
  const groups = question.groups.map((group) => draftGroup(group, question));
  return [draftHead(question), ...groups, draftEnd(question)].filter((section) => section !== "");
}

function draftHead({ groups, title, version, tag, since, ...range }: DraftQuestion): string {
  const count = countListed(groups);
  const changes = count === 1 ? "1 change" : `${count === 0 ? "No" : count} changes`;
  const from = since === null ? "since the beginning" : `since ${toMarkdownLine(nameRef(since))}`;
  const date = tag === null ? "" : ` (${tag.date.slice(0, 10)})`;
  const url =
    since === null || range.remote_url === null
      ? null
      : compareUrl(range.remote_url, since, tag?.name ?? range.until_hash);
  const compared = url === null ? "" : ` ([full comparison](${url}))`;
  return `# ${escapeMarkdown(title)}: ${escapeMarkdown(version)}${date}\n\n${changes} ${from}${compared}.\n`;
}

/** Shortens a hash. */
const nameRef = (ref: string): string => (/^[0-9a-f]{40,64}$/.test(ref) ? `\`${ref.slice(0, 7)}\`` : ref);

function draftGroup({ title, changes }: ChangeGroup, { remote_url }: DraftQuestion): string {
  return `\n## ${escapeMarkdown(title)}\n\n${changes.map((change) => draftEntry(change, remote_url)).join("")}`;
}

function draftEntry(change: Change, remoteUrl: string | null): string {
  const linkOf = (reference: string, last: boolean) => linkReference(reference, remoteUrl, last);
  const scope = toMarkdownLine(change.scope ?? "");
  const summary = toMarkdownLine(change.summary, { linkOf }) || "(no subject)";
  const note = toMarkdownLine(change.breaking_note ?? "", { maxChars: maxNoteChars, linkOf });
  const closes = change.closes.map((reference) => linkReference(reference, remoteUrl, false)).join(", ");
  const text = `${scope === "" ? "" : `**${scope}:** `}${summary}${closes === "" ? "" : `, closes ${closes}`}`;
  return `- ${text} (${markCommit(change, remoteUrl)})\n${note === "" ? "" : `\n  ${note}\n`}`;
}

function linkReference(reference: string, remoteUrl: string | null, isRequest: boolean): string {
  const url = remoteUrl === null ? null : referenceUrl(remoteUrl, reference, isRequest ? "request" : "text");
  return url === null ? reference : `[${reference}](${url})`;
}

function draftEnd(question: DraftQuestion): string {
  const unread = question.total - countCommits(question);
  const lines = [
    describeOmitted(question.omitted),
    unread > 0 ? `The ${unread} oldest commits of this range were not read.` : "",
    question.shallow ? "The clone that this was read from is shallow: older commits are not in it." : "",
    describeContributors(question),
  ];
  return lines.map((line) => (line === "" ? "" : `\n${line}\n`)).join("");
}

const names: Readonly<Record<Omission["why"], readonly [one: string, more: string]>> = {
  feature: ["feature", "features"],
  fix: ["fix", "fixes"],
  performance: ["performance change", "performance changes"],
  security: ["security change", "security changes"],
  other: ["other change", "other changes"],
  revert: ["revert", "reverts"],
  documentation: ["change to the documentation", "changes to the documentation"],
  dependency: ["change of dependencies", "changes of dependencies"],
  maintenance: ["maintenance change", "maintenance changes"],
  ci: ["CI change", "CI changes"],
  release: ["release commit", "release commits"],
  merge: ["merge", "merges"],
  undone: ["commit that was undone", "commits that cancel each other out"],
};

export const omittedOpening = "Not listed: ";

/** Describes omissions: `Not listed: 3 release commits, 1 merge.` */
function describeOmitted(omitted: readonly Omission[]): string {
  const counts = [...Map.groupBy(omitted, ({ why }) => why)].map(
    ([why, { length }]) => `${length} ${names[why][length === 1 ? 0 : 1]}`,
  );
  return counts.length === 0 ? "" : `${omittedOpening}${counts.join(", ")}.`;
}

/** Describes contributors, without bots; for new ones with the request that brought them, if it has an entry. */
function describeContributors({ contributors, groups, remote_url }: DraftQuestion): string {
  const people = contributors.filter(({ bot }) => !bot);
  if (people.length === 0) return "";
  const show = (person: Contributor): string => showPerson(person, remote_url);
  const changes = groups.flatMap((group) => group.changes);
  const first = people
    .filter((person) => person.first)
    .map((person) => {
      const summary = changes.findLast(({ author }) => author === person.name)?.summary ?? "";
      const request = /\(([#!]\d{1,9})\)$/.exec(summary)?.[1];
      return `${show(person)}${request === undefined ? "" : ` in ${linkReference(request, remote_url, true)}`}`;
    });
  const firsts = first.length === 0 ? "" : `\n\nFirst contributions: ${first.join(", ")}.`;
  return `## Contributors\n\n${people.map(show).join(", ")}.${firsts}`;
}

/**
 * Shows a person; as a mention only if the repository is on a hosting service: elsewhere the account has no meaning.
 */
const showPerson = ({ name, login }: Contributor, remoteUrl: string | null): string =>
  login === null || remoteUrl === null ? escapeMarkdown(name, 100) : `@${login}`;

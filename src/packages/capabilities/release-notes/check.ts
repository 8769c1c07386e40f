/**
 * Check: does a draft account for every commit, once, and is it safe to publish? Pure.
 *
 * Owns: the complaints: missing or repeated commits, entries of no known commit, a wrong count of what is left out,
 * broken links, raw HTML. Never: repairs anything. It reads the document as written, not the draft's own counts.
 */
import { blankCode } from "../markdown.ts";
import { readMark } from "./commit-link.ts";
import { omittedOpening } from "./draft.ts";

interface NamedCommit {
  readonly hash: string;
  readonly short: string;
}

export interface CheckQuestion {
  readonly markdown: string;
  readonly commits: readonly NamedCommit[];
  /** Those without an entry on purpose. */
  readonly omitted: readonly { readonly short: string }[];
  readonly remoteUrl: string | null;
}

/** Short hashes under `missing` and `repeated`; lines under the others. All empty: the draft may go on. */
export interface DraftProblems {
  readonly missing: readonly string[];
  readonly repeated: readonly string[];
  readonly unknown: readonly string[];
  readonly count: readonly string[];
  readonly links: readonly string[];
  readonly html: readonly string[];
}

export function checkDraft({ markdown, commits, omitted, remoteUrl }: CheckQuestion): DraftProblems {
  const lines = markdown.split("\n");
  const entries = lines.filter((line) => line.startsWith("- "));
  const known = new Map(commits.map((commit) => [commit.short, commit]));
  const counts = countMarks(entries);
  const unlisted = new Set(omitted.map(({ short }) => short));
  const times = ({ short }: NamedCommit): number => (counts.get(short) ?? 0) + (unlisted.has(short) ? 1 : 0);
  return {
    missing: commits.filter((commit) => times(commit) === 0).map((commit) => commit.short),
    repeated: commits.filter((commit) => times(commit) > 1).map((commit) => commit.short),
    unknown: entries.filter((line) => !known.has(readMark(line)?.short ?? "")),
    count: countsOmitted(lines, unlisted.size),
    links: lines.filter((line) => !hasSoundLinks(line, known, remoteUrl)),
    html: lines.filter((line) => /<[A-Za-z/!?]/.test(blankCode(line))),
  };
}

export const isAccepted = (problems: DraftProblems): boolean =>
  Object.values(problems).every((list: readonly string[]) => list.length === 0);

/** Describes problems in one sentence that a person can act on. */
export function describeProblems(problems: DraftProblems): string {
  const parts = Object.entries(problems)
    .filter(([, list]: readonly [string, readonly string[]]) => list.length > 0)
    .map(
      ([name, list]: readonly [string, readonly string[]]) =>
        `${labels[name] ?? name}: ${list.slice(0, 10).join("; ")}`,
    );
  return `the draft is not complete: ${parts.join(". ")}`;
}

const labels: Readonly<Record<string, string>> = {
  missing: "commits without an entry",
  repeated: "commits with more than one entry",
  unknown: "entries of no known commit",
  count: "a wrong count of commits that are not listed",
  links: "links that do not lead to their commit or into the repository",
  html: "raw HTML",
};

function countMarks(entries: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of entries) {
    const short = readMark(line)?.short;
    if (short !== undefined) counts.set(short, (counts.get(short) ?? 0) + 1);
  }
  return counts;
}

/** Checks that the line on omitted commits adds up; returns the line if it does not, or a note of its absence. */
function countsOmitted(lines: readonly string[], omitted: number): readonly string[] {
  const line = lines.find((one) => one.startsWith(omittedOpening)) ?? "";
  const reported = (line.match(/\b\d+\b/g) ?? []).reduce((sum, count) => sum + Number(count), 0);
  return reported === omitted ? [] : [line || "none is told"];
}

/** Returns whether each link leads into the known remote, and the mark of an entry to the commit it names. */
function hasSoundLinks(line: string, known: ReadonlyMap<string, NamedCommit>, remoteUrl: string | null): boolean {
  const plain = blankCode(line);
  const opened = plain.match(/(?<!\\)\]\s*[([]/g)?.length ?? 0;
  const urls = [...plain.matchAll(/(?<!\\)\]\(([^()\s]*)\)/g)].map((match) => match[1] ?? "");
  if (opened !== urls.length || !urls.every((url) => remoteUrl !== null && leadsInto(url, remoteUrl))) return false;
  const mark = line.startsWith("- ") ? readMark(line) : null;
  const hash = known.get(mark?.short ?? "")?.hash;
  return mark?.url == null || (hash !== undefined && mark.url.endsWith(`/${hash}`));
}

function leadsInto(url: string, remoteUrl: string): boolean {
  return URL.canParse(url) && /^https?:/.test(url) && url.startsWith(`${remoteUrl}/`);
}

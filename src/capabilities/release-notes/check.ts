// Check: does a draft account for every commit, once, and is it safe to publish? Pure.
// Owns: the four complaints: missing or repeated commits, entries of no known commit, broken links, raw HTML.
// Never: repairs anything. It reads the document as written, not what the draft says about itself.

import { readMark } from "./commit-link.ts";

interface NamedCommit {
  readonly hash: string;
  readonly short: string;
}

export interface CheckQuestion {
  readonly markdown: string;
  readonly commits: readonly NamedCommit[];
  readonly remoteUrl: string | null;
}

/** Short hashes under `missing` and `repeated`; lines under the others. All empty: the draft may go on. */
export interface Complaints {
  readonly missing: readonly string[];
  readonly repeated: readonly string[];
  readonly unknown: readonly string[];
  readonly links: readonly string[];
  readonly html: readonly string[];
}

export function checkDraft({ markdown, commits, remoteUrl }: CheckQuestion): Complaints {
  const lines = markdown.split("\n");
  const entries = lines.filter((line) => line.startsWith("- "));
  const known = new Map(commits.map((commit) => [commit.short, commit]));
  const counts = countMarks(entries);
  const times = ({ short }: NamedCommit): number => counts.get(short) ?? 0;
  return {
    missing: commits.filter((commit) => times(commit) === 0).map((commit) => commit.short),
    repeated: commits.filter((commit) => times(commit) > 1).map((commit) => commit.short),
    unknown: entries.filter((line) => !known.has(readMark(line)?.short ?? "")),
    links: lines.filter((line) => !hasSoundLinks(line, known, remoteUrl)),
    html: lines.filter((line) => /<[A-Za-z/!?]/.test(line)),
  };
}

export const isAccepted = (complaints: Complaints): boolean =>
  Object.values(complaints).every((list: readonly string[]) => list.length === 0);

/** One sentence a person can act on. */
export function describeComplaints(complaints: Complaints): string {
  const parts = Object.entries(complaints)
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
  links: "links that do not lead to their commit",
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

// The only link a line may hold is its mark's, and that one leads to the commit it names on the known remote.
function hasSoundLinks(line: string, known: ReadonlyMap<string, NamedCommit>, remoteUrl: string | null): boolean {
  const mark = line.startsWith("- ") ? readMark(line) : null;
  const links = line.match(/(?<!\\)\]\s*[([]/g)?.length ?? 0;
  if (mark?.url == null) return links === 0;
  const hash = known.get(mark.short)?.hash;
  return links === 1 && remoteUrl !== null && hash !== undefined && leadsTo(mark.url, remoteUrl, hash);
}

function leadsTo(url: string, remoteUrl: string, hash: string): boolean {
  return URL.canParse(url) && /^https?:/.test(url) && url.startsWith(`${remoteUrl}/`) && url.endsWith(`/${hash}`);
}

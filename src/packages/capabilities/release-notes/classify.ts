/**
 * Classify: from a commit message to a change. Pure.
 *
 * Owns: the forms of a subject (Conventional Commits, `area: …`, `[area] …`, merges, reverts), BREAKING CHANGE, and
 * which commits of a range undo one another. The meanings of words: kinds.ts. Never: drops a commit or reads anything
 * but its message and parents.
 * 1.  One change for each commit, in the same order.
 */
import { type Commit, isOfTests } from "../../operators/git-log/commit.ts";
import type { Change } from "./change.ts";
import { breaksPlainly, kindOfType, kindOfWords } from "./kinds.ts";

const conventional = /^([A-Za-z]+)(?:\(([^()]*)\))?(!)?:\s*(\S.*)$/;
const areaPrefix = /^([\p{L}\p{N}_./@-]{1,40}(?:\([^()]{0,40}\))?)(!)?:\s+(\S.*)$/u;
const bracketPrefix = /^\[([\p{L}\p{N}_./@, -]{1,80})\]:?\s+(\S.*)$/u;
const revertSubject = /^revert:?\s+"?(.+?)"?$/i;
const breakingFooter = /^BREAKING[ -]CHANGE:\s*([^\n]+(?:\n(?!\n|[A-Za-z-]+(?:: | #))[^\n]+)*)/m;

/** Beginnings of the parts of a body that are read here; the first line is read of merges. */
export const readBodyParts: readonly string[] = [
  ...["BREAKING CHANGE:", "BREAKING-CHANGE:", "This reverts commit "],
  ...["close", "fix", "resolve"].flatMap((verb) => [verb, `${verb[0]?.toUpperCase()}${verb.slice(1)}`]),
];

export function classifyCommits(commits: readonly Commit[]): readonly Change[] {
  const undone = findUndone(commits);
  return commits.map((commit) => ({ ...classifyCommit(commit), undone_by: undone.get(commit.hash) ?? null }));
}

type Reading = Pick<Change, "kind" | "type" | "scope" | "summary"> & { readonly marked: boolean };

function classifyCommit(commit: Commit): Omit<Change, "undone_by"> {
  const { marked, ...reading } = readSubject(commit);
  const { hash, short, author, folder } = commit;
  const closes = readClosed(commit);
  const note = breakingFooter.exec(commit.body)?.[1]?.trim() ?? null;
  const breaking = marked || note !== null;
  const isOfTestsAlone = reading.kind === "other" && folder !== undefined && isOfTests(folder);
  return {
    ...{ hash, short, author, ...reading, closes, breaking, breaking_note: note },
    ...(isOfTestsAlone && { kind: "maintenance" as const }),
    ...(folder !== undefined && { folder }),
  };
}

const closing = /^(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):? +((?:[#!]\d{1,9}(?:,? +(?:and +)?)?)+)/gim;

/** Returns the references that a body closes in lines of their own and that the subject does not name. */
const readClosed = ({ subject, body }: Commit): string[] => {
  const named = [...body.matchAll(closing)].flatMap((match) => match[1]?.match(/[#!]\d+/g) ?? []);
  return [...new Set(named)].filter((reference) => !new RegExp(`${reference}(?!\\d)`).test(subject));
};

function readSubject(commit: Commit): Reading {
  const subject = commit.subject.replace(/\s+/g, " ").trim();
  return readConventional(subject) ?? readRevert(subject) ?? readMerge(commit, subject) ?? readFreely(subject);
}

function readConventional(subject: string): Reading | null {
  const [, type = "", area = "", mark, summary = ""] = conventional.exec(subject) ?? [];
  const scope = area.trim() || null;
  const kind = kindOfType(type, scope);
  if (kind === null) return null;
  // `fix: lint` and `feat: add tests` are no news to users; a release or a bump by `chore` is one.
  const reported = kindOfWords(summary);
  const isOwnWork = ["maintenance", "ci", "release", "documentation"].includes(reported);
  const better =
    (kind === "maintenance" && ["release", "dependency"].includes(reported)) ||
    (["feature", "fix"].includes(kind) && isOwnWork);
  return { kind: better ? reported : kind, type: type.toLowerCase(), scope, summary, marked: mark !== undefined };
}

const unmarked = { type: null, scope: null, marked: false } as const;

function readRevert(subject: string): Reading | null {
  const summary = revertSubject.exec(subject)?.[1]?.trim();
  return summary === undefined ? null : { ...unmarked, kind: "revert", summary };
}

// A hosting service writes the branch into the subject and the title of the request into the body.
function readMerge({ parents, body }: Commit, subject: string): Reading | null {
  if (parents.length < 2) return null;
  const request = /^Merge pull request (#\d+) from /.exec(subject)?.[1];
  const title = body.split("\n", 1)[0]?.trim() ?? "";
  const summary = request !== undefined && title !== "" ? `${title} (${request})` : subject;
  return { ...unmarked, kind: "merge", summary };
}

/** Reads `area: summary`, `[area] summary`, or just a summary. */
function readFreely(subject: string): Reading {
  const [, bracketed, reported] = bracketPrefix.exec(subject) ?? [];
  const inside = reported === undefined ? null : readConventional(reported);
  if (inside !== null) return { ...inside, scope: inside.scope ?? bracketed ?? null };
  const [, area, mark, rest] = areaPrefix.exec(subject) ?? [];
  const summary = reported ?? rest ?? subject;
  const marked = mark !== undefined || breaksPlainly(summary);
  return { ...unmarked, kind: kindOfWords(summary), scope: bracketed ?? area ?? null, summary, marked };
}

/**
 * Finds pairs that undo one another, each with the other's short hash. Commits come newest first: an undoing that was
 * undone itself undoes nothing.
 */
function findUndone(commits: readonly Commit[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const byHash = new Map(commits.map((commit, i) => [commit.hash, i]));
  for (const [i, commit] of commits.entries()) {
    const target = found.has(commit.hash) ? undefined : commits[findTarget(commit, { commits, byHash, after: i })];
    if (target === undefined || found.has(target.hash)) continue;
    found.set(target.hash, commit.short).set(commit.hash, target.short);
  }
  return found;
}

interface Before {
  readonly commits: readonly Commit[];
  readonly byHash: ReadonlyMap<string, number>;
  readonly after: number;
}

/**
 * Returns the index of the older commit that this one undoes, by the hash that its body names, else by the subject it
 * quotes; else -1.
 */
function findTarget({ subject, body }: Commit, { commits, byHash, after }: Before): number {
  const named = /\bThis reverts commit ([0-9a-f]{7,64})\b/.exec(body)?.[1];
  const quoted = /^Revert "\s*(.+?)"(?: \(#\d+\))?$/i.exec(subject)?.[1];
  const at = named === undefined ? -1 : (byHash.get(named) ?? -1);
  if (at > after || quoted === undefined) return at > after ? at : -1;
  return commits.findIndex((older, i) => i > after && older.subject.trim() === quoted);
}

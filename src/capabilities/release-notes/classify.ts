// Classify: from a commit message to a kind of change. Pure.
// Owns: Conventional Commits (type, scope, `!`, BREAKING CHANGE), and for all other subjects the first word's meaning.
// Never: drops a commit or reads anything but its message and parents.
// INV-1  One change for each commit, in the same order.

import type { Commit } from "../../operators/git-log/commit.ts";
import type { Change, ChangeKind } from "./change.ts";

const conventional = /^([A-Za-z]+)(?:\(([^()]*)\))?(!)?:\s*(\S.*)$/;
const areaPrefix = /^([\p{L}\p{N}_./@-]{1,40}(?:\([^()]{0,40}\))?)(!)?:\s+(\S.*)$/u;
const revertSubject = /^revert:?\s+"?(.+?)"?$/i;
const breakingFooter = /^BREAKING[ -]CHANGE:\s*([^\n]+(?:\n(?!\n|[A-Za-z-]+(?:: | #))[^\n]+)*)/m;

const kindsByType: Readonly<Record<string, ChangeKind>> = {
  feat: "feature",
  feature: "feature",
  fix: "fix",
  bugfix: "fix",
  hotfix: "fix",
  perf: "performance",
  security: "security",
  sec: "security",
  revert: "revert",
  docs: "documentation",
  doc: "documentation",
  deps: "dependency",
  refactor: "maintenance",
  style: "maintenance",
  test: "maintenance",
  tests: "maintenance",
  build: "maintenance",
  ci: "maintenance",
  chore: "maintenance",
};

/** The first that fits decides. */
const kindsByOpening: readonly (readonly [RegExp, ChangeKind])[] = [
  [/^(security|cve-\d)/i, "security"],
  [/^(bump|upgrade|downgrade|pin|unpin)\b|^update\b.*\b(dependenc(y|ies)|deps|packages?|lockfile)\b/i, "dependency"],
  [/^(fix(e[sd])?|correct(s|ed)?|repair(s|ed)?|resolve[sd]?|prevent(s|ed)?|avoid(s|ed)?|patch(e[sd])?)\b/i, "fix"],
  [/^(speed|optimi[sz]e[sd]?|accelerate[sd]?)\b|\bfaster\b/i, "performance"],
  [
    /^(docs?|documents?|documented|readme|changelog|typos?|comments?)\b|^(add|update|fix)\b.*\breadme\b/i,
    "documentation",
  ],
  [/^(add|implement|introduce|support|allow|enable|create|provide)(s|ed|d)?\b/i, "feature"],
  [
    /^(refactor|rename|move|clean|simplify|extract|format|lint|tidy|test|remove|drop|delete|release)(s|ed|d)?\b/i,
    "maintenance",
  ],
];

export function classifyCommits(commits: readonly Commit[]): readonly Change[] {
  const reverts = findReverts(commits);
  return commits.map((commit) => ({ ...classifyCommit(commit), reverted_by: reverts.get(commit.hash) ?? null }));
}

type Reading = Pick<Change, "kind" | "scope" | "summary"> & { readonly marked: boolean };

function classifyCommit(commit: Commit): Omit<Change, "reverted_by"> {
  const { marked, ...reading } = readSubject(commit);
  const note = breakingFooter.exec(commit.body)?.[1]?.trim() ?? null;
  return { hash: commit.hash, short: commit.short, ...reading, breaking: marked || note !== null, breaking_note: note };
}

function readSubject(commit: Commit): Reading {
  const subject = commit.subject.replace(/\s+/g, " ").trim();
  return readConventional(subject) ?? readRevert(subject) ?? readMerge(commit, subject) ?? readFreely(subject);
}

function readConventional(subject: string): Reading | null {
  const [, type = "", scope = "", mark, summary = ""] = conventional.exec(subject) ?? [];
  const known = type.toLowerCase();
  const kind = Object.hasOwn(kindsByType, known) ? kindsByType[known] : undefined;
  if (kind === undefined) return null;
  const isDependency = kind === "maintenance" && /^deps(-dev)?$/.test(scope.trim());
  const marked = mark !== undefined;
  return { kind: isDependency ? "dependency" : kind, scope: scope.trim() || null, summary, marked };
}

function readRevert(subject: string): Reading | null {
  const undone = revertSubject.exec(subject)?.[1];
  return undone === undefined ? null : { kind: "revert", scope: null, summary: undone, marked: false };
}

// A hosting service writes the branch into the subject and what the request was called into the body.
function readMerge({ parents, body }: Commit, subject: string): Reading | null {
  if (parents.length < 2) return null;
  const request = /^Merge pull request (#\d+) from /.exec(subject)?.[1];
  const title = body.split("\n", 1)[0]?.trim() ?? "";
  const summary = request !== undefined && title !== "" ? `${title} (${request})` : subject;
  return { kind: "merge", scope: null, summary, marked: false };
}

/** `area: what was done` or just what was done. */
function readFreely(subject: string): Reading {
  const [, area, mark, rest] = areaPrefix.exec(subject) ?? [];
  const summary = rest ?? subject;
  const kind = kindsByOpening.find(([opening]) => opening.test(summary))?.[1] ?? "other";
  return { kind, scope: area ?? null, summary, marked: mark !== undefined };
}

/** Short hash of the undoing commit by the hash of the undone one; commits come newest first. */
function findReverts(commits: readonly Commit[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { short, body } of commits) {
    const undone = /\bThis reverts commit ([0-9a-f]{40,64})\b/.exec(body)?.[1];
    if (undone !== undefined && !found.has(undone)) found.set(undone, short);
  }
  return found;
}

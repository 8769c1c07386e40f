/**
 * Kinds: the kinds of change that the words of a subject indicate. Pure tables.
 *
 * Owns: the types of Conventional Commits, and for all other subjects the meaning of their first words.
 * 1.  The work on a project's own tools (tests, linters, changesets, CI) is no feature and no fix, whichever verb
 *     begins it.
 */
import type { ChangeKind } from "./change.ts";

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
  bench: "maintenance",
  build: "maintenance",
  chore: "maintenance",
  ci: "ci",
  release: "release",
};

const kindsByScope: Readonly<Record<string, ChangeKind>> = {
  deps: "dependency",
  "deps-dev": "dependency",
  ci: "ci",
  release: "release",
};

/** Returns the kind of a type; null if the type is not known. */
export function kindOfType(type: string, scope: string | null): ChangeKind | null {
  const known = type.toLowerCase();
  if (!Object.hasOwn(kindsByType, known)) return null;
  return kindsByScope[`${scope ?? ""}`.toLowerCase()] ?? kindsByType[known] ?? null;
}

/**
 * Matches at most three words, such as a verb and its complement; then the noun, with nothing of substance behind it.
 */
const about = (...nouns: readonly string[]): RegExp => {
  const small =
    "for|to|in|of|on|and|from|about|with|when|that|how|[a-z]+ing|cases?|files?|steps?|config\\w*|rules?|examples?|links?|entry|issues?|tweaks?";
  return new RegExp(
    `^(?:(?!\`|(?:of|for|to|in|on|with|from|that)\\s)\\S+\\s+){0,3}(?:${nouns.join("|")})(?=$|[.,:;(]|\\s*\\(|\\s+(?:${small})\\b)`,
    "i",
  );
};

const version = String.raw`v?\d+\.\d+(?:\.\d+)*(?:-[\w.]+)?`;

/**
 * The first match decides. Changes of CI or of releases have no entry in the end: these patterns match them plainly, or
 * not at all.
 */
const kindsByWords: readonly (readonly [RegExp, ChangeKind])[] = [
  [
    new RegExp(`^(?:(?:release|publish|bump to|bump version to|prepare(?: for)?) )?${version}\\b[^a-z]*$`, "i"),
    "release",
  ],
  [/^(?:version packages?|publish(?: release)?|release|enter prerelease mode)(?: \(|$)/i, "release"],
  [/^(?:bump|update) (?:the )?(?:package )?versions?\b/i, "release"],
  [about("changesets?"), "release"],
  // A hosting service's subject for a private fix.
  [/^(?:security\b|cve-\d|merge commit from fork$)/i, "security"],
  [
    about(
      "ci",
      "(?:ci|github|publish|release) workflows?",
      "github actions?",
      "actions/\\S+",
      "(?:release|ci|publish|tests?)\\.ya?ml",
      "travis",
      "circleci",
      "dependabot",
      "renovate",
      "codecov",
    ),
    "ci",
  ],
  [/\b(?:on|in) ci$|\b(?:ci|publish|release) workflow$/i, "ci"],
  [
    about(
      "docs?",
      "documentation",
      "jsdocs?",
      "readmes?(?:\\.md)?",
      "changelogs?(?:\\.md)?",
      "typos?",
      "comments?",
      "faqs?",
      "[\\w-]+\\.md",
    ),
    "documentation",
  ],
  [
    /^(?:docs?|document(?:s|ed)?|clarif(?:y|ies|ied)|explain(?:s|ed)?|readme|changelog|typos?|comments?)\b/i,
    "documentation",
  ],
  [/^(?:\w+ )?jsdoc\b|\b(?:docs|documentation|readme|typo)\b(?: \(#\d+\))?$/i, "documentation"],
  [/^(?:bump|upgrade|downgrade|pin|unpin)\b/i, "dependency"],
  [/^update\b.*\b(?:deps?|dependenc(?:y|ies)|packages?|monorepo)\b|^update (?:to )?typescript\b/i, "dependency"],
  [/^(?:update|move)\b.*\bto (?:version |v)?\d+(?:\.\d+)*\b/i, "dependency"],
  [/^(?:remove|add) (?:an? )?(?:unused )?(?:dev ?)?dep(?:s|endenc(?:y|ies))?\b/i, "dependency"],
  [about("lock ?files?", "(?:pnpm|package|yarn)[-.]lock(?:\\.\\w+)?"), "dependency"],
  [
    about(
      "tests?",
      "test suites?",
      "specs?",
      "fixtures?",
      "benchmarks?",
      "(?:code )?coverage",
      "eslint",
      "prettier",
      "biome",
      "lint(?:er|ing)?",
      "\\.?(?:git|npm)ignore",
      "\\.?editorconfig",
      "tsconfig(?:\\.json)?",
      "codeowners",
      "examples?",
      "funding(?:\\.yml)?",
    ),
    "maintenance",
  ],
  [
    /^(?:meta|minor|small|more|code)?\s*(?:tweaks?|clean-?ups?|tidy-?ups?|refactors?|refactoring|nits?)\b[^a-z]*$/i,
    "maintenance",
  ],
  [/^(?:tests?|format|lint|tidy|oops|wip|meta)\b[^a-z]*$|^(?:fix|tweak) (?:things?|stuff|build)$/i, "maintenance"],
  [
    /^(?:fix(?:e[sd])?|correct(?:s|ed)?|repair(?:s|ed)?|resolve[sd]?|prevent(?:s|ed)?|avoid(?:s|ed)?|patch(?:e[sd])?|handle[sd]?)\b/i,
    "fix",
  ],
  [
    /^(?:speed|optimi[sz]e[sd]?|accelerate[sd]?)\b|\bfaster\b|^(?:improve[sd]?|better|boost)\b.*\bperf(?:ormance)?\b|^perf\b/i,
    "performance",
  ],
  [
    /^(?:add|implement|introduce|support|allow|enable|create|provide|expose|export|accept)(?:s|ed|d|ing)?\b/i,
    "feature",
  ],
  [
    /^(?:refactor|move|clean|simplify|extract|format|lint|tidy|tests?|reorganize|restructure|inline|dedupe|benchmark)(?:s|ed|d|ing)?\b/i,
    "maintenance",
  ],
];

export const kindOfWords = (summary: string): ChangeKind => {
  const read = summary.slice(0, maxRead);
  return kindsByWords.find(([words]) => words.test(read))?.[1] ?? "other";
};

/** Characters of a subject that are read: a pattern takes up to the square of them, and anybody may write a subject. */
const maxRead = 1_000;

/** Returns whether a summary states a breaking change without the mark of Conventional Commits. */
export const breaksPlainly = (summary: string): boolean =>
  /^(?:drop|remove)(?:s|ped|d)? (?:support for |node(?:\.js)? ?\d)|^requires? node(?:\.js)?\b/i.test(summary);

/**
 * Range: the commits from the last release, or the named ref, to the named end.
 *
 * Owns: the tags that count as releases (by prefix, for repositories with several packages), and the message about an
 * unknown ref.
 * 1.  git sees a ref only as an argument of rev-parse and describe, after its pattern; the log itself is asked by
 *     hash.
 */
import { z } from "zod";
import { operatorError } from "../../../define/define-operator.ts";
import { askGit, type GitProgram, runGit } from "./run-git.ts";

/** A branch, tag, hash or revision such as HEAD~3: never an option, never a range. */
export const GitRef = z
  .string()
  .max(255)
  .regex(/^(?![-^])(?!.*\.\.)[\p{L}\p{N}._/@{}^~+#-]+$/u, "must be one git ref or revision");

/** The beginning of the names of the tags that count, such as `core@` or `v`. */
export const TagPrefix = z
  .string()
  .max(200)
  .regex(/^(?!-)(?!.*\.\.)[\p{L}\p{N}._/@+#-]*$/u, "must be the beginning of a tag's name");

export interface RangeQuestion {
  readonly since?: string | undefined;
  readonly until: string;
  readonly tag_prefix: string;
}

export interface CommitRange {
  readonly since: string | null;
  readonly since_hash: string | null;
  readonly until_hash: string;
  /** The release that the newest commit is, if any. `date` is when it was tagged. */
  readonly tag: { readonly name: string; readonly date: string } | null;
  /** The range in git's notation. */
  readonly words: string;
}

export async function findRange(program: GitProgram, question: RangeQuestion): Promise<CommitRange> {
  const { until, tag_prefix } = question;
  const untilHash = await resolveRef(program, until);
  const tag = await findTagAt(program, untilHash, question);
  const since = question.since ?? (await findLastTag(program, tag === null ? untilHash : `${untilHash}^`, tag_prefix));
  const sinceHash = since === null ? null : await resolveRef(program, since);
  return {
    since,
    since_hash: sinceHash,
    until_hash: untilHash,
    tag: tag === null ? null : { name: tag, date: await readTagDate(program, tag) },
    words: sinceHash === null ? untilHash : `${sinceHash}..${untilHash}`,
  };
}

async function resolveRef(program: GitProgram, ref: string): Promise<string> {
  const hash = await askCommit(program, ref);
  if (hash !== null) return hash;
  const details = { repo: program.repo, ref };
  if (await isEmpty(program)) {
    const message = `${program.repo} has no commits yet`;
    throw operatorError({ code: "GIT_EMPTY_REPOSITORY", category: "validation", message, details });
  }
  const message = `${program.repo} has no commit called ${ref}`;
  throw operatorError({ code: "GIT_UNKNOWN_REF", category: "validation", message, details });
}

const askCommit = (program: GitProgram, ref: string): Promise<string | null> =>
  askGit(program, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`]);

async function isEmpty(program: GitProgram): Promise<boolean> {
  return (await askGit(program, ["rev-list", "--all", "--max-count=1"])) === "";
}

/** Finds the tag that was named as the end, else one that the newest commit carries. */
async function findTagAt(
  program: GitProgram,
  commit: string,
  { until, tag_prefix }: RangeQuestion,
): Promise<string | null> {
  if (until.startsWith(tag_prefix) && (await askCommit(program, tagRef(until))) === commit) return until;
  return describeTag(program, commit, tag_prefix, "--exact-match");
}

const findLastTag = (program: GitProgram, commit: string, prefix: string): Promise<string | null> =>
  describeTag(program, commit, prefix, "--abbrev=0");

function describeTag(
  program: GitProgram,
  commit: string,
  prefix: string,
  how: "--exact-match" | "--abbrev=0",
): Promise<string | null> {
  // A prefix holds none of the characters that mean something in a pattern.
  return askGit(program, ["describe", "--tags", how, `--match=${prefix}*`, commit]);
}

async function readTagDate(program: GitProgram, tag: string): Promise<string> {
  return (await runGit(program, ["for-each-ref", "--format=%(creatordate:iso-strict)", tagRef(tag)])).trim();
}

const tagRef = (tag: string): string => `refs/tags/${tag}`;

// Git.Log: the commits between two refs of a real repository, newest first, with its remote's web address if any.
// Owns: what may be called a ref, which commits are meant when none is named, and the bound on their number.
// Never: writes, fetches, or reads anything but the history and the remote's address.
// INV-1  git sees a ref only as an argument of rev-parse, after the pattern; the log itself is asked by hash.
// INV-2  More commits than `max_commits` are cut to the newest, and `truncated` says so.

import { z } from "zod";
import { type KeysOf, requireKnownKeys } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { defineOperator, operatorError } from "../../define/define-operator.ts";
import { Commit, logFormat, parseFileCounts, parseLog } from "./commit.ts";
import { toWebUrl } from "./remote-url.ts";
import { askGit, type GitProgram, runGit } from "./run-git.ts";

const maxCommits = 10_000;

/** A branch, tag, hash or revision such as HEAD~3: never an option, never a range. */
export const GitRef = z
  .string()
  .max(255)
  .regex(/^(?![-^])(?!.*\.\.)[\p{L}\p{N}._/@{}^~+#-]+$/u, "must be one git ref or revision");

/** A path on the host; git and the file system refuse NUL. */
export const RepositoryPath = z
  .string()
  .min(1)
  .max(4096)
  .refine((path) => !path.includes("\0"), "must not contain NUL");

export const GitLogInput = z.object({
  repo: RepositoryPath,
  since: GitRef.optional(),
  until: GitRef.default("HEAD"),
  max_commits: z.int().min(1).max(maxCommits).default(1000),
  files: z.boolean().default(false),
});
type GitLogInput = Readonly<z.output<typeof GitLogInput>>;

/** `since` is null when the history is taken from its root. */
export const GitLogOutput = z.object({
  since: z.string().nullable(),
  since_hash: z.string().nullable(),
  until: z.string(),
  until_hash: z.string(),
  remote_url: z.string().nullable(),
  commits: z.array(Commit),
  truncated: z.boolean(),
});

export interface GitLogOptions {
  /** The program to run, by name or path. */
  readonly git?: string;
  readonly maxOutputBytes?: number;
}

/** Git.Log over another git program or another bound on its output. */
export function createGitLog(options: GitLogOptions = {}) {
  const { git = "git", maxOutputBytes = 32 * 1024 * 1024 } = options;
  const source = moduleRef(0, "validation", "createGitLog");
  requireKnownKeys(options, { git, maxOutputBytes } satisfies KeysOf<Required<GitLogOptions>>, {
    what: "createGitLog",
    source,
  });
  return defineOperator({
    name: "Git.Log",
    version: "1.0",
    description: "Lists the commits of a git repository between two refs.",
    input: GitLogInput,
    output: GitLogOutput,
    effect: "read",
    idempotent: true,
    honoursAbort: true,
    timeoutSec: 60,
    kind: "tool",
    run: ({ input, signal }) => readHistory({ git, repo: input.repo, signal, maxOutputBytes }, input),
  });
}

export const gitLog = createGitLog();

async function readHistory(program: GitProgram, input: GitLogInput): Promise<z.input<typeof GitLogOutput>> {
  await runGit(program, ["rev-parse", "--git-dir"]);
  const untilHash = await resolveRef(program, input.until);
  const since = input.since ?? (await findLastTag(program, untilHash));
  const sinceHash = since === null ? null : await resolveRef(program, since);
  const range = sinceHash === null ? untilHash : `${sinceHash}..${untilHash}`;
  const commits = await readCommits(program, range, input);
  return {
    since,
    since_hash: sinceHash,
    until: input.until,
    until_hash: untilHash,
    remote_url: await findRemote(program),
    commits: commits.slice(0, input.max_commits),
    truncated: commits.length > input.max_commits,
  };
}

async function readCommits(program: GitProgram, range: string, input: GitLogInput): Promise<Commit[]> {
  const plain = ["--no-color", "--no-show-signature", "--no-notes", "--encoding=UTF-8"];
  // One more than asked for tells whether there are more.
  const limit = `--max-count=${input.max_commits + 1}`;
  const commits = parseLog(await runGit(program, ["log", "-z", "--abbrev=7", ...plain, limit, logFormat, range, "--"]));
  if (!input.files) return [...commits];
  const names = [
    "log",
    "--name-only",
    "--no-ext-diff",
    "--no-textconv",
    ...plain,
    limit,
    "--format=%x00%H",
    range,
    "--",
  ];
  const counts = parseFileCounts(await runGit(program, names));
  return commits.map((commit) => ({ ...commit, files_changed: counts.get(commit.hash) ?? 0 }));
}

async function resolveRef(program: GitProgram, ref: string): Promise<string> {
  const hash = await askGit(program, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`]);
  if (hash !== null) return hash;
  const details = { repo: program.repo, ref };
  if (await isEmpty(program)) {
    const message = `${program.repo} has no commits yet`;
    throw operatorError({ code: "GIT_EMPTY_REPOSITORY", category: "validation", message, details });
  }
  const message = `${program.repo} has no commit called ${ref}`;
  throw operatorError({ code: "GIT_UNKNOWN_REF", category: "validation", message, details });
}

async function isEmpty(program: GitProgram): Promise<boolean> {
  return (await askGit(program, ["rev-list", "--all", "--max-count=1"])) === "";
}

// Where the newest commit itself carries the tag, the release has just been tagged: what went into it starts at the tag before.
async function findLastTag(program: GitProgram, untilHash: string): Promise<string | null> {
  const tag = await describeTag(program, untilHash);
  if (tag === null || (await resolveRef(program, tagRef(tag))) !== untilHash) return tag;
  return describeTag(program, `${untilHash}^`);
}

function describeTag(program: GitProgram, commit: string): Promise<string | null> {
  return askGit(program, ["describe", "--tags", "--abbrev=0", commit]);
}

const tagRef = (tag: string): string => `refs/tags/${tag}`;

/** The address of `origin`, else of the first remote by name. */
async function findRemote(program: GitProgram): Promise<string | null> {
  const listed = await askGit(program, ["config", "--local", "--no-includes", "--get-regexp", "^remote\\..*\\.url$"]);
  const remotes = (listed ?? "").split("\n").filter(Boolean).sort();
  const chosen = remotes.find((line) => line.startsWith("remote.origin.url ")) ?? remotes[0];
  return chosen === undefined ? null : toWebUrl(chosen.slice(chosen.indexOf(" ") + 1));
}

/**
 * Git.Log: the commits between two refs of a real repository, newest first, with its remote's web address if any.
 *
 * Owns: the bounds on their number and their text, and the progress that is reported while git counts. range.ts
 * decides which commits are meant. Never: writes, fetches, or reads anything but the history and the remote's address.
 * 1.  More commits than `max_commits` are cut to the newest; `truncated` says so, and `total` how many there are.
 * 2.  A clone without its older history says so (`shallow`): the commits before it are not there to be counted.
 */
import { z } from "zod";
import { readStrictly } from "../../../contract/known-keys.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { defineOperator } from "../../../define/define-operator.ts";
import { PathInside } from "../files/safe-path.ts";
import { Commit, clipBody, countCommits, folderOf, keepParts, logFormat, parseFileNames, parseLog } from "./commit.ts";
import { Contributor, readContributors, shortlogArguments } from "./contributors.ts";
import { findRange, GitRef, TagPrefix } from "./range.ts";
import { toWebUrl } from "./remote-url.ts";
import { askGit, type GitProgram, runGit } from "./run-git.ts";

const maxCommits = 10_000;

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
  /** The beginning of the tags of one of several packages in a repository. */
  tag_prefix: TagPrefix.default(""),
  /** Only commits that touch one of these files or folders. */
  paths: z.array(PathInside).max(100).default([]),
  max_commits: z.int().min(1).max(maxCommits).default(maxCommits),
  files: z.boolean().default(false),
  /** Whether each commit comes with the folder that most of its files are in. */
  folders: z.boolean().optional(),
  contributors: z.boolean().default(false),
  /** Keeps only the first line of each body and the paragraphs that begin with one of these words. */
  body_parts: z.array(z.string().min(1).max(100)).max(20).optional(),
});
type GitLogInput = Readonly<z.output<typeof GitLogInput>>;

/** `since` is null when the history is taken from its root. */
export const GitLogOutput = z.object({
  since: z.string().nullable(),
  since_hash: z.string().nullable(),
  until: z.string(),
  until_hash: z.string(),
  /** The release that the newest commit is; `date` is when it was tagged. */
  tag: z.object({ name: z.string(), date: z.string() }).nullable(),
  remote_url: z.string().nullable(),
  commits: z.array(Commit),
  total: z.int().nonnegative(),
  truncated: z.boolean(),
  shallow: z.boolean(),
  /** Empty where they were not asked for. */
  contributors: z.array(Contributor),
});

const Options = z.strictObject({
  /** The program to run, by name or path; `git` by default. */
  git: z.string().min(1).default("git"),
  /** Bytes of its output that are read; 32 MiB by default. */
  maxOutputBytes: z
    .int()
    .positive()
    .default(32 * 1024 * 1024),
});
/** The git program that is run, and the most bytes of its output that are read. */
export interface GitLogOptions extends Readonly<z.input<typeof Options>> {}

/** Creates Git.Log over another git program or another bound on its output. */
export function createGitLog(options: GitLogOptions = {}) {
  const source = moduleRef(0, "validation", "createGitLog");
  const { git, maxOutputBytes } = readStrictly(Options, options, { what: "createGitLog", source });
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
    run: ({ input, signal, report }) => readHistory({ git, repo: input.repo, signal, maxOutputBytes }, input, report),
  });
}

export const gitLog = createGitLog();

/** Told of how much is read, in percent. */
type Report = (percent: number) => void;

async function readHistory(
  program: GitProgram,
  input: GitLogInput,
  report: Report,
): Promise<z.input<typeof GitLogOutput>> {
  await runGit(program, ["rev-parse", "--git-dir"]);
  const { words, ...range } = await findRange(program, input);
  const paths = ["--", ...input.paths];
  const total = Number(await runGit(program, ["rev-list", "--count", words, ...paths]));
  const shallow = (await askGit(program, ["rev-parse", "--is-shallow-repository"])) === "true";
  const reading = { program, input, range: [words, ...paths] };
  return {
    ...range,
    until: input.until,
    remote_url: await findRemote(program),
    commits: await readCommits(reading, reportShare(Math.min(total, input.max_commits), report)),
    total,
    truncated: total > input.max_commits,
    shallow,
    contributors: input.contributors ? await askContributors(reading, shallow ? null : range.since_hash) : [],
  };
}

/** Each telling is kept in a ledger: a few are enough, and none of a log that is read in no time. */
const percentStep = 5;
const longLog = 1000;

/** Counts what is heard and tells how much that is, until all is heard. */
function reportShare(total: number, report: Report): (piece: string) => void {
  let [received, reported] = [0, 0];
  if (total < longLog) return () => undefined;
  return (piece) => {
    received += countCommits(piece);
    const percent = Math.floor((100 * received) / total / percentStep) * percentStep;
    if (percent <= reported || received >= total) return;
    reported = percent;
    report(percent);
  };
}

interface Reading {
  readonly program: GitProgram;
  readonly input: GitLogInput;
  readonly range: readonly string[];
}

const plain = ["--no-color", "--no-show-signature", "--no-notes", "--encoding=UTF-8"];

async function readCommits({ program, input, range }: Reading, listener: (piece: string) => void): Promise<Commit[]> {
  const limit = `--max-count=${input.max_commits}`;
  const { body_parts } = input;
  const log = await runGit(program, ["log", "-z", "--abbrev=7", ...plain, limit, logFormat, ...range], listener);
  const commits = parseLog(log, body_parts === undefined ? clipBody : (body) => clipBody(keepParts(body, body_parts)));
  if (!input.files && input.folders !== true) return [...commits];
  const names = ["log", "--name-only", "--no-ext-diff", "--no-textconv", ...plain, limit, "--format=%x00%H", ...range];
  const changed = parseFileNames(await runGit(program, names));
  return commits.map((commit) => {
    const files = changed.get(commit.hash) ?? [];
    return {
      ...commit,
      ...(input.files && { files_changed: files.length }),
      ...(input.folders === true && { folder: folderOf(files) }),
    };
  });
}

/** Returns whether somebody is new is told by all that was written before, in every folder. */
async function askContributors({ program, range }: Reading, since: string | null): Promise<Contributor[]> {
  const written = await runGit(program, [...shortlogArguments, ...range]);
  const before = since === null ? null : await runGit(program, [...shortlogArguments, since, "--"]);
  return [...readContributors(written, before)];
}

/** Returns the address of `origin`, else of the first remote by name. */
async function findRemote(program: GitProgram): Promise<string | null> {
  const listed = await askGit(program, ["config", "--local", "--no-includes", "--get-regexp", "^remote\\..*\\.url$"]);
  const remotes = (listed ?? "").split("\n").filter(Boolean).sort();
  const chosen = remotes.find((line) => line.startsWith("remote.origin.url ")) ?? remotes[0];
  return chosen === undefined ? null : toWebUrl(chosen.slice(chosen.indexOf(" ") + 1));
}

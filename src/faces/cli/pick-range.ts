/**
 * Picks the beginning of the notes for a repository without a release, so that they hold about a page of changes, and
 * groups them by folder if the commit subjects name no kind of change. Reads commit subjects only.
 *
 * 1.  A repository with less than a page of changes is taken as a whole.
 */

import type { Section } from "../../packages/capabilities/release-notes/change.ts";
import { classifyCommits } from "../../packages/capabilities/release-notes/classify.ts";
import { groupChanges, sectionsByFolder } from "../../packages/capabilities/release-notes/group.ts";
import { logFormat, parseLog } from "../../packages/operators/git-log/commit.ts";
import { findRange } from "../../packages/operators/git-log/range.ts";
import { type GitProgram, runGit } from "../../packages/operators/git-log/run-git.ts";

export interface RangeOptions {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly tag_prefix: string;
  readonly paths: readonly string[];
}

const pageOfChanges = 25;
const maxLooked = 1000;

export interface Beginning {
  /** The hash of the commit to begin after; undefined if the whole history is less than a page. */
  readonly since: string | undefined;
  readonly sections: readonly Section[] | undefined;
}

/** Picks a beginning and sections; null if an option or a release already gives the beginning. */
export async function pickBeginning(program: GitProgram, options: RangeOptions): Promise<Beginning | null> {
  if (options.since !== undefined) return null;
  const { since, until_hash } = await findRange(program, {
    until: options.until ?? "HEAD",
    tag_prefix: options.tag_prefix,
  });
  if (since !== null) return null;
  const log = [
    "log",
    "-z",
    `--max-count=${maxLooked}`,
    "--no-show-signature",
    logFormat,
    until_hash,
    "--",
    ...options.paths,
  ];
  const changes = classifyCommits(parseLog(await runGit(program, log)));
  const listed = new Set(groupChanges(changes).groups.flatMap((group) => group.changes));
  const found = changes.filter((change) => listed.has(change));
  const page = found.slice(0, pageOfChanges);
  const unnamed = page.filter(({ kind }) => kind === "other");
  const sections = 2 * unnamed.length > page.length ? sectionsByFolder : undefined;
  return { since: found[pageOfChanges]?.hash, sections };
}

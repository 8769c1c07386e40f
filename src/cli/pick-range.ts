/**
 * Where notes begin in a repository that has no release yet: so far back that a reader sees a page of changes.
 * Only reads subjects. INV-1  A repository with less than a page is taken whole.
 */
import { classifyCommits } from "../capabilities/release-notes/classify.ts";
import { groupChanges } from "../capabilities/release-notes/group.ts";
import { logFormat, parseLog } from "../operators/git-log/commit.ts";
import { findRange } from "../operators/git-log/range.ts";
import { type GitProgram, runGit } from "../operators/git-log/run-git.ts";

export interface RangeWish {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly tag_prefix: string;
  readonly paths: readonly string[];
}

const pageOfChanges = 25;
const maxLooked = 1000;

/** The hash to begin after; undefined where something else says it, or all of the history is less than a page. */
export async function pickBeginning(program: GitProgram, wish: RangeWish): Promise<string | undefined> {
  if (wish.since !== undefined) return undefined;
  const { since, until_hash } = await findRange(program, { until: wish.until ?? "HEAD", tag_prefix: wish.tag_prefix });
  if (since !== null) return undefined;
  const log = [
    "log",
    "-z",
    `--max-count=${maxLooked}`,
    "--no-show-signature",
    logFormat,
    until_hash,
    "--",
    ...wish.paths,
  ];
  const changes = classifyCommits(parseLog(await runGit(program, log)));
  const listed = new Set(groupChanges(changes).groups.flatMap((group) => group.changes));
  const page = changes.filter((change) => listed.has(change));
  return page[pageOfChanges]?.hash;
}

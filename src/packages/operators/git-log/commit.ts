/**
 * Commit: one commit as Git.Log yields it, and the parser of the NUL-separated log it comes from.
 *
 * Owns: the schema, the format string given to git and its exact inverse, and the kept part of a long body. Pure.
 * Never: runs git (run-git.ts does), judges what a commit means (capabilities do).
 * 1.  `logFormat` and `parseLog` agree on the number and order of fields; a commit message cannot contain NUL.
 */
import { z } from "zod";
import { operatorError } from "../../../define/define-operator.ts";

/**
 * `date` is the author's, ISO 8601 with the author's offset. `files_changed` and `folder`, the one that most of them
 * are in, are there only when they were asked for.
 */
export const Commit = z.object({
  hash: z.string().regex(/^[0-9a-f]{40,64}$/),
  short: z.string().regex(/^[0-9a-f]{4,64}$/),
  author: z.string(),
  date: z.string(),
  subject: z.string(),
  body: z.string(),
  parents: z.array(z.string()),
  files_changed: z.int().nonnegative().optional(),
  folder: z.string().optional(),
});
export type Commit = Readonly<z.infer<typeof Commit>>;

/** hash, short hash, author by mailmap, author date, parents, subject, body. */
export const logFormat = "--format=tformat:%H%x00%h%x00%aN%x00%aI%x00%P%x00%s%x00%b";
const fieldsPerCommit = 7;
const maxBodyChars = 2000;
const maxFirstLineChars = 300;

/** Returns how many of a log's commits are in a piece of what git prints: each ends its fields with a NUL. */
export const countCommits = (piece: string): number => (piece.split("\0").length - 1) / fieldsPerCommit;

/** Returns the commits in the output of `git log -z` with `logFormat`, in git's order. */
export function parseLog(output: string, keep: (body: string) => string = clipBody): readonly Commit[] {
  const fields = output.split("\0");
  if (fields.at(-1) === "") fields.pop();
  if (fields.length % fieldsPerCommit !== 0) throw unreadable(fields.length);
  return Array.from({ length: fields.length / fieldsPerCommit }, (_, i) =>
    toCommit(fields.slice(i * fieldsPerCommit, (i + 1) * fieldsPerCommit), keep),
  );
}

function toCommit(fields: readonly string[], keep: (body: string) => string): Commit {
  const [hash = "", short = "", author = "", date = "", parents = "", subject = "", body = ""] = fields;
  return {
    hash,
    short,
    author,
    date,
    subject,
    body: keep(body.trim()),
    parents: parents.split(" ").filter(Boolean),
  };
}

/** Keeps the first line of a body, and of each paragraph the part from a line on that begins with one of the words. */
export const keepParts = (body: string, words: readonly string[]): string =>
  body
    .split(/\n{2,}/)
    .flatMap((paragraph, i) => {
      const lines = paragraph.split("\n");
      const from = lines.findIndex((line) => words.some((word) => line.startsWith(word)));
      const opening = i === 0 && from !== 0 ? [lines[0]?.slice(0, maxFirstLineChars)] : [];
      return from < 0 ? opening : [...opening, lines.slice(from).join("\n")];
    })
    .join("\n\n");

// Footers such as BREAKING CHANGE stand at the end, so a long body keeps both of its ends.
export function clipBody(body: string): string {
  if (body.length <= maxBodyChars) return body;
  return `${body.slice(0, maxBodyChars / 2)}\n…\n${body.slice(-maxBodyChars / 2)}`;
}

/**
 * Returns the changed files by commit hash, from `git log --name-only --format=%x00%H`; names are quoted, so they hold
 * no newline.
 */
export function parseFileNames(output: string): ReadonlyMap<string, readonly string[]> {
  const records = output.split("\0").slice(1);
  return new Map(
    records.map((record) => {
      const [hash = "", ...names] = record.split("\n").filter(Boolean);
      return [hash, names];
    }),
  );
}

const folderDepth = 2;
export const isOfTests = (folder: string): boolean => /^(?:tests?|specs?|__tests__)(?:\/|$)/.test(folder);

/**
 * Returns the folder that most of the files are in, two deep at most; one of tests only if there is nothing else.
 * Empty: the top.
 */
export function folderOf(names: readonly string[]): string {
  const folders = names
    .filter((name) => !name.startsWith('"'))
    .map((name) => name.split("/").slice(0, -1).slice(0, folderDepth).join("/"));
  const inside = folders.filter((folder) => folder !== "");
  const tested = inside.filter((folder) => !isOfTests(folder));
  const files = Map.groupBy(tested.length > 0 ? tested : inside, (folder) => folder);
  return [...files].sort(([, one], [, other]) => other.length - one.length)[0]?.[0] ?? "";
}

function unreadable(fields: number): Error {
  return operatorError({
    code: "GIT_UNREADABLE_LOG",
    category: "operator_bug",
    message: `git log printed ${fields} fields, not a multiple of ${fieldsPerCommit}`,
  });
}

/**
 * The judgement of paths: a file operator works below a base folder, at the real path, and never in a folder of git.
 *
 * Owns: the schemas of folder and path, and the functions that turn them into a judged place. Never: opens a file
 * (open-inside.ts opens a judged place without following a link).
 * 1.  The real path, with every link on the way resolved, lies inside the real base folder.
 * 2.  The real path does not enter `.git`, a bare repository or a folder that a write would make one: git runs what
 *     such a folder's configuration and hooks say. This holds for the base folder as well.
 */
import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, normalize, relative, resolve, sep } from "node:path";
import { z } from "zod";
import { operatorError } from "../../../define/define-operator.ts";
import { errnoOf } from "./file-error.ts";

const withoutNul = (text: string): boolean => !text.includes("\0");

export const FolderPath = z.string().min(1).max(4096).refine(withoutNul, "must not contain NUL");
/** Relative to a folder; whether it stays inside is decided where it is used. */
export const RelativePath = z.string().min(1).max(1024).refine(withoutNul, "must not contain NUL");
/** The schema of a path that people enter. It checks the text alone; links are resolved when the path is used. */
export const PathInside = RelativePath.refine(
  (path) => !isAbsolute(path) && staysInside(normalize(path)) && !entersGit(normalize(path)),
  "must be a path inside the folder, and not of .git",
);

export interface Location {
  /** The real base folder. */
  readonly root: string;
  /** The path as it was requested, relative to the base folder, with forward slashes on every system. */
  readonly path: string;
  /** The real path, relative to the base folder, with forward slashes on every system. */
  readonly real: string;
}

/**
 * Judges a place, with all links resolved.
 * @throws OperatorError FILE_OUTSIDE_FOLDER; the file system's own error when the folder is missing.
 */
export const locate = (folder: string, path: string): Promise<Location> => judge(folder, path, findReal);

/** Judges a place as `locate` does, but for its last name: a link that stands there is itself the place. */
export const locateEntry = (folder: string, path: string): Promise<Location> =>
  judge(folder, path, async (absolute) => join(await findReal(dirname(absolute)), basename(absolute)));

async function judge(folder: string, path: string, resolveLinks: (absolute: string) => Promise<string>) {
  const root = await realpath(resolve(folder));
  const absolute = resolve(root, path);
  const asked = relative(root, absolute);
  if (isAbsolute(path) || !staysInside(asked) || entersGit(asked)) throw outside(folder, path);
  const target = asked === "" ? root : await resolveLinks(absolute);
  const real = relative(root, target);
  if (!staysInside(real) || entersGit(target) || (await isInGitFolder(target))) throw outside(folder, path);
  return { root, path: withSlashes(asked), real: withSlashes(real) };
}

const withSlashes = (path: string): string => path.split(sep).join("/");

function staysInside(inside: string): boolean {
  return inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

const entersGit = (path: string): boolean => path.split(sep).some(isGitName);

/** Returns whether a file system may take a name for `.git`: in any case, as NTFS and HFS+ read it as well. */
export const isGitName = (name: string): boolean =>
  /^(?:\.git|git~\d)[ .]*(?::.*)?$/is.test(name.replace(ignoredByHfs, ""));
const ignoredByHfs = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

// A file that has yet to be written has no real path, so the nearest existing folder is judged.
async function findReal(absolute: string): Promise<string> {
  try {
    return await realpath(absolute);
  } catch (failure) {
    const parent = dirname(absolute);
    if (errnoOf(failure) !== "ENOENT" || parent === absolute) throw failure;
    return join(await findReal(parent), basename(absolute));
  }
}

/** The entries by which git takes a folder for a repository, or for the folder of a worktree. */
const gitFolders: readonly (readonly string[])[] = [
  ["HEAD", "objects", "refs"],
  ["HEAD", "commondir"],
];

/** Returns whether names make a folder one of git. */
export const isGitFolder = (names: readonly string[]): boolean =>
  gitFolders.some((entries) =>
    entries.every((entry) => names.some((name) => name.toLowerCase() === entry.toLowerCase())),
  );

/** Returns whether a folder above the path is one of git, or would be once the path stands. */
async function isInGitFolder(target: string): Promise<boolean> {
  const [child, parent] = [basename(target), dirname(target)];
  if (parent === target) return false;
  const wanted = [...new Set(gitFolders.flat())].map(async (name) => ((await stands(join(parent, name))) ? name : ""));
  return isGitFolder([child, ...(await Promise.all(wanted))]) || isInGitFolder(parent);
}

const stands = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

function outside(folder: string, path: string): Error {
  const message = `${path} is not a path inside ${folder}`;
  return operatorError({ code: "FILE_OUTSIDE_FOLDER", category: "validation", message, details: { folder, path } });
}

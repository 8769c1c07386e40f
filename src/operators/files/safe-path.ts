// Where a file operator may go: a relative path below a base folder, symbolic links followed and checked.
// Owns: the schemas of folder and path, and the one function that turns them into an absolute path.
// Never: opens a file. What happens between this check and the opening is the host's to keep out of the folder.
// INV-1  The absolute path lies inside the real base folder, also through symbolic links.
// INV-2  No path enters `.git`: a hook written there would be run as a program.

import { realpath } from "node:fs/promises";
import { dirname, isAbsolute, normalize, relative, resolve, sep } from "node:path";
import { z } from "zod";
import { operatorError } from "../../define/define-operator.ts";
import { errnoOf } from "./file-error.ts";

const withoutNul = (text: string): boolean => !text.includes("\0");

export const FolderPath = z.string().min(1).max(4096).refine(withoutNul, "must not contain NUL");
/** Relative to a folder; whether it stays inside is decided where it is used. */
export const RelativePath = z.string().min(1).max(1024).refine(withoutNul, "must not contain NUL");
/** As far as the words alone tell: whether links lead elsewhere is seen where it is used. For inputs that people give. */
export const PathInside = RelativePath.refine(
  (path) => !isAbsolute(path) && staysInside(normalize(path)) && !entersGit(normalize(path)),
  "must be a path inside the folder, and not of .git",
);

export interface Location {
  /** The real base folder. */
  readonly root: string;
  readonly absolute: string;
  /** Relative to the base folder, with forward slashes on every system. */
  readonly path: string;
}

/** @throws OperatorError FILE_OUTSIDE_FOLDER; the file system's own error when the folder is missing. */
export async function locate(folder: string, path: string): Promise<Location> {
  const root = await realpath(resolve(folder));
  const absolute = resolve(root, path);
  const inside = relative(root, absolute);
  if (isAbsolute(path) || !staysInside(inside) || entersGit(inside)) throw outside(folder, path);
  if (!staysInside(relative(root, await findRealAncestor(absolute)))) throw outside(folder, path);
  return { root, absolute, path: inside.split(sep).join("/") };
}

function staysInside(inside: string): boolean {
  return inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

function entersGit(inside: string): boolean {
  return inside.split(sep).some((part) => part.toLowerCase() === ".git");
}

// A file yet to be written has no real path, so the nearest folder that stands answers for it.
async function findRealAncestor(absolute: string): Promise<string> {
  try {
    return await realpath(absolute);
  } catch (failure) {
    const parent = dirname(absolute);
    if (errnoOf(failure) !== "ENOENT" || parent === absolute) throw failure;
    return findRealAncestor(parent);
  }
}

function outside(folder: string, path: string): Error {
  const message = `${path} is not a path inside ${folder}`;
  return operatorError({ code: "FILE_OUTSIDE_FOLDER", category: "validation", message, details: { folder, path } });
}

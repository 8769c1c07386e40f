/**
 * The way in which this person runs the program. Printed commands begin with it, so that they work as printed.
 *
 * 1.  It is `countersign` only if a shell would find this same program, `npx countersign` if npm would find it, and
 *     else the path of the launcher.
 */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { delimiter, dirname, join, relative, resolve } from "node:path";
import { findShipped } from "./find-shipped.ts";
import { quoteWord } from "./render-text.ts";

export interface Surroundings {
  readonly cwd: string;
  /** The PATH of the person's shell. */
  readonly path: string;
  /** The launcher of this program. */
  readonly launcher: string;
}

/** Returns the words that stand before a command, quoted for a shell. */
export function findInvocation({ cwd, path, launcher }: Surroundings): string {
  // npm puts its own folders first in the PATH of what it runs; the shell that reads the command does not have them.
  const folders = path.split(delimiter).filter((folder) => folder !== "" && !folder.includes("node_modules"));
  if (folders.some((folder) => isSame(join(folder, "countersign"), launcher))) return "countersign";
  return npmFinds(cwd, launcher) ? "npx countersign" : `node ${quoteWord(launcher)}`;
}

/**
 * Returns whether npx would find this program. npx looks into the nearest package, which may be this one, and into each
 * `node_modules` above.
 */
function npmFinds(cwd: string, launcher: string): boolean {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    if (isSame(join(folder, "node_modules", ".bin", "countersign"), launcher)) return true;
    if (existsSync(join(folder, "package.json")))
      return nameOf(folder) === "countersign" && !relative(folder, launcher).startsWith("..");
    if (folder === dirname(folder)) return false;
  }
}

function nameOf(folder: string): unknown {
  try {
    return (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { readonly name?: unknown }).name;
  } catch {
    return undefined;
  }
}

function isSame(path: string, launcher: string): boolean {
  try {
    return realpathSync(path) === realpathSync(launcher);
  } catch {
    return false;
  }
}

let found: string | undefined;

/**
 * Returns the invocation of this process. `npm start` runs in the package's folder, so the folder in which it was typed
 * comes from the environment.
 */
export function invocation(): string {
  const launcher = findShipped("src/faces/cli/bin.mjs");
  found ??= findInvocation({ cwd: typedIn(), path: process.env["PATH"] ?? "", launcher });
  return found;
}

const typedIn = (): string => process.env["INIT_CWD"] ?? process.cwd();

/** Returns the path of a file as it must be typed in the folder in which the command was typed. */
export const fileAsTyped = (path: string): string => (typedIn() === process.cwd() ? path : resolve(path));

/**
 * `create [DIR]`: makes a folder with a package of workflows, a host that runs it, and a test. `npm create countersign`
 * runs this command.
 *
 * 1.  No existing file is overwritten: a folder that is not empty is refused before anything is written.
 * 2.  If the folder cannot be completed, everything that was written is removed.
 * 3.  The printed commands work as printed: in a checkout, the new folder depends on that checkout by its path, and a
 *     checkout that is not built is built first.
 * Never: installs anything or uses the network; it prints the commands to run next.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { findShipped } from "./find-shipped.ts";
import { readVersion } from "./read-version.ts";
import { quoteWord } from "./render-text.ts";
import { UsageError } from "./report-error.ts";
import type { Terminal } from "./terminal.ts";

export function addCreate(program: Command, terminal: Terminal): void {
  program
    .command("create")
    .description("make a folder with a workflow that waits for a person, a host, and a test")
    .argument("[dir]", "a new or empty folder", "my-workflows")
    .action((dir: string) => create(resolve(dir), terminal));
}

function create(folder: string, terminal: Terminal): void {
  try {
    requireEmpty(folder);
    makeFolder(folder);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${folder} cannot be made: ${(error as Error).message}; name another folder`);
  }
  const steps = [...stepsBefore(findCheckout()), `cd ${quoteWord(folder)}`, "npm install", "npm start"];
  terminal.print(`Made ${folder}. Next:\n\n${steps.map((step) => `  ${step}\n`).join("")}`);
}

/** Returns the checkout of the sources that this program runs from, or null if npm installed the package. */
const findCheckout = (): string | null =>
  existsSync(findShipped("src/faces/cli/main.ts")) ? dirname(findShipped("package.json")) : null;

/** Lists the commands that must run before the installation: a checkout without a build has to be built first. */
const stepsBefore = (checkout: string | null): readonly string[] =>
  checkout === null || existsSync(join(checkout, "dist/src/index.js"))
    ? []
    : [`npm --prefix ${quoteWord(checkout)} run build`];

function requireEmpty(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new UsageError(`${folder} is not empty: name a folder that is new`);
}

/** Makes the folder with its content; of what it has made, nothing stays if that fails. */
export function makeFolder(folder: string): void {
  const made = findMissing(folder);
  // The folder is made alone, so that cleaning up removes nothing that another process has made meanwhile.
  if (made !== null) mkdirSync(made);
  try {
    mkdirSync(folder, { recursive: true });
    copyTemplate(folder);
  } catch (error) {
    if (made !== null) rmSync(made, { recursive: true });
    throw error;
  }
}

/** Returns the highest of the folders on the path that do not exist yet, or null if all exist. */
function findMissing(folder: string): string | null {
  if (existsSync(folder)) return null;
  return findMissing(dirname(folder)) ?? folder;
}

function copyTemplate(folder: string): void {
  cpSync(findShipped("src/faces/cli/template"), folder, { recursive: true });
  renameSync(join(folder, "gitignore"), join(folder, ".gitignore"));
  nameManifest(folder);
}

function nameManifest(folder: string): void {
  const path = join(folder, "package.json");
  const manifest = JSON.parse(readFileSync(path, "utf8"));
  manifest.name =
    basename(folder)
      .toLowerCase()
      .replaceAll(/[^a-z0-9._-]+/g, "-")
      .replace(/^[._-]+/, "") || "my-workflows";
  const checkout = findCheckout();
  manifest.dependencies.countersign = checkout === null ? `^${readVersion()}` : `file:${checkout}`;
  writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`);
}

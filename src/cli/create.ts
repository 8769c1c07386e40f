/**
 * `create [DIR]`: a folder with a package of workflows, a host that runs it, and a test; what `npm create countersign` runs.
 *
 * INV-1  Nothing that is there is written over: a folder that is not empty is refused before anything is written.
 * INV-2  Of a folder that cannot be made whole nothing is left.
 * Never: installs anything or asks the network; it prints what to run next.
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
  terminal.print(`Made ${folder}. Next:\n\n  cd ${quoteWord(folder)}\n  npm install\n  npm start\n`);
}

function requireEmpty(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new UsageError(`${folder} is not empty: name a folder that is new`);
}

function makeFolder(folder: string): void {
  const made = findMissing(folder);
  // Alone, so that it is ours: what others made meanwhile is not taken away.
  if (made !== null) mkdirSync(made);
  try {
    mkdirSync(folder, { recursive: true });
    copyTemplate(folder);
  } catch (error) {
    if (made !== null) rmSync(made, { recursive: true });
    throw error;
  }
}

/** The highest of the folders that are not there yet; null where all are. */
function findMissing(folder: string): string | null {
  if (existsSync(folder)) return null;
  return findMissing(dirname(folder)) ?? folder;
}

function copyTemplate(folder: string): void {
  cpSync(findShipped("src/cli/template"), folder, { recursive: true });
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
  manifest.dependencies.countersign = `^${readVersion()}`;
  writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`);
}

/**
 * A folder in which what the documents show is run: programs are compiled together and run in one process, lines for a
 * shell in a folder of their page.
 *
 * Owns: what a reader has installed, as paths of this repository. W1  What is started here is ended here.
 */
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePort } from "../free-port.ts";
import { root } from "../tidy/source-files.ts";
import type { Program, ShellStep } from "./read-blocks.ts";
import { sources } from "./resolve-package.ts";
import type { ProgramRun } from "./run-programs.ts";

const run = promisify(execFile);
const preload = join(root, "test/guide/resolve-package.ts");
const launcher = join(root, "src/faces/cli/bin.mjs");

/** Writes what is compiled together, with a configuration under which `countersign` is what lies here. */
export function writePrograms(folder: string, programs: readonly Program[]): void {
  for (const { name, code } of programs) writeFileSync(join(folder, `${name}.mts`), code);
  const types = join(folder, "api.d.ts");
  execFileSync(process.execPath, [join(root, "test/http/declare-api.ts"), types]);
  const modules = [...sources].map(([name, url]) => [name, [fileURLToPath(url)]] as const);
  const paths = Object.fromEntries([...modules, ["countersign/api", [types]]]);
  const compilerOptions = { paths, moduleDetection: "force", rootDir: "/" };
  const config = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["*.mts", "*/*.ts"], exclude: [] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
}

/** What the compiler says of all of them; nothing where they are right. */
export async function compilePrograms(folder: string): Promise<string> {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const told = await run(process.execPath, [compiler, "-p", folder]).catch(
    (error: { readonly stdout: string }) => error,
  );
  return told.stdout;
}

/** What each printed; of one that does not end, and of those after it, nothing. */
export async function runPrograms(folder: string): Promise<readonly ProgramRun[]> {
  const runner = join(root, "test/guide/run-programs.ts");
  const options = { maxBuffer: 10_000_000, timeout: 100_000 };
  const told = await run(process.execPath, [runner, folder], options).catch(
    (error: { readonly stdout: string }) => error,
  );
  const lines = told.stdout.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as ProgramRun);
}

/** The folder of a page, as a reader's project: a module package with the files that the page shows. */
export function writeFiles(folder: string, files: ReadonlyMap<string, string>): void {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  for (const [name, content] of files) writeFileSync(join(folder, name), content);
}

function writeProgram(path: string, line: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${line}\n`);
  chmodSync(path, 0o755);
}

const cut = "-- next block --";

/**
 * The output of each block, run by one shell in `folder`. `npx` knows `countersign` alone, the ports that documents
 * name are ones that are free, and the database is the one at `database`.
 */
export async function runShell(
  folder: string,
  steps: readonly ShellStep[],
  database: string | null = null,
): Promise<{ readonly code: unknown; readonly outs: readonly string[]; readonly errors: string }> {
  const start = `exec "${process.execPath}" "${launcher}" "$@"`;
  writeProgram(join(folder, "bin/npx"), `[ "$1" = countersign ] && shift && ${start}`);
  writeProgram(join(folder, "node_modules/.bin/countersign"), start);
  const { host, password } = database === null ? { host: "", password: "" } : new URL(database);
  const real = { "8787": String(await freePort()), "8788": String(await freePort()) };
  const places = Object.entries(database === null ? real : { ...real, "127.0.0.1:5432": host });
  const replaceAll = (given: string, pairs: readonly (readonly [string, string])[]): string =>
    pairs.reduce((told, [one, other]) => told.replaceAll(one, other), given);
  const blocks = steps.map(({ code }) => replaceAll(code, places)).join(`\necho '${cut}'\n`);
  const path = `PATH="$PWD/bin:${dirname(process.execPath)}:$PATH"`;
  const setup = `export PGPASSWORD='${password}' ${path} NODE_OPTIONS=--import='${preload}' NO_COLOR=1`;
  const script = `trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${setup}\n${blocks}`;
  const shell = spawn("bash", ["-e", "-o", "pipefail", "-c", script], { cwd: folder });
  const [out, errors, [code]] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, "exit")]);
  const shown = places.map(([one, other]) => [other, one] as const);
  const outs = replaceAll(out, shown).split(`${cut}\n`);
  return { code, outs, errors };
}

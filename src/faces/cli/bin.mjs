#!/usr/bin/env node
// The launcher of the command line: finds a Node that can run it, then the program itself.
// Owns: the choice of the runtime (this one, or the one installed beside the package) and of the entry (sources or
// build).
// Never: parses arguments. It is plain JavaScript that an old Node can read, so that it can print the next step.
// 1.  The exit code and the signals of a second process are passed through.

import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import nodeModule, { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

const neededMajor = 24;
const secondRun = "COUNTERSIGN_SECOND_RUN";
const here = dirname(fileURLToPath(import.meta.url));

const majorOf = (version) => Number.parseInt(version, 10);

/** Returns the binary of an installed `node` package of the needed version, or null. */
function findNode() {
  try {
    const manifest = createRequire(import.meta.url).resolve("node/package.json");
    if (majorOf(JSON.parse(readFileSync(manifest, "utf8")).version) < neededMajor) return null;
    const names = process.platform === "win32" ? ["node.exe", "node"] : ["node"];
    return names.map((name) => join(dirname(manifest), "bin", name)).find((path) => existsSync(path)) ?? null;
  } catch {
    return null;
  }
}

const quoteWord = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/**
 * Refuses an old Node and prints the next step. `create` runs from no folder of its own, so it names the packages
 * itself.
 */
function refuse() {
  const [, , command, folder = "my-workflows"] = process.argv;
  const made = `npx -p node@${neededMajor} -p create-countersign create-countersign ${quoteWord(folder)}`;
  const elsewhere = command === "create" ? `"${made}"` : `"npm install node@${neededMajor}" beside countersign`;
  const lines = [
    `countersign needs Node ${neededMajor} or newer; this is ${process.version}.`,
    `Next: install Node ${neededMajor} (https://nodejs.org), or run ${elsewhere}.`,
  ];
  process.stderr.write(`${lines.join("\n")}\n`);
  process.exitCode = 2;
}

function runAgain(node) {
  const args = [fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  const child = spawn(node, args, { stdio: "inherit", env: { ...process.env, [secondRun]: "1" } });
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    // A terminal sends Ctrl-C to both processes; a second one would cut the clean stop short.
    process.on(name, () => (name !== "SIGINT" || !process.stdin.isTTY) && child.kill(name));
  }
  child.on("error", refuse);
  child.on("exit", (code, signal) => {
    for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.removeAllListeners(name);
    if (signal === null) process.exitCode = code ?? 1;
    else process.kill(process.pid, signal);
  });
}

/** Returns the module of the program. Node does not run TypeScript inside node_modules, so the build is used there. */
function findEntry() {
  const source = join(here, "main.ts");
  const installed = here.split(sep).includes("node_modules");
  if (!installed && existsSync(source)) return new URL("./main.ts", import.meta.url);
  return new URL("../../../dist/src/faces/cli/main.js", import.meta.url);
}

async function start() {
  const entry = findEntry();
  if (!existsSync(fileURLToPath(entry))) {
    process.stderr.write('countersign is not built.\nNext: run "npm run build" in its folder, or install it again.\n');
    process.exitCode = 2;
    return;
  }
  // What this start compiles, the next ones read. Node has this since 22.
  nodeModule.enableCompileCache?.();
  const { main } = await import(entry.href);
  process.exitCode = await main(process.argv.slice(2));
}

if (majorOf(process.versions.node) >= neededMajor) {
  await start();
} else {
  const node = process.env[secondRun] === undefined ? findNode() : null;
  if (node === null) refuse();
  else runAgain(node);
}

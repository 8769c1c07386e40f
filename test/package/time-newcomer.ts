/**
 * `npm run newcomer`: from `npm create` to a first approval, as somebody would who has nothing but a Node and npm:
 * packages come from npm into an empty cache. Prints how long each step took; ends with 1 where one fails, or all took
 * five minutes.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { performance } from "node:perf_hooks";
import { packInto } from "./pack-package.ts";

const mostSeconds = 300;
const root = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "countersign-newcomer-"));
const made = join(folder, "my-workflows");

/** The machine's own Node, not the one that scripts of this repository run on. */
const own = (process.env["PATH"] ?? "").split(delimiter).filter((place) => !place.includes("node_modules"));
const env = {
  ...process.env,
  PATH: own.join(delimiter),
  npm_config_cache: join(folder, "cache"),
  npm_config_update_notifier: "false",
};
const run = (cwd: string, program: string, ...args: readonly string[]): string =>
  execFileSync(program, args, { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

const tarball = packInto(folder);

/** `create-countersign` as it would be published, of this package. */
function packCreator(): string {
  const at = join(folder, "create-countersign");
  cpSync(join(root, "src/faces/cli/create-countersign"), at, { recursive: true });
  dependOnTarball(at);
  run(at, "npm", "pack", "--pack-destination", folder);
  return join(folder, "create-countersign-0.1.0.tgz");
}

function dependOnTarball(at: string): void {
  const path = join(at, "package.json");
  const manifest = JSON.parse(readFileSync(path, "utf8"));
  manifest.dependencies.countersign = `file:${tarball}`;
  writeFileSync(path, JSON.stringify(manifest));
}

let total = 0;
function time(what: string, step: () => string): string {
  const begun = performance.now();
  const printed = step();
  const seconds = (performance.now() - begun) / 1000;
  total += seconds;
  console.log(`${what.padEnd(40)}${seconds.toFixed(1)} s`);
  return printed;
}

try {
  const creator = packCreator();
  mkdirSync(env.npm_config_cache, { recursive: true });
  const version = run(folder, "node", "--version").trim();
  const isOld = Number.parseInt(version.slice(1), 10) < 24;
  console.log(`Node ${version}${isOld ? ", and what it is told to run for lack of a newer one" : ""}`);
  const packages = [...(isOld ? ["-p", "node@24"] : []), "-p", `file:${creator}`];
  time("npm create countersign", () => run(folder, "npx", "-y", ...packages, "create-countersign", made));
  dependOnTarball(made);
  time("npm install", () => run(made, "npm", "install"));
  const printed = time("npm start, approved", () => run(made, "npm", "start", "--", "--yes"));
  if (!/^completed /m.test(printed)) throw new Error(printed);
  console.log(`${"to the first approval".padEnd(40)}${total.toFixed(1)} s`);
  if (total > mostSeconds) process.exitCode = 1;
  time("npm test", () => run(made, "npm", "test"));
  time("npm run types", () => run(made, "npm", "run", "types"));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

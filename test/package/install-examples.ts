/**
 * Installs the packed package in an empty folder for each example, as its reader would, runs it and tells how long both
 * took: npm run examples [-- NAME …]. With --runtimes it runs those that need nothing else on Bun and Deno, too, from
 * npm. It needs the registry, which tests do not; an example that prints something else than it should ends it with 1.
 */
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { packInto } from "./pack-package.ts";

const examples = join(import.meta.dirname, "../examples");
const isExample = (name: string): boolean => existsSync(join(examples, name, "main.ts"));
const given = process.argv.slice(2).filter((name) => !name.startsWith("--"));
const names = given.length > 0 ? given : readdirSync(examples).filter(isExample);
const folder = mkdtempSync(join(tmpdir(), "countersign-examples-"));
chmodSync(folder, 0o755); // as root Postgres runs as another user, who has to get to its programs
const tarball = packInto(folder);

const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`;

function npmInstall(where: string, packages: readonly string[] = []): string {
  const begun = performance.now();
  execFileSync("npm", ["install", "--no-audit", "--no-fund", ...packages], { cwd: where, stdio: "pipe" });
  return seconds(begun);
}

/** The example and the shop beside it, in a folder where npm finds both. */
function install(name: string): { readonly at: string; readonly took: string } {
  const at = join(folder, `of-${name}`);
  cpSync(join(examples, "package.json"), join(at, "package.json"));
  for (const part of [name, "shop"]) {
    cpSync(join(examples, part), join(at, part), { recursive: true });
    const path = join(at, part, "package.json");
    const manifest = JSON.parse(readFileSync(path, "utf8"));
    manifest.dependencies.countersign = `file:${tarball}`;
    writeFileSync(path, JSON.stringify(manifest));
  }
  return { at, took: npmInstall(at) };
}

/** The time that it took; what it printed, where that is not what it should. */
function run(name: string, at: string, runtime: readonly string[]): { readonly took: string; readonly wrong: string } {
  const begun = performance.now();
  const [program = "", ...args] = [...runtime, join(at, name, "main.ts")];
  const cwd = mkdtempSync(join(at, "run-"));
  const { stdout, stderr } = spawnSync(program, args, { cwd, encoding: "utf8", timeout: 60_000 });
  const isRight = stdout === readFileSync(join(examples, name, "expected.txt"), "utf8");
  return { took: `${seconds(begun)}${isRight ? "" : " FAILED"}`, wrong: isRight ? "" : `${stdout}${stderr}` };
}

const printRow = (...cells: readonly string[]): void => console.log(cells.map((cell) => cell.padEnd(16)).join(""));

function runtimesIn(at: string): readonly (readonly string[])[] {
  if (!process.argv.includes("--runtimes")) return [];
  npmInstall(at, ["bun", "deno"]);
  const binary = (name: string): string => join(at, "node_modules/.bin", name);
  return [[binary("bun")], [binary("deno"), "run", "-A"]];
}

try {
  const tools = join(folder, "tools");
  mkdirSync(tools);
  writeFileSync(join(tools, "package.json"), "{}");
  const others = runtimesIn(tools);
  const alone: ReadonlySet<string> = new Set(["refund-quorum", "hono", "opentelemetry", "mcp"]);
  printRow("example", "installed", "node", ...(others.length > 0 ? ["bun", "deno"] : []));
  for (const name of names) {
    const { at, took } = install(name);
    const runs = [[process.execPath], ...(alone.has(name) ? others : [])].map((runtime) => run(name, at, runtime));
    printRow(name, took, ...runs.map((one) => one.took));
    for (const { wrong } of runs.filter((one) => one.wrong !== "")) {
      console.log(wrong);
      process.exitCode = 1;
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

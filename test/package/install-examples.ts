/**
 * Installs the packed package in an empty folder for each example, as its reader would, runs it and tells how long both took:
 * npm run examples [-- NAME …]. With --runtimes it runs those that need nothing else on Bun and Deno, too, from npm.
 * It needs the registry, which tests do not; an example that prints something else than it should ends it with 1.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { packInto } from "./pack-package.ts";

const examples = join(import.meta.dirname, "../examples");
const isExample = (name: string): boolean => existsSync(join(examples, name, "main.ts"));
const given = process.argv.slice(2).filter((name) => !name.startsWith("--"));
const names = given.length > 0 ? given : readdirSync(examples).filter(isExample);
const folder = mkdtempSync(join(tmpdir(), "countersign-examples-"));
const tarball = packInto(folder);

const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`;

function npmInstall(where: string, packages: readonly string[] = []): string {
  const begun = performance.now();
  execFileSync("npm", ["install", "--no-audit", "--no-fund", ...packages], { cwd: where, stdio: "pipe" });
  return seconds(begun);
}

/** A folder with the example, the shop beside it, and what both import. */
function install(name: string): { readonly at: string; readonly took: string } {
  const at = join(folder, `of-${name}`);
  for (const part of [name, "shop"]) cpSync(join(examples, part), join(at, part), { recursive: true });
  const manifest = JSON.parse(readFileSync(join(examples, name, "package.json"), "utf8"));
  manifest.dependencies.countersign = `file:${tarball}`;
  writeFileSync(join(at, "package.json"), JSON.stringify(manifest));
  return { at, took: npmInstall(at) };
}

/** Whether it printed what it should. */
function run(name: string, at: string, runtime: readonly string[]): boolean {
  const begun = performance.now();
  const [program = "", ...args] = [...runtime, join(at, name, "main.ts")];
  const cwd = mkdtempSync(join(at, "run-"));
  const { stdout, stderr } = spawnSync(program, args, { cwd, encoding: "utf8", timeout: 60_000 });
  const ok = stdout === readFileSync(join(examples, name, "expected.txt"), "utf8");
  console.log(
    `  ${ok ? "ran" : "FAILED"} on ${runtime[0]?.split("/").at(-1)} in ${seconds(begun)}${ok ? "" : `\n${stdout}${stderr}`}`,
  );
  return ok;
}

function runtimesIn(at: string): readonly (readonly string[])[] {
  if (!process.argv.includes("--runtimes")) return [];
  console.log(`Bun and Deno installed in ${npmInstall(at, ["bun", "deno"])}`);
  const binary = (name: string): string => join(at, "node_modules/.bin", name);
  return [[binary("bun")], [binary("deno"), "run", "-A"]];
}

try {
  const tools = join(folder, "tools");
  mkdirSync(tools);
  writeFileSync(join(tools, "package.json"), "{}");
  const others = runtimesIn(tools);
  const alone: ReadonlySet<string> = new Set(["refund-quorum", "hono", "opentelemetry", "mcp"]);
  const results = names.flatMap((name) => {
    const { at, took } = install(name);
    console.log(`${name}: installed in ${took}`);
    return [[process.execPath], ...(alone.has(name) ? others : [])].map((runtime) => run(name, at, runtime));
  });
  if (results.includes(false)) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

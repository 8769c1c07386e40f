/**
 * The README's blocks as printed, in a fresh clone of this repository, with the history that it has.
 *
 * Owns: the clone. Its `node_modules` are a link to those here: what `npm ci` would bring is what the tests run on. Of
 * `npm cit` these tests are a part, so it is not run from here.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../free-port.ts";
import { canServe } from "../postgres/can-serve.ts";
import { programsOf, readBlocks, shellOf } from "./read-blocks.ts";

const root = resolve(import.meta.dirname, "../..");
const readme = readFileSync(join(root, "README.md"), "utf8");
const blocks = readBlocks(readme);
const shell = shellOf(blocks).map(({ code }) => code);
const [commands = "", overHttp = "", twoServers = ""] = shell;
const serve = /`(npx countersign serve [^`]*)`/.exec(readme)?.[1] ?? "";
const create = /`(npx countersign create [^`]*)`/.exec(readme)?.[1] ?? "";

/** A machine may lack them, and sources that were unpacked have no history. */
const canClone =
  ["git", "curl", "bash", "npm"].every((tool) => spawnSync(tool, ["--version"]).status === 0) &&
  spawnSync("git", ["rev-parse", "HEAD"], { cwd: root }).status === 0;

/** The PATH of a person's shell: npm puts its own folders before it for what it runs. */
const path = (process.env["PATH"] ?? "")
  .split(delimiter)
  .filter((folder) => !folder.includes("node_modules"))
  .join(delimiter);
/** What npm and vitest tell the processes that they start is not a newcomer's. */
const env = Object.fromEntries(
  Object.entries({ ...process.env, PATH: path }).filter(([name]) => !/^(npm_|NODE_|VITEST|TEST$)/.test(name)),
);

/** In bytes, on Linux. */
const longestArgument = 131_072;

interface Ran {
  readonly code: unknown;
  readonly out: string;
  readonly err: string;
}

let folder = "";
let clone = "";

const start = (script: string, cwd: string): ChildProcess =>
  spawn("bash", ["-e", "-o", "pipefail", "-c", script], {
    cwd,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });

async function run(script: string, cwd = clone): Promise<Ran> {
  const child = start(script, cwd);
  const reading = [child.stdout, child.stderr].map((stream) => text(stream as NonNullable<typeof stream>));
  const [[code], out = "", err = ""] = await Promise.all([once(child, "exit"), ...reading]);
  return { code, out, err };
}

/** Ends a process with all that it has started. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return;
  const ended = once(child, "exit");
  process.kill(-child.pid, "SIGTERM");
  await ended;
}

/** What stands here and is not committed yet belongs to the clone as well. */
function copyUncommitted(): void {
  const changed = spawnSync("git", ["ls-files", "-z", "-m", "-o", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  for (const name of changed.stdout.split("\0").filter((one) => one !== "" && existsSync(join(root, one)))) {
    mkdirSync(dirname(join(clone, name)), { recursive: true });
    cpSync(join(root, name), join(clone, name));
  }
}

beforeAll(async () => {
  if (!canClone) return;
  folder = mkdtempSync(join(tmpdir(), "countersign-clone-"));
  chmodSync(folder, 0o755);
  clone = join(folder, "countersign");
  expect(await run(`git clone --quiet '${root}' '${clone}'`, folder)).toMatchObject({ code: 0 });
  copyUncommitted();
  symlinkSync(join(root, "node_modules"), join(clone, "node_modules"));
  // What one process has compiled the next ones read; nothing else is different.
  env["NODE_COMPILE_CACHE"] = join(folder, "compiled");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(!canClone)("in a fresh clone, as the README prints it,", () => {
  it("npm ci prints less than 30 lines, whatever Node it runs on", async () => {
    const plain = join(folder, "plain");
    mkdirSync(plain);
    for (const name of ["package.json", "package-lock.json", ".npmrc"]) cpSync(join(clone, name), join(plain, name));
    const { code, out, err } = await run("npm ci --dry-run --ignore-scripts --offline", plain);
    expect([code, `${out}${err}`.split("\n").filter((line) => !line.startsWith("add ")).length < 30]).toEqual([
      0,
      true,
    ]);
    expect(readme).toMatch(/`npm ci` takes .* minutes/);
  });

  it("the first commands are npm ci, start, run build and cit; npm start stops at the gate with a hint", async () => {
    expect(commands.split("\n").map((line) => line.replace(/\s+#.*$/, ""))).toEqual([
      "npm ci && npm start",
      "npm run build",
      "npm cit",
    ]);
    expect(blocks.map(({ lang }) => lang)).toEqual(["sh", "ts", "ts", "sh", "sh"]);
    const { code, out } = await run("npm start");
    expect([code, out]).toEqual([0, expect.stringContaining("Waiting for a person; nothing is written yet")]);
  });

  it("npm run build makes what the programs import, and each of them prints what it says", async () => {
    expect(await run("npm run build")).toMatchObject({ code: 0 });
    const programs = programsOf("readme", blocks);
    expect(programs).toHaveLength(2);
    for (const { code, prints } of programs) {
      writeFileSync(join(clone, "my.ts"), code);
      const ran = await run("npx node my.ts");
      expect([ran.err, ran.out.trimEnd().split("\n")]).toEqual(["", prints]);
    }
    rmSync(join(clone, "my.ts"));
  }, 240_000); // It compiles all sources three times: on a busy machine the usual limit is too short.

  it("create makes a folder that depends on the clone", async () => {
    const { code, out } = await run(create);
    expect([code, out]).toEqual([0, expect.stringContaining("npm install")]);
    const manifest = readFileSync(join(folder, "my-workflows/package.json"), "utf8");
    expect(manifest).toContain(`"countersign": "file:${clone}"`);
  });

  it("the story over HTTP ends with the notes written, and prints little enough for a person to scroll", async () => {
    const port = await freePort();
    const server = start(`${serve} --port ${port} --db story.db`, clone);
    try {
      const { code, out } = await run(overHttp.replaceAll("8787", String(port)));
      expect(code).toBe(0);
      for (const part of ['"payload_digest"', '"status":"resumed"', "WORKFLOW_COMPLETED", "File.Write"])
        expect(out).toContain(part);
      expect(existsSync(join(clone, "RELEASE_NOTES.md"))).toBe(true);
      expect(out.length).toBeLessThan(400_000);
    } finally {
      await end(server);
    }
  });

  /** A history of many long subjects, on a branch of its own. */
  async function lengthenHistory(): Promise<void> {
    const subjects = Array.from({ length: 1500 }, (_, i) => `feat: ${"tell more of it, ".repeat(6)}${i}`);
    const commits = subjects.map((subject, i) => {
      const after = i === 0 ? "from HEAD^0\n" : "";
      const head = `commit refs/heads/long\ncommitter A <a@example.invalid> ${1_800_000_000 + i} +0000`;
      return `${head}\ndata <<END\n${subject}\nEND\n${after}`;
    });
    writeFileSync(join(folder, "long"), commits.join("\n"));
    expect(await run("git fast-import --quiet < ../long && git symbolic-ref HEAD refs/heads/long")).toMatchObject({
      code: 0,
    });
  }

  it("the story over HTTP ends with the whole history as payload, too long for a shell argument", async () => {
    const port = await freePort();
    await lengthenHistory();
    const server = start(`${serve} --port ${port} --db whole.db`, clone);
    try {
      const whole = overHttp.replace(`,"since":"'$since'"`, `,"out":"WHOLE.md"`).replaceAll("8787", String(port));
      expect(whole).toContain("WHOLE.md");
      const { code } = await run(whole);
      expect([code, readFileSync(join(clone, "WHOLE.md")).length > longestArgument]).toEqual([0, true]);
    } finally {
      await end(server);
    }
  });

  it.skipIf(!canServe())("two servers on one database begin, and end as the README says", async () => {
    const [one, other] = [await freePort(), await freePort()];
    const script = twoServers.replaceAll("8787", String(one)).replaceAll("8788", String(other));
    // With job control, as at a terminal: a job is then ended with all that it has started.
    const ending = /to end all three: (kill .*)$/m.exec(twoServers)?.[1] ?? "";
    const { code, out } = await run(`set -m\n${script}\n${ending}\nwait || true`);
    expect([code, out.match(/"status":"ready"|ready/g)?.length]).toEqual([0, 2]);
  });
});

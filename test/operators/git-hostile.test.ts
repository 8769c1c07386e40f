// Git.Log on a repository whose configuration, attributes and hooks name programs wherever git lets them.
// Law: none of them runs. Each would leave a file with its own name; plain git is shown to run some of them.

import { execFileSync } from "node:child_process";
import { appendFileSync, chmodSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { gitLog } from "../../src/packages/operators/git-log/git-log.ts";
import { callOperator } from "../../src/testing/call-operator.ts";
import { commit, git, makeTempFolder, type TempFolder } from "./temp-folder.ts";

let folder: TempFolder;
let repo = "";
beforeEach(() => {
  folder = makeTempFolder();
  repo = join(folder.path, "repo");
  mkdirSync(repo);
  mkdirSync(join(folder.path, "ran"));
});
afterEach(() => folder[Symbol.dispose]());

/** A program that leaves a file with the given name, and says nothing. */
function trap(name: string): string {
  const path = join(folder.path, `trap-${name}`);
  writeFileSync(path, `#!/bin/sh\ntouch "${join(folder.path, "ran", name)}"\nexit 1\n`);
  chmodSync(path, 0o755);
  return path;
}
const ran = (): readonly string[] => readdirSync(join(folder.path, "ran")).sort();

/** Settings of git's manual that name a program; a `!` or a shell line where git wants one. */
const commands = [
  "core.fsmonitor",
  "core.pager",
  "core.editor",
  "core.askPass",
  "core.sshCommand",
  "core.gitProxy",
  "core.alternateRefsCommand",
  "credential.helper",
  "diff.external",
  "diff.evil.command",
  "diff.evil.textconv",
  "filter.evil.clean",
  "filter.evil.smudge",
  "filter.evil.process",
  "merge.evil.driver",
  "gpg.program",
  "gpg.openpgp.program",
  "gpg.x509.program",
  "gpg.ssh.program",
  "gpg.ssh.defaultKeyCommand",
  "pager.log",
  "pager.config",
  "pager.describe",
  "sequence.editor",
  "interactive.diffFilter",
  "uploadpack.packObjectsHook",
  "remote.evil.uploadpack",
  "remote.evil.receivepack",
] as const;

const hooks = ["post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc"];

/** Two commits, the second signed by nobody, in a repository that is hostile wherever it can be. */
function makeHostile(remote = `ext::${trap("remote.evil.url")}`): { readonly first: string } {
  git(repo, "init", "--quiet");
  writeFileSync(join(repo, ".gitattributes"), "* diff=evil filter=evil merge=evil\n");
  writeFileSync(join(repo, "a.txt"), "a\n");
  git(repo, "add", ".");
  const first = commit(repo, "first");
  const tree = git(repo, "rev-parse", "HEAD^{tree}").trim();
  const who = "Ada <ada@example.org> 1767323045 +0000";
  const signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n AAAA\n -----END PGP SIGNATURE-----";
  const signed = `tree ${tree}\nparent ${first}\nauthor ${who}\ncommitter ${who}\n${signature}\n\nsecond\n`;
  const hash = execFileSync("git", ["-C", repo, "hash-object", "-w", "-t", "commit", "--stdin"], { input: signed });
  git(repo, "update-ref", "HEAD", hash.toString().trim());
  const elsewhere = join(folder.path, "elsewhere");
  git(folder.path, "clone", "--quiet", repo, elsewhere);
  writeFileSync(join(repo, ".git/objects/info/alternates"), `${join(elsewhere, ".git/objects")}\n`);
  armConfiguration(remote);
  return { first };
}

function armConfiguration(remote: string): void {
  mkdirSync(join(repo, ".git/own-hooks"));
  for (const hook of hooks) {
    for (const at of ["hooks", "own-hooks"]) {
      const path = join(repo, ".git", at, hook);
      writeFileSync(path, `#!/bin/sh\ntouch "${join(folder.path, "ran", `${at}-${hook}`)}"\n`);
      chmodSync(path, 0o755);
    }
  }
  // Half of it by an included file: what is included counts as written here.
  const included = join(repo, ".git/included");
  const values: Readonly<Record<string, string>> = {
    ...Object.fromEntries(commands.map((key) => [key, trap(key)])),
    "alias.log": `!${trap("alias.log")}`,
    "alias.rev-parse": `!${trap("alias.rev-parse")}`,
    "core.hooksPath": join(repo, ".git/own-hooks"),
    "log.showSignature": "true",
    "diff.submodule": "diff",
    "trace2.eventTarget": join(folder.path, "ran", "trace2.eventTarget"),
    "trace2.normalTarget": join(folder.path, "ran", "trace2.normalTarget"),
    "protocol.allow": "always",
    "protocol.ext.allow": "always",
    "remote.evil.url": remote,
    "remote.evil.promisor": "true",
    "extensions.partialClone": "evil",
    "core.repositoryFormatVersion": "1",
    "include.path": included,
  };
  const keys = Object.keys(values);
  const isOwn = (key: string, i: number): boolean => i % 2 === 0 || /^(extensions|core\.rep|include)/.test(key);
  const linesOf = (chosen: readonly string[]): string =>
    chosen.map((key) => settingOf(key, values[key] as string)).join("");
  appendFileSync(join(repo, ".git/config"), linesOf(keys.filter(isOwn)));
  writeFileSync(included, linesOf(keys.filter((key, i) => !isOwn(key, i))));
}

/** `diff.evil.command` is `command` in the section `[diff "evil"]`. */
function settingOf(key: string, value: string): string {
  const [first, last] = [key.indexOf("."), key.lastIndexOf(".")];
  const part = first === last ? "" : ` ${JSON.stringify(key.slice(first + 1, last))}`;
  return `[${key.slice(0, first)}${part}]\n\t${key.slice(last + 1)} = ${JSON.stringify(value)}\n`;
}

function forgetRuns(): void {
  rmSync(join(folder.path, "ran"), { recursive: true });
  mkdirSync(join(folder.path, "ran"));
}

/** The object is gone, as in a partial clone that has not fetched it. */
function loseObject(hash: string): void {
  rmSync(join(repo, ".git/objects", hash.slice(0, 2), hash.slice(2)));
  rmSync(join(repo, ".git/objects/info/alternates"), { force: true });
}

const read = (input: object) => callOperator({ operator: gitLog, input: { repo, ...input } as never });

/** Whatever plain git is made to do here, it is to fail or not by itself. */
function tryGit(...args: readonly string[]): void {
  try {
    execFileSync("git", ["-C", repo, ...args], { stdio: "ignore", env: { ...process.env, GIT_TERMINAL_PROMPT: "0" } });
  } catch {
    // What counts is what it ran.
  }
}

describe("Git.Log on a hostile repository", () => {
  it("[INV-13] reads the history, with and without files, and runs nothing", async () => {
    makeHostile();
    forgetRuns();
    for (const input of [{}, { files: true }, { until: "HEAD~1" }, { since: "HEAD~1", files: true }]) {
      const { output } = await read(input);
      expect(output).toMatchObject({ commits: expect.arrayContaining([expect.anything()]), remote_url: null });
    }
    await expect(read({ since: "no-such-ref" })).rejects.toThrow(/no commit called/);
    expect(ran()).toEqual([]);
  });

  it("[INV-13] an object that is missing is not fetched by what the remote names", async () => {
    const { first } = makeHostile();
    forgetRuns();
    loseObject(first);
    await expect(read({})).rejects.toThrow();
    await expect(read({ until: first })).rejects.toThrow();
    await expect(read({ until: "f".repeat(40) })).rejects.toThrow();
    expect(ran()).toEqual([]);
  });

  it.each([
    ["ssh", "ssh://localhost/x"],
    ["git", "git://localhost/x"],
    ["a local path", "/"],
  ])("[INV-13] nor by %s, with the program that the repository names for it", async (_what, url) => {
    const { first } = makeHostile(url);
    forgetRuns();
    loseObject(first);
    await expect(read({ until: first })).rejects.toThrow();
    expect(ran()).toEqual([]);
  });

  it("plain git runs what the repository names: the traps are armed", () => {
    const { first } = makeHostile();
    // Of another time than the index knows: git looks into the file, through its filter.
    utimesSync(join(repo, "a.txt"), 1_767_323_045, 1_767_323_045);
    tryGit("status");
    loseObject(first);
    tryGit("log");
    expect(ran()).toEqual(expect.arrayContaining(["core.fsmonitor", "filter.evil.process", "remote.evil.url"]));
  });
});

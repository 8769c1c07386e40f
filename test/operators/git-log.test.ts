/**
 * Git.Log against real repositories made in temporary folders, and its pure parts. Laws: a ref is never an option;
 * each way to fail has a code of its own; credentials never leave the operator.
 *
 * Never: touches the repository this file lies in, or the network.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { z } from "zod";
import { parseLog } from "../../src/packages/operators/git-log/commit.ts";
import { createGitLog, GitLogInput, type GitLogOutput, gitLog } from "../../src/packages/operators/git-log/git-log.ts";
import { toWebUrl } from "../../src/packages/operators/git-log/remote-url.ts";
import { callOperator } from "../../src/testing/call-operator.ts";
import { operatorContract } from "../../src/testing/operator-contract.ts";
import { commit, git, makeTempFolder, type TempFolder } from "./temp-folder.ts";

let folder: TempFolder;
beforeEach(() => {
  folder = makeTempFolder();
});
afterEach(() => folder[Symbol.dispose]());

async function readLog(input: Partial<z.input<typeof GitLogInput>> = {}): Promise<z.output<typeof GitLogOutput>> {
  const { output } = await callOperator({ operator: gitLog, input: { repo: folder.path, ...input } });
  return output as z.output<typeof GitLogOutput>;
}

const withCode = (code: string) => expect.objectContaining({ executorError: expect.objectContaining({ code }) });
const subjects = (log: z.output<typeof GitLogOutput>) => log.commits.map((entry) => entry.subject);

describe("Git.Log on a real repository", () => {
  beforeEach(() => git(folder.path, "init", "--quiet"));

  it("without a tag the history is taken from its root", async () => {
    commit(folder.path, "first");
    commit(folder.path, "second");
    const log = await readLog();
    expect(subjects(log)).toEqual(["second", "first"]);
    expect(log).toMatchObject({ since: null, since_hash: null, until: "HEAD", remote_url: null, truncated: false });
  });

  it("without `since` the latest tag that can be reached is the beginning", async () => {
    commit(folder.path, "first");
    git(folder.path, "tag", "v1.0.0");
    commit(folder.path, "second");
    expect(await readLog()).toMatchObject({ since: "v1.0.0", commits: [{ subject: "second" }] });
  });

  it("when the newest commit carries the tag, the tag before it is the beginning", async () => {
    commit(folder.path, "first");
    git(folder.path, "tag", "v1.0.0");
    commit(folder.path, "second");
    git(folder.path, "tag", "-m", "annotated", "v1.1.0");
    expect(await readLog()).toMatchObject({ since: "v1.0.0", commits: [{ subject: "second" }] });
    expect(await readLog({ until: "v1.0.0" })).toMatchObject({ since: null, commits: [{ subject: "first" }] });
  });

  it("yields hash, author, date, parents, body and the number of files", async () => {
    const first = commit(folder.path, "first");
    writeFileSync(join(folder.path, "ü\n.txt"), "x");
    writeFileSync(join(folder.path, "b.txt"), "x");
    git(folder.path, "add", ".");
    const second = commit(folder.path, "feat: 🎉 <b>two</b>", "a body\nof two lines", "BREAKING CHANGE: all of it");
    expect((await readLog({ files: true })).commits).toEqual([
      {
        hash: second,
        short: second.slice(0, 7),
        author: "Ada",
        date: expect.stringMatching(/^2026-01-02T03:04:05(Z|\+00:00)$/),
        subject: "feat: 🎉 <b>two</b>",
        body: "a body\nof two lines\n\nBREAKING CHANGE: all of it",
        parents: [first],
        files_changed: 2,
      },
      expect.objectContaining({ subject: "first", parents: [], files_changed: 0 }),
    ]);
  });

  it("names for each commit the folder of most of its files, two deep; of tests if there is no other", async () => {
    const write = (subject: string, ...paths: readonly string[]) => {
      for (const path of paths) {
        mkdirSync(dirname(join(folder.path, path)), { recursive: true });
        writeFileSync(join(folder.path, path), subject);
      }
      git(folder.path, "add", ".");
      commit(folder.path, subject);
    };
    write("src/a", "src/a/1.ts", "src/a/deep/er/2.ts", "src/b/3.ts", "test/a/1.ts", "test/a/2.ts", "test/a/3.ts");
    write("test/a", "test/a/4.ts", "README.md");
    write("the top", "README.md", "package.json");
    write("only strange names", "x/\n.txt");
    const { commits } = await readLog({ folders: true });
    expect(commits.map(({ folder: found }) => found)).toEqual(["", "", "test/a", "src/a"]);
    expect(commits[0]).not.toHaveProperty("files_changed");
  });

  it("lists a range by branch, tag or hash, and cuts it to the newest", async () => {
    const first = commit(folder.path, "1");
    for (const n of ["2", "3", "4"]) commit(folder.path, n);
    expect(subjects(await readLog({ since: first, until: "HEAD~1" }))).toEqual(["3", "2"]);
    const cut = await readLog({ max_commits: 2 });
    expect(subjects(cut)).toEqual(["4", "3"]);
    expect(cut.truncated).toBe(true);
    expect((await readLog({ max_commits: 4 })).truncated).toBe(false);
  });

  it("of a repository with several packages, only the tags and the files of one count", async () => {
    commit(folder.path, "first");
    git(folder.path, "tag", "core@1.0.0");
    writeFileSync(join(folder.path, "a.txt"), "x");
    git(folder.path, "add", ".");
    commit(folder.path, "second");
    git(folder.path, "tag", "other@9.0.0");
    commit(folder.path, "third");
    git(folder.path, "tag", "core@1.1.0");
    const log = await readLog({ tag_prefix: "core@" });
    expect(log).toMatchObject({
      since: "core@1.0.0",
      tag: { name: "core@1.1.0", date: expect.stringMatching(/^2026/) },
    });
    expect(subjects(log)).toEqual(["third", "second"]);
    expect(subjects(await readLog({ tag_prefix: "core@", paths: ["a.txt"] }))).toEqual(["second"]);
    expect(subjects(await readLog({ tag_prefix: "core@", paths: ["*.txt"] }))).toEqual([]);
    expect((await readLog({ tag_prefix: "none@" })).since).toBeNull();
    for (const bad of [{ tag_prefix: "--all" }, { tag_prefix: "a*" }, { paths: ["../x"] }, { paths: ["/etc"] }])
      expect(GitLogInput.safeParse({ repo: folder.path, ...bad }).success).toBe(false);
  });

  it("says who wrote it, who is new, and no address", async () => {
    const by = (name: string, address: string, ...message: readonly string[]) =>
      git(folder.path, "-c", `user.name=${name}`, "-c", `user.email=${address}`, "commit", "--allow-empty", ...message);
    by("Ada", "ada@example.org", "-m", "first");
    git(folder.path, "tag", "v1");
    by("Ada L", "ada@example.org", "-m", "second");
    by("Bo", "12+bo-1@users.noreply.github.com", "-m", "third", "-m", "Co-authored-by: Cy <cy@example.org>");
    by("dependabot[bot]", "49+dependabot[bot]@users.noreply.github.com", "-m", "fourth");
    by("Bo", "bo@example.org", "-m", "fifth");
    const { contributors } = await readLog({ contributors: true });
    expect(contributors).toEqual([
      { name: "Bo", login: "bo-1", bot: false, commits: 2, first: true },
      { name: "Ada L", login: null, bot: false, commits: 1, first: false },
      { name: "Cy", login: null, bot: false, commits: 1, first: true },
      { name: "dependabot[bot]", login: "dependabot[bot]", bot: true, commits: 1, first: true },
    ]);
    expect((await readLog({ contributors: true, until: "v1" })).contributors).toMatchObject([
      { name: "Ada", first: null },
    ]);
    expect((await readLog()).contributors).toEqual([]);
  });

  it("a shallow clone says so, and calls nobody new", async () => {
    for (const n of ["1", "2", "3"]) commit(folder.path, n);
    const clone = join(folder.path, "clone");
    git(folder.path, "clone", "--quiet", "--depth=2", `file://${folder.path}`, clone);
    const log = await readLog({ repo: clone, contributors: true, since: "HEAD~1" });
    expect(log).toMatchObject({ shallow: true, total: 1, contributors: [{ first: null }] });
    expect((await readLog()).shallow).toBe(false);
  });

  it("of bodies keeps what is asked for", async () => {
    const body = ["opening\nsecond line", "prose\nBREAKING CHANGE: all\n of it", "Signed-off-by: Ada"];
    commit(folder.path, "first", ...body);
    const { commits } = await readLog({ body_parts: ["BREAKING CHANGE:"] });
    expect(commits[0]?.body).toBe("opening\n\nBREAKING CHANGE: all\n of it");
  });

  it("tells how much of a long history is read", async () => {
    const commits = Array.from(
      { length: 3000 },
      (_, i) => `commit refs/heads/long\ncommitter A <a@b> ${i} +0000\ndata 2\nx\n\n`,
    );
    execFileSync("git", ["-C", folder.path, "fast-import", "--quiet"], { input: commits.join("") });
    const input = { repo: folder.path, until: "long", max_commits: 2000 };
    const { output, reports } = await callOperator({ operator: gitLog, input });
    expect(output).toMatchObject({ total: 3000, truncated: true });
    expect(reports.length).toBeGreaterThan(1);
    expect(reports).toEqual(reports.toSorted((a, b) => a - b));
  });

  it("names the remote's web address without its credentials", async () => {
    commit(folder.path, "first");
    git(folder.path, "remote", "add", "a", "https://example.org/a/a.git");
    git(folder.path, "remote", "add", "origin", "https://ada:secret@example.com/ada/engine.git");
    expect((await readLog()).remote_url).toBe("https://example.com/ada/engine");
  });

  it("an empty repository, an unknown ref and a bad ref are errors of their own", async () => {
    await expect(readLog()).rejects.toEqual(withCode("GIT_EMPTY_REPOSITORY"));
    commit(folder.path, "first");
    await expect(readLog({ since: "v9" })).rejects.toEqual(withCode("GIT_UNKNOWN_REF"));
    for (const since of ["--output=/tmp/x", "-n1", "a..b", "^HEAD", "a b", "a\0b", "HEAD:file", ""]) {
      expect(GitLogInput.safeParse({ repo: folder.path, since }).success).toBe(false);
    }
  });

  it("reads the repository it was given, not the one of a surrounding hook", async () => {
    commit(folder.path, "first");
    process.env["GIT_DIR"] = join(folder.path, "elsewhere");
    try {
      expect(subjects(await readLog())).toEqual(["first"]);
    } finally {
      delete process.env["GIT_DIR"];
    }
  });

  it("output beyond the bound is refused, not cut in the middle of a commit", async () => {
    commit(folder.path, "first", "x".repeat(5000));
    const operator = createGitLog({ maxOutputBytes: 1000 });
    await expect(callOperator({ operator, input: { repo: folder.path } })).rejects.toEqual(
      withCode("GIT_OUTPUT_TOO_LARGE"),
    );
  });

  operatorContract({
    it,
    expect,
    operator: gitLog,
    input: () => {
      commit(folder.path, "first");
      return { repo: folder.path, files: true };
    },
  });
});

describe("Git.Log without a repository", () => {
  it("a plain folder and a missing one are not repositories", async () => {
    mkdirSync(join(folder.path, "plain"));
    for (const name of ["plain", "missing"]) {
      await expect(readLog({ repo: join(folder.path, name) })).rejects.toEqual(withCode("GIT_NOT_A_REPOSITORY"));
    }
  });

  it("a machine without git is told so, and a retry is not promised to help", async () => {
    const operator = createGitLog({ git: join(folder.path, "no-such-git") });
    const failure = callOperator({ operator, input: { repo: folder.path } });
    await expect(failure).rejects.toEqual(withCode("GIT_NOT_FOUND"));
    await expect(failure).rejects.toMatchObject({ executorError: { retryable: false } });
  });

  it("an abort ends the running program and throws the signal's reason", async () => {
    const slow = join(folder.path, "slow");
    writeFileSync(slow, "#!/bin/sh\nexec sleep 60\n");
    chmodSync(slow, 0o755);
    const abort = new AbortController();
    const call = callOperator({
      operator: createGitLog({ git: slow }),
      input: { repo: folder.path },
      signal: abort.signal,
    });
    abort.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
  });
});

describe("the log's parts", () => {
  it("a long body keeps its beginning and its end", () => {
    const body = `start${"x".repeat(9000)}\nBREAKING CHANGE: end`;
    const [parsed] = parseLog(`${["a".repeat(40), "a".repeat(7), "A", "d", "", "s", body].join("\0")}\0`);
    expect(parsed?.body).toMatch(/^start.*BREAKING CHANGE: end$/s);
    expect(parsed?.body.length).toBeLessThan(2100);
  });

  it.each([
    ["https://github.com/a/b.git", "https://github.com/a/b"],
    ["https://user:pw@github.com/a/b", "https://github.com/a/b"],
    ["git@github.com:a/b.git", "https://github.com/a/b"],
    ["ssh://git@host.org:2222/a/b.git", "https://host.org/a/b"],
    ["http://localhost:3000/a/b/", "http://localhost:3000/a/b"],
    ["git://host.org/a/b", "https://host.org/a/b"],
    ["/srv/git/a.git", null],
    ["file:///srv/git/a.git", null],
    ["../a", null],
    ["C:\\git\\a", null],
    ["C:/git/a", null],
    ["javascript:alert(1)", null],
    ["https://host/a)](x", null],
    ["", null],
  ])("the web address of %s is %s", (remote, url) => {
    expect(toWebUrl(remote)).toBe(url);
  });
});

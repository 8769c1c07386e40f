/**
 * The file operators and links: a path is judged by where it really leads, when it is shown, approved, read and
 * written.
 *
 * Never: writes outside the temporary folder.
 */
import { hash } from "node:crypto";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Basis } from "../../src/contract/basis.ts";
import type { GatePreview, Operator } from "../../src/contract/operator.ts";
import { fileDigest } from "../../src/packages/operators/files/file-digest.ts";
import { fileList } from "../../src/packages/operators/files/file-list.ts";
import { fileRead } from "../../src/packages/operators/files/file-read.ts";
import { fileWrite } from "../../src/packages/operators/files/file-write.ts";
import { entryOf, openFile, openParent } from "../../src/packages/operators/files/open-inside.ts";
import { isGitName, locate, locateEntry } from "../../src/packages/operators/files/safe-path.ts";
import { callOperator, trialContext } from "../../src/testing/call-operator.ts";
import { git, makeTempFolder, type TempFolder } from "./temp-folder.ts";

let temp: TempFolder;
let folder: string;
beforeEach(() => {
  temp = makeTempFolder();
  folder = join(temp.path, "work");
  mkdirSync(folder);
});
afterEach(() => temp[Symbol.dispose]());

const withCode = (code: string) => expect.objectContaining({ executorError: expect.objectContaining({ code }) });
const put = (path: string, content: string): void => {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), content);
};
const read = (path: string): string => readFileSync(join(folder, path), "utf8");
const call = async (operator: Operator, input: object, basis: Basis = []) =>
  (await callOperator({ operator, input: { folder, ...input }, context: { ...trialContext, basis } })).output;

type Ask<T> = (question: object) => Promise<T>;
const question = (input: object) => ({
  input: { folder, ...input },
  context: trialContext,
  signal: new AbortController().signal,
});
const preview = (input: object) => (fileWrite.preview as unknown as Ask<GatePreview>)(question(input));
const check = (input: object) => (fileWrite.check as unknown as Ask<void>)(question(input));

/** Refused before anybody is asked, at the preview, and by each call. */
async function expectRefused(path: string, base = folder): Promise<void> {
  const input = { folder: base, path, content: "x" };
  const refused = withCode("FILE_OUTSIDE_FOLDER");
  await expect(check(input)).rejects.toEqual(refused);
  await expect(preview(input)).rejects.toEqual(refused);
  await expect(call(fileWrite, input)).rejects.toEqual(refused);
  await expect(call(fileRead, { folder: base, path })).rejects.toEqual(refused);
  const digested = await call(fileDigest, { folder: base, files: [{ path }] });
  expect(digested).toMatchObject({ files: [{ sha256: null, problem: "FILE_OUTSIDE_FOLDER" }] });
}

describe("a folder of git", () => {
  it("is not entered through a link that is committed", async () => {
    git(folder, "init");
    const config = read(".git/config");
    symlinkSync(".git", join(folder, "docs"));
    mkdirSync(join(folder, "a"));
    symlinkSync("../docs/hooks", join(folder, "a/b"));
    for (const path of ["docs/config", "docs/new/file", "a/b/pre-commit"]) await expectRefused(path);
    expect([read(".git/config"), existsSync(join(folder, ".git/hooks/pre-commit"))]).toEqual([config, false]);
  });

  it("is not entered through a link to a file of it", async () => {
    git(folder, "init");
    symlinkSync(".git/config", join(folder, "config.md"));
    await expect(call(fileRead, { path: "config.md" })).rejects.toEqual(withCode("FILE_OUTSIDE_FOLDER"));
    await expect(call(fileWrite, { path: "config.md", content: "x" })).rejects.toEqual(withCode("FILE_NOT_A_FILE"));
  });

  it.each(["..", "repo.git", "repo.git/hooks"])("that is bare is not entered, from %s", async (from) => {
    mkdirSync(join(folder, "repo.git"));
    git(join(folder, "repo.git"), "init", "--bare");
    const base = join(folder, from);
    await expectRefused(
      { "..": "work/repo.git/hooks/pre-commit", "repo.git": "hooks/pre-commit" }[from] ?? "pre-commit",
      base,
    );
    expect(existsSync(join(folder, "repo.git/hooks/pre-commit"))).toBe(false);
  });

  it("is not entered as the base folder", async () => {
    git(folder, "init");
    await expectRefused("config", join(folder, ".git"));
    await expectRefused("pre-commit", join(folder, ".git/hooks"));
  });

  it("is not entered where a worktree keeps it elsewhere", async () => {
    git(folder, "init", "--separate-git-dir", join(temp.path, "apart"));
    git(folder, "commit", "--allow-empty", "-m", "first");
    git(folder, "worktree", "add", join(temp.path, "tree"));
    await expectRefused("apart/config", temp.path);
    await expectRefused("apart/worktrees/tree/HEAD", temp.path);
    await expectRefused("tree/.git", temp.path);
  });

  it.each([
    ["HEAD", ["objects/a", "refs/a"]],
    ["objects/b", ["HEAD", "refs/a"]],
    ["refs/b", ["HEAD", "objects/a"]],
    ["HEAD", ["commondir"]],
  ])("is not made of another by writing %s beside %j", async (path, before) => {
    for (const one of before) put(`sub/${one}`, "x");
    await expect(call(fileWrite, { path: `sub/${path}`, content: "x" })).rejects.toEqual(
      withCode("FILE_OUTSIDE_FOLDER"),
    );
  });

  it("is left out of a listing, whatever it is called", async () => {
    put("a.md", "x");
    mkdirSync(join(folder, "repo.git"));
    git(join(folder, "repo.git"), "init", "--bare");
    mkdirSync(join(folder, ".Git"));
    put(".Git/config", "x");
    expect(await call(fileList, {})).toMatchObject({ files: [{ path: "a.md" }], skipped: 1 });
  });

  it("has a name in any spelling that a file system may take for it", () => {
    for (const name of [".git", ".GIT", ".git.", ".git ", "git~1", ".git::$INDEX_ALLOCATION", ".g\u200cit"])
      expect(isGitName(name)).toBe(true);
    for (const name of [".github", ".gitignore", ".gitattributes", "git", "a.git", "git~"])
      expect(isGitName(name)).toBe(false);
  });

  it("does not forbid a file called HEAD, or a folder called objects, by itself", async () => {
    await call(fileWrite, { path: "a/HEAD", content: "x" });
    await call(fileWrite, { path: "a/objects/b", content: "x" });
    expect([read("a/HEAD"), read("a/objects/b")]).toEqual(["x", "x"]);
  });
});

describe("a link that stays inside the folder", () => {
  beforeEach(() => {
    put("real/a.md", "old");
    symlinkSync("real", join(folder, "way"));
  });

  it("is followed, and the preview names the real file", async () => {
    const shown = await preview({ path: "way/a.md", content: "new" });
    expect(shown.basis).toEqual([{ name: "real/a.md", digest: hash("sha256", "old") }]);
    expect(shown.diff).toContain("real/a.md");
    expect(await call(fileRead, { path: "way/a.md" })).toMatchObject({ path: "way/a.md", content: "old" });
    await call(fileWrite, { path: "way/a.md", content: "new" }, shown.basis);
    expect(read("real/a.md")).toBe("new");
  });

  it("[GAT-05] and leads elsewhere after an approval is not written through, even without a file there", async () => {
    for (const path of ["way/a.md", "way/new.md"]) {
      const { basis } = await preview({ path, content: "x" });
      put("other/a.md", "old");
      unlinkSync(join(folder, "way"));
      symlinkSync("other", join(folder, "way"));
      await expect(call(fileWrite, { path, content: "x" }, basis)).rejects.toEqual(withCode("FILE_CHANGED"));
      expect([read("other/a.md"), read("real/a.md"), readdirSync(join(folder, "other"))]).toEqual([
        "old",
        "old",
        ["a.md"],
      ]);
      unlinkSync(join(folder, "way"));
      symlinkSync("real", join(folder, "way"));
    }
  });
});

describe("a place that is exchanged between its judgement and its opening", () => {
  const exchange = (path: string): void => {
    renameSync(join(folder, path), join(temp.path, "aside"));
    symlinkSync(join(folder, ".git"), join(folder, path));
  };
  beforeEach(() => {
    git(folder, "init");
    put("docs/config", "harmless");
  });

  it("is not opened where a folder on the way has become a link", async () => {
    const place = await locate(folder, "docs/config");
    exchange("docs");
    await expect(openFile(place)).rejects.toMatchObject({ code: "ENOTDIR" });
    await expect(openParent(place, { make: true })).rejects.toMatchObject({ code: "ENOTDIR" });
  });

  it("is not opened where the file has become a link", async () => {
    const place = await locate(folder, "docs/config");
    unlinkSync(join(folder, "docs/config"));
    symlinkSync("../.git/config", join(folder, "docs/config"));
    await expect(openFile(place)).rejects.toMatchObject({ code: "ELOOP" });
  });

  it("makes no folder behind a link that leads nowhere yet", async () => {
    symlinkSync(join(temp.path, "nowhere"), join(folder, "dangling"));
    await expect(call(fileWrite, { path: "dangling/a.md", content: "x" })).rejects.toEqual(
      withCode("FILE_NOT_A_FOLDER"),
    );
    expect(existsSync(join(temp.path, "nowhere"))).toBe(false);
  });

  it.runIf(process.platform === "linux")("is used as it was opened, wherever its path leads by then", async () => {
    const place = await locateEntry(folder, "docs/new");
    await using parent = await openParent(place);
    exchange("docs");
    writeFileSync(entryOf(parent, place), "x");
    expect([existsSync(join(folder, ".git/new")), readFileSync(join(temp.path, "aside/new"), "utf8")]).toEqual([
      false,
      "x",
    ]);
  });
});

it("a hard link is replaced, and the file that it shared its content with stays as it was", async () => {
  git(folder, "init");
  const config = read(".git/config");
  linkSync(join(folder, ".git/config"), join(folder, "copy"));
  await call(fileWrite, { path: "copy", content: "x" });
  expect([read(".git/config"), read("copy")]).toEqual([config, "x"]);
});

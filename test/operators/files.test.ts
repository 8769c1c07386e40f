/**
 * The file operators on a real disk, each test in a temporary folder of its own. Laws: a write is whole or absent,
 * happens once, and stays inside its folder; a listing is the same every time.
 *
 * Never: writes outside the temporary folder.
 */
import { hash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { z } from "zod";
import type { GatePreview, Operator } from "../../src/contract/operator.ts";
import { type FileDigestOutput, fileDigest } from "../../src/packages/operators/files/file-digest.ts";
import { type FileListOutput, fileList } from "../../src/packages/operators/files/file-list.ts";
import { fileRead } from "../../src/packages/operators/files/file-read.ts";
import { createFileWrite, fileWrite } from "../../src/packages/operators/files/file-write.ts";
import { callOperator, trialContext } from "../../src/testing/call-operator.ts";
import { operatorContract } from "../../src/testing/operator-contract.ts";
import { makeTempFolder, type TempFolder } from "./temp-folder.ts";

let temp: TempFolder;
let folder: string;
beforeEach(() => {
  temp = makeTempFolder();
  folder = temp.path;
});
afterEach(() => temp[Symbol.dispose]());

const withCode = (code: string) => expect.objectContaining({ executorError: expect.objectContaining({ code }) });
const put = (path: string, content: string | Buffer): void => {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), content);
};
const call = async (operator: Operator, input: object, idempotencyKey = "key") =>
  (await callOperator({ operator, input: { folder, ...input }, idempotencyKey })).output;

async function preview(input: object): Promise<GatePreview> {
  const ask = fileWrite.preview as unknown as (question: object) => Promise<GatePreview>;
  return ask({ input: { folder, ...input }, context: trialContext, signal: new AbortController().signal });
}

describe("File.Write", () => {
  it("makes the file stand, folders included, and leaves nothing else behind", async () => {
    const output = await call(fileWrite, { path: "a/b/c.md", content: "héllo\n" });
    expect(output).toEqual({
      path: "a/b/c.md",
      bytes: 7,
      sha256: hash("sha256", "héllo\n"),
      written: true,
      unchanged: false,
    });
    expect(readFileSync(join(folder, "a/b/c.md"), "utf8")).toBe("héllo\n");
    expect(readdirSync(join(folder, "a/b"))).toEqual(["c.md"]);
  });

  it("the same content already there is not written again", async () => {
    put("a.md", "same");
    const { mtimeNs, ino } = statSync(join(folder, "a.md"), { bigint: true });
    expect(await call(fileWrite, { path: "a.md", content: "same" })).toMatchObject({ written: false, unchanged: true });
    expect(statSync(join(folder, "a.md"), { bigint: true })).toMatchObject({ mtimeNs, ino });
  });

  it("a key called again gets its first answer, another key says that nothing changed", async () => {
    const operator = createFileWrite();
    const first = await call(operator, { path: "a.md", content: "x" }, "one");
    expect(await call(operator, { path: "a.md", content: "x" }, "one")).toEqual(first);
    expect(await call(operator, { path: "a.md", content: "x" }, "two")).toMatchObject({ written: false });
    expect(await call(operator, { path: "a.md", content: "y" }, "one")).toMatchObject({ written: true });
  });

  it("replaces a file in one step and keeps its permissions", async () => {
    put("run.sh", "old");
    chmodSync(join(folder, "run.sh"), 0o750);
    const before = statSync(join(folder, "run.sh")).ino;
    await call(fileWrite, { path: "run.sh", content: "new" });
    expect(statSync(join(folder, "run.sh")).mode & 0o777).toBe(0o750);
    expect(statSync(join(folder, "run.sh")).ino).not.toBe(before);
  });

  it("what a crashed attempt left behind does not stop the next", async () => {
    const left = `.countersign-${hash("sha256", "key\0a.md").slice(0, 16)}.tmp`;
    put(left, "half");
    await call(fileWrite, { path: "a.md", content: "whole" });
    expect(readdirSync(folder)).toEqual(["a.md"]);
  });

  it.each(["../out.md", "a/../../out.md", "/etc/out.md", ".git/hooks/pre-commit", "a/.GIT/config", ".."])(
    "refuses %s",
    async (path) => {
      await expect(call(fileWrite, { path, content: "x" })).rejects.toEqual(withCode("FILE_OUTSIDE_FOLDER"));
      await expect(preview({ path, content: "x" })).rejects.toEqual(withCode("FILE_OUTSIDE_FOLDER"));
    },
  );

  it("refuses to leave the folder through a link, and to replace a link or a folder", async () => {
    using elsewhere = makeTempFolder();
    symlinkSync(elsewhere.path, join(folder, "way-out"));
    symlinkSync("a.md", join(folder, "link.md"));
    mkdirSync(join(folder, "sub"));
    put("a.md", "x");
    await expect(call(fileWrite, { path: "way-out/x.md", content: "x" })).rejects.toEqual(
      withCode("FILE_OUTSIDE_FOLDER"),
    );
    for (const path of ["link.md", "sub"]) {
      await expect(call(fileWrite, { path, content: "x" })).rejects.toEqual(withCode("FILE_NOT_A_FILE"));
    }
    expect(readdirSync(elsewhere.path)).toEqual([]);
  });

  it("a missing base folder is an error, not made", async () => {
    const input = { folder: join(folder, "missing"), path: "a.md", content: "x" };
    await expect(callOperator({ operator: fileWrite, input })).rejects.toEqual(withCode("FILE_NOT_FOUND"));
    expect(existsSync(input.folder)).toBe(false);
  });

  it("an aborted call writes nothing", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    const input = { folder, path: "a.md", content: "x" };
    await expect(callOperator({ operator: fileWrite, input, signal })).rejects.toThrow("enough");
    expect(readdirSync(folder)).toEqual([]);
  });

  it("an abort while it works leaves the old file or the new one, and no temporary file", async () => {
    put("a.md", "old");
    const abort = new AbortController();
    const input = { folder, path: "a.md", content: "new" };
    const running = callOperator({ operator: fileWrite, input, signal: abort.signal }).catch(() => null);
    setImmediate(() => abort.abort());
    await running;
    expect(["old", "new"]).toContain(readFileSync(join(folder, "a.md"), "utf8"));
    expect(readdirSync(folder)).toEqual(["a.md"]);
  });

  it("the preview shows the content and what would change, and writes nothing", async () => {
    put("a.md", "one\ntwo\n");
    expect(await preview({ path: "a.md", content: "one\n2\n" })).toEqual({
      preview: "one\n2\n",
      diff: "--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
      basis: [{ name: "a.md", digest: hash("sha256", "one\ntwo\n") }],
    });
    expect(await preview({ path: "new.md", content: "x" })).toEqual({
      preview: "x",
      diff: "--- /dev/null\n+++ b/new.md\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n",
      basis: [{ name: "new.md", digest: "absent" }],
    });
    expect(readdirSync(folder)).toEqual(["a.md"]);
  });

  it("the preview shows no difference to a file that is no text, and rests on its bytes all the same", async () => {
    const bytes = Buffer.from([0x66, 0xfc, 0x72]);
    writeFileSync(join(folder, "a.bin"), bytes);
    expect(await preview({ path: "a.bin", content: "x" })).toEqual({
      preview: "x",
      diff: null,
      basis: [{ name: "a.bin", digest: hash("sha256", bytes) }],
    });
  });

  operatorContract({ it, expect, operator: fileWrite, input: () => ({ folder, path: "c.md", content: "x" }) });
});

describe("File.List", () => {
  const list = async (input: object = {}) => (await call(fileList, input)) as z.output<typeof FileListOutput>;
  const paths = async (input: object = {}) => (await list(input)).files.map((file) => file.path);
  beforeEach(() => {
    for (const path of ["b.ts", "a/z.ts", "a/B.md", "a.ts", ".git/config", "x/node_modules/m.js", "ä.ts"])
      put(path, path);
    symlinkSync("b.ts", join(folder, "link.ts"));
  });

  it("lists in code unit order, without .git, node_modules and links", async () => {
    expect(await paths()).toEqual(["a.ts", "a/B.md", "a/z.ts", "b.ts", "ä.ts"]);
    expect((await list()).files[0]).toEqual({ path: "a.ts", bytes: 4 });
    expect(await list()).toMatchObject({ truncated: false, skipped: 1 });
  });

  it("filters by extension and leaves out what is excluded", async () => {
    expect(await paths({ extensions: [".md"] })).toEqual(["a/B.md"]);
    expect(await paths({ exclude: ["./b.ts", "a"] })).toEqual(["a.ts", "ä.ts"]);
  });

  it("stops at its bounds and says so", async () => {
    expect(await list({ max_files: 2 })).toMatchObject({ files: { length: 2 }, truncated: true });
    expect((await list({ max_files: 5 })).truncated).toBe(false);
    expect(await list({ max_depth: 1 })).toMatchObject({ files: { length: 3 }, truncated: true });
  });

  it("a missing folder is an error", async () => {
    const failure = callOperator({ operator: fileList, input: { folder: join(folder, "missing") } });
    await expect(failure).rejects.toEqual(withCode("FILE_NOT_FOUND"));
  });

  operatorContract({ it, expect, operator: fileList, input: () => ({ folder }) });
});

describe("File.Digest and File.Read", () => {
  const text = "one two\n  three\nlast";
  beforeEach(() => {
    put("text.md", text);
    put("empty", "");
    put("binary", Buffer.from([1, 0, 2, 10]));
    put("latin", Buffer.from([0xe9, 0x74, 0xe9]));
  });
  const digest = async (input: object) => ((await call(fileDigest, input)) as z.output<typeof FileDigestOutput>).files;

  it("digests, counts lines and words, and names what it could not measure", async () => {
    const files = ["text.md", "empty", "binary", "missing", "../x"].map((path) => ({ path, bytes: 1 }));
    const none = { bytes: null, sha256: null, lines: null, words: null };
    expect(await digest({ files })).toEqual([
      { path: "text.md", bytes: 20, sha256: hash("sha256", text), lines: 3, words: 4, problem: null },
      { path: "empty", bytes: 0, sha256: hash("sha256", ""), lines: 0, words: 0, problem: null },
      { path: "binary", bytes: 4, sha256: expect.any(String), lines: null, words: null, problem: null },
      { path: "missing", ...none, problem: "FILE_NOT_FOUND" },
      { path: "../x", ...none, problem: "FILE_OUTSIDE_FOLDER" },
    ]);
    expect(await digest({ files: [{ path: "text.md" }], max_bytes: 5 })).toMatchObject([{ problem: "FILE_TOO_LARGE" }]);
  });

  it("the parts of a list are disjoint and make the whole", async () => {
    const files = ["text.md", "empty", "binary", "latin"].map((path) => ({ path }));
    const parts = await Promise.all([0, 1, 2].map((index) => digest({ files, part: { index, of: 3 } })));
    expect(parts.map((part) => part.length)).toEqual([2, 1, 1]);
    expect(new Set(parts.flat().map((file) => file.path)).size).toBe(4);
  });

  it("an aborted digest ends with the signal's reason", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    const input = { folder, files: [{ path: "text.md" }] };
    await expect(callOperator({ operator: fileDigest, input, signal })).rejects.toThrow("enough");
  });

  it("reads a text with its measures", async () => {
    const measures = { bytes: 20, sha256: hash("sha256", text), lines: 3, words: 4 };
    expect(await call(fileRead, { path: "./text.md" })).toEqual({ path: "text.md", content: text, ...measures });
  });

  it.each([
    ["missing", "FILE_NOT_FOUND"],
    ["binary", "FILE_NOT_TEXT"],
    ["latin", "FILE_NOT_TEXT"],
    [".", "FILE_NOT_A_FILE"],
    ["../x", "FILE_OUTSIDE_FOLDER"],
    ["text.md/x", "FILE_NOT_A_FOLDER"],
  ])("reading %s fails with %s, for good", async (path, code) => {
    const failure = call(fileRead, { path });
    await expect(failure).rejects.toEqual(withCode(code));
    await expect(failure).rejects.toMatchObject({ executorError: { retryable: false } });
  });

  it("a file beyond the bound is refused", async () => {
    await expect(call(fileRead, { path: "text.md", max_bytes: 19 })).rejects.toEqual(withCode("FILE_TOO_LARGE"));
  });

  operatorContract({ it, expect, operator: fileRead, input: () => ({ folder, path: "text.md" }) });
  operatorContract({
    it,
    expect,
    operator: fileDigest,
    input: () => ({ folder, files: [{ path: "text.md" }, { path: "missing" }] }),
  });
});

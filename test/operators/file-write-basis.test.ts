/**
 * File.Write and the file that its diff was made against: an approved text is written over that one and no other.
 *
 * Never: writes outside the temporary folder.
 */
import { hash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Basis } from "../../src/contract/basis.ts";
import type { GatePreview } from "../../src/contract/operator.ts";
import { fileWrite } from "../../src/packages/operators/files/file-write.ts";
import { callOperator, trialContext } from "../../src/testing/call-operator.ts";
import { makeTempFolder, type TempFolder } from "./temp-folder.ts";

let temp: TempFolder;
let folder: string;
beforeEach(() => {
  temp = makeTempFolder();
  folder = temp.path;
});
afterEach(() => temp[Symbol.dispose]());

const withCode = (code: string) => expect.objectContaining({ executorError: expect.objectContaining({ code }) });
const put = (path: string, content: string): void => writeFileSync(join(folder, path), content);
const read = (path: string): string => readFileSync(join(folder, path), "utf8");

type Ask<T> = (question: object) => Promise<T>;
const signal = new AbortController().signal;
const question = (input: object) => ({ input: { folder, ...input }, context: trialContext, signal });
const basisFor = async (input: object): Promise<Basis> =>
  (await (fileWrite.preview as unknown as Ask<GatePreview>)(question(input))).basis ?? [];
const check = (input: object): Promise<void> => (fileWrite.check as unknown as Ask<void>)(question(input));

const write = (input: object, basis: Basis) =>
  callOperator({ operator: fileWrite, input: { folder, ...input }, context: { ...trialContext, basis } });

describe("File.Write on an approved basis", () => {
  const input = { path: "a.md", content: "approved" };

  it("[GAT-05] writes over the file that the diff was made against, and makes the one that was not there", async () => {
    const fresh = await basisFor(input);
    await write(input, fresh);
    expect(read("a.md")).toBe("approved");
    const next = { path: "a.md", content: "approved again" };
    await write(next, await basisFor(next));
    expect([read("a.md"), readdirSync(folder)]).toEqual(["approved again", ["a.md"]]);
  });

  it.each([
    ["changed", "before", () => put("a.md", "by somebody")],
    ["made", null, () => put("a.md", "by somebody")],
  ])(
    "[GAT-05] writes over no file that somebody %s meanwhile, and leaves nothing behind",
    async (_what, before, meanwhile) => {
      if (before !== null) put("a.md", before);
      const basis = await basisFor(input);
      meanwhile();
      await expect(write(input, basis)).rejects.toEqual(withCode("FILE_CHANGED"));
      expect([read("a.md"), readdirSync(folder)]).toEqual(["by somebody", ["a.md"]]);
    },
  );

  it("[GAT-05] makes no file anew that somebody took away meanwhile", async () => {
    put("a.md", "before");
    const basis = await basisFor(input);
    temp[Symbol.dispose]();
    mkdirSync(folder);
    await expect(write(input, basis)).rejects.toEqual(withCode("FILE_CHANGED"));
    expect(existsSync(join(folder, "a.md"))).toBe(false);
  });

  it("[OPR-02] finds its own work done when it is called again, and says so, whatever the approved basis", async () => {
    put("a.md", "before");
    const basis = await basisFor(input);
    const first = await write(input, basis);
    expect((await write(input, basis)).output).toEqual(first.output);
  });

  it("[GAT-05] names the file by its digest, byte by byte, also where it is no text", async () => {
    const bytes = Buffer.from([0xff, 0xfe, 0, 1]);
    writeFileSync(join(folder, "a.md"), bytes);
    expect(await basisFor(input)).toEqual([{ name: "a.md", digest: hash("sha256", bytes) }]);
  });

  it("[GAT-05] names a file that is too large to compare too", async () => {
    put("a.md", "x".repeat(4_000_001));
    const [basis] = await basisFor(input);
    expect(basis?.digest).toBe(hash("sha256", "x".repeat(4_000_001)));
  });
});

describe("the check of File.Write", () => {
  it.each([
    ["../out.md", "FILE_OUTSIDE_FOLDER"],
    ["/etc/passwd", "FILE_OUTSIDE_FOLDER"],
    [".git/hooks/pre-commit", "FILE_OUTSIDE_FOLDER"],
    ["link.md", "FILE_NOT_A_FILE"],
    ["sub", "FILE_NOT_A_FILE"],
  ])("[GAT-05] refuses %s before anybody is asked, and writes nothing", async (path, code) => {
    symlinkSync("a.md", join(folder, "link.md"));
    mkdirSync(join(folder, "sub"));
    await expect(check({ path, content: "x" })).rejects.toEqual(withCode(code));
    expect(readdirSync(folder).sort()).toEqual(["link.md", "sub"]);
  });

  it("[GAT-05] lets a place through that can be written", async () => {
    await expect(check({ path: "new/a.md", content: "x" })).resolves.toBeUndefined();
    expect(readdirSync(folder)).toEqual([]);
  });
});

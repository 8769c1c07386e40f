/** What the compiler knows of plans and of what callers ask: programs that must compile, and programs that must not. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { root } from "../tidy/source-files.ts";

interface Complaint {
  readonly file: string;
  readonly line: number;
  /** With the lines that explain it. */
  readonly said: string;
}

const folder = join(root, "test/define/typed");
const wrong = readFileSync(join(folder, "wrong.ts"), "utf8").split("\n");
/** Each wrong program begins under the line that says what is said of it. */
const expected = wrong.flatMap((text, i) => {
  const said = /^\s*\/\/ says: (.*)$/.exec(text)?.[1];
  return said === undefined ? [] : [{ said, line: i + 1 }];
});

let complaints: readonly Complaint[] = [];
beforeAll(() => {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const { stdout } = spawnSync(process.execPath, [tsc, "-p", folder, "--pretty", "false"], {
    cwd: folder,
    encoding: "utf8",
  });
  complaints = stdout.split(/\n(?=\S)/).flatMap((text) => {
    const [, file, line, said] = /^([^(]+)\((\d+),\d+\): error TS\d+: ([\s\S]*)$/.exec(text) ?? [];
    return file === undefined || said === undefined ? [] : [{ file, line: Number(line), said }];
  });
});

const under = (line: number): readonly Complaint[] => {
  const next = expected.find((other) => other.line > line)?.line ?? wrong.length;
  return complaints.filter((one) => one.file === "wrong.ts" && one.line > line && one.line < next);
};

describe("the compiler", () => {
  it("takes every right program", () => {
    expect(complaints.filter(({ file }) => file !== "wrong.ts")).toEqual([]);
  });

  it("knows more than twenty wrong ones", () => {
    expect(expected.length).toBeGreaterThan(20);
    expect(complaints).toHaveLength(expected.length);
  });

  it.each(expected)("refuses the program of line $line: $said", ({ said, line }) => {
    expect(under(line).map((one) => one.said)).toEqual([expect.stringContaining(said)]);
  });
});

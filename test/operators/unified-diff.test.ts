/**
 * The unified diff, judged by git: it must apply. Laws: old text + diff = new text; hunks carry three lines of
 * context; size never makes it slow.
 *
 * Never: compares with a recorded diff of another program.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { unifiedDiff } from "../../src/packages/operators/files/unified-diff.ts";
import { runs } from "../properties/property-runs.ts";
import { git, makeTempFolder } from "./temp-folder.ts";

const line = fc.constantFrom("a", "b", "c", "", "-x", "+y", "@@ -1 +1 @@");
const text = fc
  .tuple(fc.array(line, { maxLength: 40 }), fc.boolean())
  .map(([lines, closed]) => lines.join("\n") + (closed && lines.length > 0 ? "\n" : ""));

it("a diff applied to the old text gives the new one", () => {
  using folder = makeTempFolder();
  const file = join(folder.path, "f");
  git(folder.path, "init", "--quiet");
  fc.assert(
    fc.property(text, text, (before, after) => {
      const diff = unifiedDiff({ path: "f", before, after });
      if (before === after) {
        expect(diff).toBe("");
        return;
      }
      writeFileSync(file, before);
      execFileSync("git", ["-C", folder.path, "apply", "--unidiff-zero", "-"], { input: diff, stdio: "pipe" });
      expect(readFileSync(file, "utf8")).toBe(after);
    }),
    { numRuns: runs(60) },
  );
});

it("a change far from another is a hunk of its own, with three lines of context", () => {
  const lines = Array.from({ length: 30 }, (_, i) => `line ${i + 1}\n`);
  const after = lines.with(4, "changed\n").toSpliced(20, 1).join("");
  const diff = unifiedDiff({ path: "f", before: lines.join(""), after });
  expect(diff.match(/^@@.*@@$/gm)).toEqual(["@@ -2,7 +2,7 @@", "@@ -18,7 +18,6 @@"]);
});

it("texts too large to compare are shown as replaced, at once", () => {
  const big = (name: string) => Array.from({ length: 3000 }, (_, i) => `${name} ${i}\n`).join("");
  const diff = unifiedDiff({ path: "f", before: big("a"), after: big("b") });
  expect(diff.split("\n", 3)[2]).toBe("@@ -1,3000 +1,3000 @@");
});

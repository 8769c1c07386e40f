/** `npm test` fails while a requirement is shown by no passing test. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { readSource, root } from "./source-files.ts";

const ids = (parse(readSource("test/spec/requirements.yaml").text) as readonly { readonly id: string }[]).map(
  (r) => r.id,
);
const folder = mkdtempSync(join(tmpdir(), "countersign-conformance-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Told {
  readonly title: string;
  readonly status: string;
}

/** What the count says of a run with these tests. */
function count(tests: readonly Told[], ...areas: readonly string[]) {
  const report = join(folder, "report.json");
  const assertionResults = tests.map((test) => ({ ancestorTitles: [], ...test }));
  writeFileSync(report, JSON.stringify({ testResults: [{ assertionResults }] }));
  const args = [join(root, "test/spec/conformance.mjs"), "--report", report, ...areas];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return { status, stdout };
}

const passing = (id: string): Told => ({ title: `[${id}] holds`, status: "passed" });
const all = ids.map(passing);

describe("the count of requirements", () => {
  it("ends well when a passing test shows each", () => {
    expect(count(all)).toMatchObject({ status: 0 });
    expect(count(ids.filter((id) => id.startsWith("INV-")).map(passing), "INV")).toMatchObject({ status: 0 });
  });

  it.each([
    ["no test", all.slice(1)],
    ["a skipped one", [...all.slice(1), { title: `[${ids[0]}] holds`, status: "skipped" }]],
    ["one that fails beside one that passes", [...all, { title: `[${ids[0]}] holds, too`, status: "failed" }]],
  ])("fails and names the requirement that has %s", (_what, tests) => {
    const { status, stdout } = count(tests);
    expect(status).toBe(1);
    expect(stdout).toContain(`missing ${ids[0]}`);
  });

  it("fails where there is nothing to count", () => {
    expect(count(all, "NONE").status).toBe(2);
    expect(count([]).status).toBe(1);
  });

  it("is part of npm test, after the tests", () => {
    const { scripts } = JSON.parse(readSource("package.json").text) as { scripts: Record<string, string> };
    expect(scripts["test"]?.split(" && ").slice(-2)).toEqual(["npm run unit", "npm run conformance"]);
  });
});

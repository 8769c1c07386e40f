/** Policies on the command line: rule files in, past decisions out, and wrong files told with file, rule and field. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadPolicies, sortExports } from "../../src/faces/cli/load-modules.ts";
import { readTime } from "../../src/faces/cli/options.ts";
import { definePolicySet } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { readLines, runHere } from "../cli/command-line.ts";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { makePast, type Past } from "./past.ts";

const strictYaml = `
version: strict
rules:
  - name: no large sums
    stages: [action]
    when: { operators: ["Pay.*"], amounts: [{ path: sum, above: 850 }] }
    decision: DENY
    reason: too much
`;
const strict = {
  version: "strict",
  rules: [{ name: "r", stages: ["action"], decision: "DENY", reason: "no", when: { tags: { any: ["pii"] } } }],
};

let folder: TempFolder;
let db = "";
let past: Past;
const file = (name: string, text: string): string => {
  const path = join(folder.path, name);
  writeFileSync(path, text);
  return path;
};
beforeAll(async () => {
  folder = makeTempFolder();
  db = join(folder.path, "past.db");
  past = await makePast(sqliteLedger({ path: db }));
  await past.t.kernel.stop();
});
afterAll(() => folder[Symbol.dispose]());

describe("whatif", () => {
  const whatIf = (...args: readonly string[]) => runHere("whatif", "--db", db, ...args);

  it("tells what would differ, how often, and on stderr how fast; nothing is written", async () => {
    const rules = file("strict.yaml", strictYaml);
    const before = readFileSync(db);
    const ran = await whatIf("--policies", rules, "--workflow", past.of["capped"] as string);
    expect([ran.code, readFileSync(db).equals(before)]).toEqual([0, true]);
    for (const part of ["WOULD BE", past.of["capped"] as string, "too much", "REQUIRE_HUMAN_APPROVAL → DENY"])
      expect(ran.out).toContain(part);
    expect(ran.out).toContain("1 of 4 decisions in 1 workflows would differ under strict+default-1");
    expect(ran.err).toMatch(/1 workflows, 4 decisions in .* s: \d+ workflows a second/);
  });

  it("--json gives a line a finding and the report as the last", async () => {
    const rules = file("strict.json", JSON.stringify(strict));
    const ran = await whatIf("--policies", rules, "--json");
    expect(ran.code).toBe(0);
    const lines = readLines(ran.out);
    const report = lines.at(-1);
    expect(report).toMatchObject({
      kind: "report",
      policy_version: "strict+default-1",
      workflows: Object.keys(past.of).length,
    });
    expect(lines).toHaveLength(1 + (report?.["differing"] as number) + (report?.["unknown"] as number));
    const masked = lines.filter(({ workflow_id }) => workflow_id === past.of["masked"]);
    // Of the call when its gate opened, and at the vote.
    const differs = { kind: "differs", would_be: { decision: "DENY", reason: "no" } };
    expect(masked).toMatchObject([differs, differs]);
  });

  it("ends with 0 where nothing differs, and counts what --limit hides", async () => {
    const harmless = { ...strict, rules: [{ ...strict.rules[0], when: { tags: { any: ["never"] } } }] };
    const none = await whatIf(
      "--policies",
      file("none.json", JSON.stringify(harmless)),
      "--workflow",
      past.of["gated"] as string,
    );
    expect([none.code, none.out]).toEqual([0, "0 of 4 decisions in 1 workflows would differ under strict+default-1\n"]);
    const all = file("all.json", JSON.stringify({ ...strict, rules: [{ ...strict.rules[0], when: {} }] }));
    const ran = await whatIf("--policies", all, "--limit", "1");
    expect(ran.out).toMatch(/and \d+ more/);
    expect(ran.out.split("\n").filter((line) => line.startsWith("wf_"))).toHaveLength(1);
  });

  it("asks only since an instant, or for a while back", async () => {
    const rules = file("since.yaml", strictYaml);
    const report = async (since: string) =>
      readLines((await whatIf("--policies", rules, "--since", since, "--json")).out).at(-1);
    expect(await report("2026-01-01T00:00:00Z")).toMatchObject({ workflows: Object.keys(past.of).length });
    expect(await report("2099-01-01")).toMatchObject({ workflows: 0, decisions: 0 });
    const read = readTime({ now: () => Date.UTC(2026, 0, 8) });
    expect([read("7d"), read("90s"), read("2026-01-02")]).toEqual([
      "2026-01-01T00:00:00.000Z",
      "2026-01-07T23:58:30.000Z",
      "2026-01-02T00:00:00.000Z",
    ]);
    for (const wrong of ["soon", "7", "7w", "-1d", ""]) expect(() => read(wrong)).toThrow(/instant/);
  });

  it("needs a set, and a ledger", async () => {
    expect(await whatIf()).toMatchObject({ code: 2, err: expect.stringContaining("--policies") });
    const rules = file("fine.yaml", strictYaml);
    expect(await runHere("whatif", "--db", join(folder.path, "none.db"), "--policies", rules)).toMatchObject({
      code: 1,
    });
    expect(await whatIf("--policies", rules, "--since", "soon")).toMatchObject({ code: 2 });
  });
});

/** Returns an anchor of YAML that refers nine times to the anchor before it. */
const nineTimesBefore = (name: string, i: number): string => `${name}: &${name} [${Array(9).fill(`*${"abcdefg"[i]}`)}]`;

describe("--policies", () => {
  it.each([
    [
      "a field that is not known",
      "strict.yaml",
      strictYaml.replace("reason:", "resaon:"),
      ["no large sums", "resaon", "T5_POLICY_INVALID"],
    ],
    [
      "a contradiction",
      "stage.yml",
      strictYaml.replace("[action]", "[outcome]").replace("DENY", "REQUIRE_APPROVAL"),
      ["no large sums", "stages"],
    ],
    ["what is no YAML", "broken.yaml", "rules: [", ["broken.yaml"]],
    [
      "a key that is written twice",
      "twice.json",
      '{"version":"1","version":"2","rules":[]}',
      ["twice.json", "version", "unique"],
    ],
    ["a tag of its own", "tagged.yaml", strictYaml.replace("stages: ", "stages: !every "), ["tagged.yaml", "!every"]],
    [
      "another YAML, whose lists and sets are no JSON",
      "older.yaml",
      `%YAML 1.1\n---${strictYaml.replace("when: {", "when: !!set {")}`,
      ["older.yaml"],
    ],
    ["more than rules take", "large.yaml", `${strictYaml}# ${"x".repeat(2 ** 21)}`, ["large.yaml", "bytes"]],
    [
      "references that swell",
      "bomb.yaml",
      ["a: &a [x, x, x, x, x, x, x, x, x]", ...[..."bcdefgh"].map(nineTimesBefore)].join("\n"),
      ["bomb.yaml"],
    ],
  ])("with %s ends with 2 and says where, before anything is opened", async (_name, name, text, parts) => {
    const path = file(name, text);
    const ran = await runHere("list", "--db", db, "--policies", path);
    expect([ran.code, ran.out]).toEqual([2, ""]);
    for (const part of [path, ...parts]) expect(ran.err).toContain(part);
  });

  it("refuses a file or module that is not there or brings none", async () => {
    for (const name of ["none.yaml", "./none.ts", "src/faces/cli/render-text.ts"])
      expect(await runHere("list", "--db", db, "--policies", name)).toMatchObject({ code: 2, out: "" });
  });

  it("takes sets and rules out of modules, as --capabilities does", async () => {
    const set = definePolicySet(strict);
    const rule = { name: "r", stages: ["plan"], evaluate: () => null };
    expect(sortExports({ set, rules: [rule] }).policies).toEqual([set, rule]);
    const face = new URL("../../src/index.ts", import.meta.url).href;
    const module = file(
      "rules.ts",
      [
        `import { definePolicySet } from ${JSON.stringify(face)};`,
        `export const rules = definePolicySet(${JSON.stringify(strict)});\n`,
      ].join("\n"),
    );
    const [loaded] = await loadPolicies([module]);
    expect(loaded).toMatchObject({ version: "strict", rules: [{ name: "r" }] });
  });

  it("[PLC-09] the rules of a file hold for what a command runs, and their version is on record", async () => {
    const ledger = join(folder.path, "run.db");
    const rules = file("deny.yaml", strictYaml.replace(/ +when:.*\n/, "").replace("[action]", "[plan]"));
    const input = JSON.stringify({ folder: folder.path });
    const ran = await runHere(
      "run",
      "Folder.Inventory.Build",
      "--input",
      input,
      "--wait",
      "--db",
      ledger,
      "--policies",
      rules,
      "--json",
    );
    expect([ran.code, JSON.parse(ran.err)]).toMatchObject([1, { detail: "too much" }]);
    const { workflow_id } = JSON.parse(ran.out) as { readonly workflow_id: string };
    const events = readLines((await runHere("events", workflow_id, "--db", ledger, "--json")).out);
    const decided = events.filter(({ event_type }) => event_type === "POLICY_DECIDED");
    expect(decided).toMatchObject([{ payload: { decision: "DENY", policy_version: "strict+default-1" } }]);
  });
});

/** `countersign draw`: a package's plan without a ledger, a run as it stands, and what is refused. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createMachine } from "xstate";
import type { TempFolder } from "../operators/temp-folder.ts";
import { readHere, runHere } from "./command-line.ts";
import { demonstrate, makeWorkplace } from "./workplace.ts";

let folder: TempFolder;
let db = "";
let id = "";
beforeAll(async () => {
  const workplace = makeWorkplace();
  ({ folder, db } = workplace);
  ({ id } = await demonstrate(workplace));
});
afterAll(() => folder[Symbol.dispose]());

const notes = ["Repo.ReleaseNotes.Draft", "--input", '{"repo":"."}'] as const;
const at = (name: string): string => join(folder.path, name);

describe("draw", () => {
  it("prints the plan of a package as SVG, or as Mermaid, without a ledger", async () => {
    const svg = await runHere("draw", ...notes, "--db", at("none.db"));
    expect([svg.code, svg.err]).toEqual([0, ""]);
    expect(svg.out).toMatch(/^<svg xmlns[\s\S]*asks a person|effect final_write[\s\S]*<\/svg>\n$/);
    const mermaid = await runHere("draw", ...notes, "--as", "mermaid");
    expect(mermaid.out).toMatch(
      /^%% Repo\.ReleaseNotes\.Draft \d+\.\d+: \d+ steps, and policy may ask a person as well\nflowchart TD\n/,
    );
  });

  it("writes a run as it stands to the file that is named, in the format of its name", async () => {
    expect((await runHere("draw", id, "--db", db, "--out", at("run.svg"))).out).toBe(`wrote ${at("run.svg")}\n`);
    expect(readFileSync(at("run.svg"), "utf8")).toContain(`${id} completed`);
    await runHere("draw", id, "--db", db, "--out", at("run.mmd"));
    expect(readFileSync(at("run.mmd"), "utf8")).toContain(":::succeeded");
    const told = await readHere("draw", id, "--db", db);
    expect(told).toEqual({ what: id, format: "svg", drawing: readFileSync(at("run.svg"), "utf8") });
  });

  it("writes a plan and a run as statecharts that XState loads", async () => {
    const load = (text: string) => createMachine(JSON.parse(text) as object).config.states as object;
    const plan = await runHere("draw", ...notes, "--as", "xstate");
    expect([plan.code, Object.keys(load(plan.out))[0]]).toEqual([0, "workflow"]);
    await runHere("draw", id, "--db", db, "--out", at("run.json"));
    expect(Object.keys(load(readFileSync(at("run.json"), "utf8"))).length).toBeGreaterThan(1);
  });

  it.each([
    ["a package that there is not", ["Nope.Nope"], 1, "T1_NORMALIZE_UNKNOWN_INTENT"],
    ["a version that there is not", ["Repo.ReleaseNotes.Draft@9.9"], 1, "T1_NORMALIZE_UNKNOWN_INTENT"],
    ["a plan whose input is missing", ["Repo.ReleaseNotes.Draft"], 1, "T1_NORMALIZE_INPUTS_INVALID"],
    ["an id that is none", ["wf_x"], 1, "T4_WORKFLOW_NOT_FOUND"],
    ["a workflow that there is not", ["wf_01KDVDNA0047C4FEZDQK8YZZZZ"], 1, "T4_WORKFLOW_NOT_FOUND"],
    ["a format that there is not", [...notes, "--as", "png"], 2, "png"],
    ["a file that cannot be written", [...notes, "--out", "nowhere/at/all.svg"], 2, "cannot be written"],
  ])("refuses %s", async (_what, args, code, words) => {
    const ran = await runHere("draw", ...args, "--db", db);
    expect([ran.code, ran.out, ran.err.includes(words)]).toEqual([code, "", true]);
  });

  it("refuses a plan function that throws, and one that gives no plan", async () => {
    const zod = JSON.stringify(import.meta.resolve("zod"));
    const define = JSON.stringify(import.meta.resolve("../../src/index.ts"));
    const source = `import { z } from ${zod}; import { defineCapability } from ${define};
      const common = { version: "1.0", input: z.object({}), operators: ["Test.Do"] };
      const of = (intentType, plan) => defineCapability({ ...common, intentType, plan });
      export const throws = of("Bad.Throws", () => { throw new Error("no plan today"); });
      export const odd = of("Bad.Odd", () => ({ steps: 5 }));`;
    writeFileSync(at("bad.ts"), source);
    const ask = (intent: string) => runHere("draw", intent, "--capabilities", at("bad.ts"));
    const threw = await ask("Bad.Throws");
    expect([threw.code, threw.err.includes("T3_PLANNER_FAILED"), threw.err.includes("no plan today")]).toEqual([
      1,
      true,
      true,
    ]);
    expect((await ask("Bad.Odd")).err).toContain("T3_PLAN_INVALID");
  });
});

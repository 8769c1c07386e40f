// Every command over a ledger full of characters that cannot be seen: in texts of requests, plans, gates, errors,
// people. Laws: nothing of it reaches the terminal raw, and nothing of it is dropped; with --json it is escaped and
// says the same.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { WorkflowState } from "../../src/contract/workflow-state.ts";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { type Ran, readHere, readLines, runAt, runHere } from "./command-line.ts";

/** One of each kind, and what would pass for a name. */
const trap =
  "x\u202ey\u200b\u001b[31m\u009b2J\u007f\u{e0041}\u2028\u2029\u00a0\u3000\ue000\u0378\u2764x\ufe0f\t\r‹U+0041›";
const unseen = /[\p{C}\p{Zl}\p{Zp}\p{Variation_Selector}\u00a0\u3000]/u;
const rawIn = (text: string): readonly string[] => Array.from(text).filter((c) => c !== "\n" && unseen.test(c));

const pack = (define: string) => `
import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
import { defineCapability, definePolicy } from ${JSON.stringify(new URL("define-capability.ts", define).href)};
import { defineOperator, operatorError } from ${JSON.stringify(new URL("define-operator.ts", define).href)};
const trap = ${JSON.stringify(trap)};
const input = z.record(z.string(), z.string());
const write = defineOperator({ name: "Trap.Write", input, effect: "final_write", run: ({ input }) => input,
  preview: () => ({ preview: "Dear Ann,\\n" + trap, diff: "@@ -1 +1 @@\\n-a\\n+" + trap }) });
const failure = { code: "TRAP", category: "dependency", retryable: false, message: trap };
const fail = defineOperator({ name: "Trap.Fail", input, run: () => { throw operatorError(failure); } });
const make = (intentType, operator) => defineCapability({ intentType, version: "1.0", input, operators: [operator],
  plan: { reasoning: trap, steps: [{
    step_id: "s1", name: trap, operator: operator.metadata.name, params: { folder: trap, [trap]: "v" },
    ...(operator === write ? { gate: { reason: trap + "\\nrisk      low" } } : {}) }] } });
export const asks = make("Trap.Write.Once", write);
export const fails = make("Trap.Fail.Once", fail);
`;

let folder: TempFolder;
let at: readonly string[] = [];
let asking = "";
let approved = "";
let failed = "";
beforeAll(async () => {
  folder = makeTempFolder();
  const path = (name: string): string => join(folder.path, name);
  writeFileSync(path("trap.ts"), pack(new URL("../../src/define/", import.meta.url).href));
  at = ["--db", path("trap.db"), "--capabilities", path("trap.ts"), "--principal", `ann${trap}`];
  const run = async (intent: string): Promise<string> => {
    const ran = await runHere("run", intent, "--input", JSON.stringify({ text: trap }), "--wait", "--json", ...at);
    return (JSON.parse(ran.out) as WorkflowState).workflow_id;
  };
  asking = await run("Trap.Write.Once");
  approved = await run("Trap.Write.Once");
  failed = await run("Trap.Fail.Once");
  await readHere("approve", approved, "--comment", trap, ...at);
});
afterAll(() => folder[Symbol.dispose]());

const shows = ({ out, err }: Ran): string => out + err;

describe("every command", () => {
  const commands: readonly (readonly [string, () => readonly string[], string])[] = [
    ["list", () => ["list"], "Trap.Write.Once"],
    [
      "show, waiting",
      () => ["show", asking],
      "‹U+202E RIGHT-TO-LEFT OVERRIDE›y‹U+200B ZERO WIDTH SPACE›‹U+001B ESCAPE›[31m",
    ],
    ["show, failed", () => ["show", failed], "‹TAB›‹CR›‹U+2039›U+0041›"],
    ["gates", () => ["gates", "--workflow", asking], 'folder    "x‹U+202E RIGHT-TO-LEFT OVERRIDE›y'],
    ["explain", () => ["explain", approved, "--all"], "‹U+E0041 TAG A›"],
    ["explain, failed", () => ["explain", failed, "--all"], "‹U+202E RIGHT-TO-LEFT OVERRIDE›"],
    ["trace", () => ["trace", approved], "x‹U+202E"],
    ["trace, failed", () => ["trace", failed], "x‹U+202E"],
    ["events", () => ["events", approved], "x‹U+202E"],
    ["events, failed", () => ["events", failed], "x‹U+202E"],
    ["verify", () => ["verify"], "sound"],
    ["replay", () => ["replay", approved], "identical"],
    ["run, failing", () => ["run", "Trap.Fail.Once", "--wait"], "code     T4_DEPENDENCY_FAILED"],
    ["retry", () => ["retry", failed], "‹U+2028 LINE SEPARATOR›"],
    ["an unknown workflow", () => ["show", `wf_${trap}`], "‹U+202E RIGHT-TO-LEFT OVERRIDE›"],
    ["an unknown option", () => ["list", `--${trap}`], "‹U+202E RIGHT-TO-LEFT OVERRIDE›"],
    ["a ledger that is not there", () => ["list", "--db", `none${trap}`], "‹U+202E RIGHT-TO-LEFT OVERRIDE›"],
    ["a module that is not there", () => ["list", "--capabilities", `none${trap}`], "‹U+202E RIGHT-TO-LEFT OVERRIDE›"],
  ];

  it.each(commands)("[GAT-05] %s: names what cannot be seen, and lets nothing through", async (_what, words, part) => {
    const shown = shows(await runHere(...words(), ...at.filter((_, i) => i > 1 || !words().includes("--db"))));
    expect(rawIn(shown)).toEqual([]);
    expect(shown).toContain(part);
  });

  it.each(commands)("[GAT-05] %s --json: escapes what cannot be seen", async (_what, words) => {
    const shown = shows(
      await runHere(...words(), "--json", ...at.filter((_, i) => i > 1 || !words().includes("--db"))),
    );
    expect(rawIn(shown)).toEqual([]);
  });

  it("[GAT-05] what is shown of others' texts cannot pass for a name", async () => {
    for (const words of [["show", asking], ["show", failed], ["gates"], ["explain", approved], ["trace", approved]]) {
      const shown = shows(await runHere(...words, ...at));
      expect(shown).not.toContain("‹U+0041›");
      // What is named already is not named again.
      expect(shown).not.toContain("‹U+2039›U+202E");
    }
  });

  it("[GAT-05] a reason of two lines does not state a risk", async () => {
    const { out } = await runHere("show", asking, ...at);
    expect(out.split("\n").filter((line) => line.startsWith("  risk "))).toEqual([
      expect.not.stringMatching(/risk {6}low$/),
    ]);
  });

  it("[GAT-05] gates and show list each field that the preview does not say", async () => {
    for (const words of [
      ["show", asking],
      ["gates", "--workflow", asking],
    ]) {
      const { out } = await runAt({ columns: 2000 }, ...words, ...at);
      expect(out).toMatch(/^ {2}folder +"x‹U\+202E/m);
      expect(out).toMatch(/^ {2}\["x‹U\+202E RIGHT-TO-LEFT OVERRIDE›y.* "v"$/m);
    }
  });

  it("[GAT-05] on a narrow terminal a value that goes on begins no line where a field begins", async () => {
    const { out } = await runAt({ columns: 40 }, "gates", "--workflow", asking, ...at);
    const [fields = []] = out
      .slice(out.indexOf("of the payload"))
      .split("\n\n")
      .map((part) => part.split("\n").slice(1));
    const begins = fields.filter((line) => /^ {2}\S/.test(line));
    expect(begins.map((line) => line.slice(2, 8))).toEqual(["folder", expect.stringMatching(/^\["x/)]);
    expect(fields.filter((line) => line.startsWith("      ")).length).toBeGreaterThan(5);
  });

  it("[GAT-05] --json says the same as the ledger, character by character", async () => {
    const shown = await readHere<WorkflowState>("show", asking, ...at);
    expect(shown.steps[0]?.name).toBe(trap);
    const [first] = readLines((await runHere("events", asking, "--json", ...at)).out);
    expect(JSON.stringify(first)).toContain(JSON.stringify(trap).slice(1, -1));
  });

  it("[GAT-05] an export is the ledger's own bytes, and verifies", async () => {
    const file = join(folder.path, "export.jsonl");
    const { out } = await runHere("export", approved, ...at);
    expect(out).toContain("\u202e");
    writeFileSync(file, out);
    expect(await readHere("verify", "--import", file)).toMatchObject({ ok: true });
  });
});

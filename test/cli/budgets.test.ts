/** Budgets on the command line: what is used of each ceiling, a page at a time. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BudgetPage } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { counted, intent, step, story } from "../gates/story.ts";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { readHere, runHere } from "./command-line.ts";

const work = counted("Note.Work", {}, () => "done");
const limits = [
  { scope: "principal", id: "\u001b[2Jeve", window: "month", money: 10 },
  { scope: "operator", invocations: 1 },
] as const;

let folder: TempFolder;
let at: readonly string[] = [];

beforeAll(async () => {
  folder = makeTempFolder();
  const path = join(folder.path, "budgets.db");
  await using t = await createTestKernel({
    ...{ capabilities: [story([work], [step("a", work)])], budgets: { limits }, ledger: sqliteLedger({ path }) },
  });
  await t.run(intent);
  const host = join(folder.path, "host.mjs");
  writeFileSync(host, `export const host = { budgets: ${JSON.stringify({ limits })} };\n`);
  at = ["--db", path, "--tenant", "1", "--host", host];
});
afterAll(() => folder[Symbol.dispose]());

describe("budgets", () => {
  it("lists each ceiling with what is used of it, without control characters", async () => {
    const { out, code } = await runHere("budgets", ...at);
    expect(code).toBe(0);
    const [head, first, second] = out.split("\n");
    expect(head).toMatch(/SCOPE +OF +USED +PER +LEFT +RESETS/);
    expect(first).toMatch(/operator +Note\.Work +1 of 1 calls +in all +none +-/);
    expect(second).toMatch(/principal .*eve +0 of 10 money +a month +100 % +in /);
    expect(out).not.toContain("\u001b");
  });

  it("lists a page, and the one after its cursor, and only one scope", async () => {
    const first = await readHere<BudgetPage>("budgets", "--limit", "1", ...at);
    expect(first.budgets.map(({ scope }) => scope)).toEqual(["operator"]);
    const second = await readHere<BudgetPage>("budgets", "--after", String(first.next), ...at);
    expect(second).toMatchObject({ budgets: [{ scope: "principal" }], next: null });
    const none = await runHere("budgets", "--scope", "model", ...at);
    expect(none.out).toContain("no ceilings are configured");
  });

  it("refuses a scope that is none", async () => {
    const { err, code } = await runHere("budgets", "--scope", "planet", ...at);
    expect([code, err]).toEqual([2, expect.stringContaining("tenant")]);
  });
});

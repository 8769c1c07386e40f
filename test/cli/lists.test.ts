/** `list` and `gates` with their filters. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { renderTable } from "../../src/faces/cli/render-table.ts";
import { createKernel } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { publishing } from "../gates/story.ts";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { runAt, runHere } from "./command-line.ts";

let folder: TempFolder;
let db: string;
const ids: string[] = [];

beforeAll(async () => {
  folder = makeTempFolder();
  db = join(folder.path, "ledger.db");
  const capabilities = [publishing().capability];
  await using kernel = await createKernel({ ledger: sqliteLedger({ path: db }), capabilities });
  for (const id of ["ann", "bo"]) {
    const caller = { tenant_id: 1, principal: { type: "user", id, role: "user" } };
    const intent_hint = { intent_type: "Story.Note.Publish" };
    const { workflow_id } = await kernel.submit({ ...caller, input: { text: `For ${id}` }, intent_hint });
    await kernel.settled(workflow_id);
    ids.push(workflow_id);
  }
});
afterAll(() => folder[Symbol.dispose]());

async function listed(...args: readonly string[]): Promise<readonly string[]> {
  const { out, code } = await runHere(...args, "--db", db, "--json");
  expect(code).toBe(0);
  const told = JSON.parse(out) as Record<string, readonly { readonly workflow_id: string }[]>;
  return (told["workflows"] ?? told["gates"] ?? []).map(({ workflow_id }) => workflow_id);
}

describe("[API-08] the command line lists", () => {
  it("workflows newest first, by each filter", async () => {
    const [first = "", second = ""] = ids;
    expect(await listed("list")).toEqual([second, first]);
    expect(await listed("list", "--state", "waiting_for_user", "running", "--limit", "1")).toEqual([second]);
    expect(await listed("list", "--by", "ann")).toEqual([first]);
    expect(await listed("list", "--text", "for bo")).toEqual([second]);
    expect(await listed("list", "--intent", "Other")).toEqual([]);
    expect(await listed("list", "--since", "1d")).toHaveLength(2);
    expect(await listed("list", "--until", "1d")).toEqual([]);
    expect(await listed("list", "--after", second)).toEqual([first]);
    expect(await listed("list", "--before", first)).toEqual([second]);
    const { out } = await runHere("list", "--db", db, "--limit", "1", "--total");
    expect(out).toContain("For bo");
    expect(out).toContain("1 of 2");
  });

  it("gates by each filter, and those that are mine", async () => {
    const [first = "", second = ""] = ids;
    expect(await listed("gates")).toEqual([second, first]);
    expect(await listed("gates", "--workflow", first)).toEqual([first]);
    expect(await listed("gates", "--mine", "--principal", "cy")).toEqual([second, first]);
    expect(await listed("gates", "--operator", "Note.Draft")).toEqual([]);
    expect(await listed("gates", "--for-role", "admin")).toEqual([]);
    expect(await listed("gates", "--due-before", "2999-01-01")).toEqual([]);
    expect(await listed("gates", "--after", `${second}/gate-publish`)).toEqual([first]);
    expect((await runHere("gates", "--db", db, "--limit", "1", "--total")).out).toContain("1 of 2");
  });

  it.each([40, 80])("at %i columns no line is longer, and no word is cut", async (columns) => {
    const plain = async (...words: readonly string[]) => (await runAt({ columns }, ...words, "--db", db)).out;
    for (const command of ["list", "gates"]) {
      const out = await plain(command);
      expect(out.split("\n").filter((line) => line.length > columns)).toEqual([]);
      for (const id of ids) expect(out).toContain(id);
      expect(out).not.toContain("…");
      expect(out.split(/\s+/).join(" ")).toContain(command === "list" ? "For bo" : "gate-publish");
      const rows = out.split("\n").filter((line) => line.includes("wf_"));
      expect(rows.every((row) => row.includes(command === "list" ? "For" : "gate-publish"))).toBe(columns === 80);
    }
    expect(await plain("list")).toContain(
      columns === 80 ? "(a wider terminal, or --json, shows INTENT" : "Story.Note.Publish",
    );
  });

  it("a title that is longer than the terminal is broken between its words, on lines that are no longer", () => {
    const title = Array.from({ length: 30 }, (_, i) => `word${i}`).join(" ");
    const columns = [
      { title: "WORKFLOW", value: () => "wf_01ARZ3NDEKTSV4RRFFQ69G5FAV" },
      { title: "TITLE", value: () => title, shrinks: true, least: 20 },
    ];
    const lines = renderTable([{}], columns, { columns: 40, paint: (_style, text) => text }).split("\n");
    expect(lines.filter((line) => line.length > 40)).toEqual([]);
    expect(lines.join(" ").replaceAll(/\s+/g, " ")).toBe(`wf_01ARZ3NDEKTSV4RRFFQ69G5FAV ${title}`);
  });

  it("on a narrow terminal a row is lines of its own, which name what would not be understood", async () => {
    const plain = async (command: string) =>
      (await runAt({ columns: 40 }, command, "--db", db)).out.replaceAll(/\s+/g, " ");
    expect(await plain("list")).toMatch(/waiting_for_user .*done \d+ % accepted \w+/);
    expect(await plain("gates")).toMatch(/risk low opened \w+.* due -/);
  });

  it("on a wide terminal a row is one line under the titles of its columns", async () => {
    const { out } = await runAt({ columns: 160 }, "list", "--db", db);
    expect(out.split("\n")[0]).toMatch(/^WORKFLOW +STATE +INTENT +TITLE +DONE +ACCEPTED$/);
    expect(out.trimEnd().split("\n")).toHaveLength(3);
  });

  it("a cursor that this list could not have given is refused", async () => {
    const refused = await runHere("list", "--db", db, "--after", `wf_${"0".repeat(26)}`);
    expect([refused.code, refused.out]).toEqual([1, ""]);
    expect(refused.err).toContain("T0_VALIDATION_SCHEMA_MISMATCH");
  });

  it.each([
    ["list", "--since", "yesterday", "It must be an instant"],
    ["list", "--since", "2027-02-31", "It must be an instant"],
    ["list", "--until", "999999d", "It must be an instant"],
    ["gates", "--due-before", "2027", "It must be an instant"],
    ["list", "--limit", "0", "It must be a whole number from 1."],
    ["gates", "--limit", "0", "It must be a whole number from 1."],
    ["list", "--after", "nope", "It must be the workflow that a page ended with"],
    ["gates", "--before", "wf_1", "It must be the workflow/gate that a page ended with"],
  ])("%s %s %s is wrong usage, told before anything is opened", async (command, option, value, words) => {
    const ran = await runHere(command, "--db", "/nowhere/at-all.db", option, value);
    expect([ran.code, ran.out, ran.err]).toEqual([2, "", expect.stringContaining(words)]);
  });
});

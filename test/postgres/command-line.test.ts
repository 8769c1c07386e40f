/** The command line on a Postgres ledger: `--db` takes its URL wherever it takes a file. */
import { beforeAll, describe, expect, it } from "vitest";
import { readHere, runHere } from "../cli/command-line.ts";
import { keepAs, makeWorkplace } from "../cli/workplace.ts";
import { freshSchema, serverUrl } from "./server.ts";

const db = `${serverUrl}?schema=${freshSchema()}`;
const on = ["--db", db] as const;
const rule = { name: "r", stages: ["action"], decision: "DENY", reason: "no", when: { tags: { any: ["pii"] } } };
let id = "";
let folder: ReturnType<typeof makeWorkplace>["folder"];

beforeAll(async () => {
  const workplace = makeWorkplace();
  folder = workplace.folder;
  const ran = await runHere("demo", "--repo", workplace.repo, "--out", "N.md", ...on);
  expect([ran.code, ran.err]).toEqual([0, ""]);
  id = /wf_[0-9A-Z]{26}/.exec(ran.out)?.[0] ?? "";
  expect(ran.out).toContain("Waiting for a person");
  expect(ran.out).not.toContain("secret");
  return () => folder[Symbol.dispose]();
});

describe("countersign --db postgres://…", () => {
  it("[CARD-21] goes on in another process, and tells no password in what it prints to be typed", async () => {
    const gates = await runHere("gates", ...on);
    expect(gates.out).toContain(id);
    expect(`${gates.out}${(await runHere("show", id, ...on)).out}`).not.toContain("secret");
    const approved = await runHere("approve", id, "gate-publish", ...on);
    expect([approved.code, approved.err]).toEqual([0, ""]);
  });

  it("lists, shows, explains, verifies, replays, exports and asks what if, as on a file", async () => {
    expect(await readHere("list", ...on)).toMatchObject({ workflows: [{ workflow_id: id, state: "completed" }] });
    for (const command of ["show", "explain", "trace", "events"])
      expect((await runHere(command, id, ...on)).code).toBe(0);
    expect(await readHere("verify", ...on)).toMatchObject({ ok: true, broken: [] });
    expect(await readHere("replay", id, ...on)).toMatchObject({ identical: true });
    const rows = await runHere("export", id, ...on);
    const file = keepAs(folder, "rows.jsonl", rows.out);
    expect((await runHere("verify", "--import", file)).code).toBe(0);
    const rules = keepAs(folder, "rules.json", JSON.stringify({ version: "v2", rules: [rule] }));
    const whatif = await runHere("whatif", "--policies", rules, ...on);
    expect([whatif.code, whatif.err]).toEqual([0, expect.stringContaining("1 workflows")]);
  });

  it("makes no ledger for a command that only reads, and says what to do where there is none", async () => {
    const nowhere = await runHere("list", "--db", `${serverUrl}?schema=${freshSchema()}`);
    expect(nowhere.code).toBe(1);
    expect(nowhere.err).toContain("T0_LEDGER_UNAVAILABLE");
    const away = await runHere("list", "--db", "postgres://ann:hush@127.0.0.1:1/none");
    expect(away.err).toContain("ECONNREFUSED");
    expect(away.err).not.toContain("hush");
  });
});

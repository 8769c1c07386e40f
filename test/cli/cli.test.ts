/**
 * The command line over a real ledger file and a real repository, across processes and inside this one. Laws: nothing
 * is written before somebody approves; any process with the file can go on; exit codes 0, 1, 2.
 *
 * Never: touches the repository this file lies in, or the network.
 */
import { type StdioOptions, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Gate } from "../../src/contract/gate.ts";
import type { WorkflowState } from "../../src/contract/workflow-state.ts";
import { invocation } from "../../src/faces/cli/invocation.ts";
import type { TempFolder } from "../operators/temp-folder.ts";
import { endOf, launcher, readHere, readLines, runHere, runProcess, startProcess } from "./command-line.ts";
import { makeWorkplace } from "./workplace.ts";

type Shown = WorkflowState & { readonly approve: string | null; readonly file: string | null; readonly why: string[] };

let folder: TempFolder;
let repo = "";
let db = "";
beforeAll(() => {
  ({ folder, repo, db } = makeWorkplace());
});
afterAll(() => folder[Symbol.dispose]());

const notes = (out: string): string => readFileSync(join(repo, out), "utf8");
const stopAtGate = (out: string) => readHere<Shown>("demo", "--repo", repo, "--db", db, "--out", out);

/** A file on a disk that has no room. */
function openFull() {
  const fd = openSync("/dev/full", "w");
  return { fd, [Symbol.dispose]: () => closeSync(fd) };
}

describe("demo", () => {
  it("--yes writes the notes and says why", async () => {
    const ran = await runProcess(repo, "demo", "--yes", "--db", db, "--out", "YES.md");
    expect(ran.err).toBe("");
    expect(ran.code).toBe(0);
    expect(notes("YES.md")).toContain("add a lantern");
    expect(notes("YES.md")).not.toContain("begin");
    for (const part of [
      "Publish the notes",
      "asked by",
      "+++ ",
      "approve ",
      "written: ",
      "YES.md",
      "Why",
      "gate-publish",
    ]) {
      expect(ran.out).toContain(part);
    }
    expect(ran.out).not.toContain("\u001b");
  });

  it("pain 8: a run is resumed from another process with only the database", async () => {
    const stopped = await runProcess(repo, "demo", "--db", db, "--out", "LATER.md");
    expect(stopped.err).toBe("");
    expect(stopped.code).toBe(0);
    expect(existsSync(join(repo, "LATER.md"))).toBe(false);
    const command =
      /(?:countersign|bin\.mjs) (approve wf_\S+ gate-publish --digest \S+ --basis \S+ --db \S+)/
        .exec(stopped.out)?.[1]
        ?.split(" ") ?? [];
    expect(command).toHaveLength(9);
    const approved = await runProcess(folder.path, ...command);
    expect(approved).toMatchObject({ code: 0, err: "" });
    expect(approved.out).toContain("completed");
    expect(notes("LATER.md")).toContain("mend the hinge");
    // The same answer again, and no second effect.
    writeFileSync(join(repo, "LATER.md"), "mine now");
    expect((await runHere(...command)).code).toBe(0);
    expect(notes("LATER.md")).toBe("mine now");
  });

  it("stops with one JSON document that says how to go on", async () => {
    const shown = await stopAtGate("JSON.md");
    expect(shown).toMatchObject({ state: "waiting_for_user", file: null });
    const { payload_digest, basis_digest } = shown.gates[0] ?? {};
    const digests = `--digest ${payload_digest} --basis ${basis_digest}`;
    expect(shown.approve).toBe(`${invocation()} approve ${shown.workflow_id} gate-publish ${digests} --db ${db}`);
    expect(shown.why.length).toBeGreaterThan(0);
  });

  it("of a folder that is no repository fails with the code and the next step", async () => {
    const empty = join(folder.path, "empty");
    mkdirSync(empty);
    const ran = await runHere("demo", "--repo", empty, "--db", db, "--yes");
    expect(ran.code).toBe(1);
    expect(ran.err).toMatch(/error: .*\n {2}code {5}T\d_[\s\S]*next {5}/);
  });
});

describe("decisions", () => {
  it("reject ends the workflow without a file", async () => {
    const { workflow_id } = await stopAtGate("NO.md");
    const rejected = await readHere<Shown>("reject", workflow_id, "--db", db, "--comment", "not today");
    expect(rejected.state).toBe("cancelled");
    expect(rejected.gates[0]?.decision).toMatchObject({ decision: "reject", comment: "not today" });
    expect(existsSync(join(repo, "NO.md"))).toBe(false);
    const late = await runHere("approve", workflow_id, "gate-publish", "--db", db, "--json");
    expect(late.code).toBe(1);
    expect(late.out).toBe("");
    expect(JSON.parse(late.err)).toMatchObject({ status: 409, extensions: { code: "T5_GATE_CONFLICT" } });
  });

  it("approve --edit changes what is written", async () => {
    const { workflow_id } = await stopAtGate("EDIT.md");
    const edit = JSON.stringify({ markdown: "# By hand\n" });
    const approved = await readHere<Shown>("approve", workflow_id, "--edit", edit, "--db", db);
    expect(approved.state).toBe("completed");
    expect(notes("EDIT.md")).toBe("# By hand\n");
    expect(approved.gates[0]?.decision).toMatchObject({ edited: true, principal: { id: "local" } });
  });

  it("approve --digest refuses a payload that is not the one looked at", async () => {
    const { workflow_id } = await stopAtGate("DIGEST.md");
    const ran = await runHere("approve", workflow_id, "--digest", "0".repeat(64), "--db", db);
    expect(ran).toMatchObject({ code: 1, out: "" });
    expect(ran.err).toContain("T5_GATE_CONFLICT");
    const cancelled = await readHere<Shown>("cancel", workflow_id, "--reason", "enough", "--db", db);
    expect(cancelled.state).toBe("cancelled");
  });

  it("retry regenerates a draft that waits, and refuses a workflow that is over", async () => {
    const { workflow_id } = await stopAtGate("AGAIN.md");
    const again = await readHere<Shown>("retry", workflow_id, "--mode", "regenerate", "--db", db);
    expect(again.state).toBe("waiting_for_user");
    expect(again.plan?.steps.map(({ step_id }) => step_id)).toContain("draft_r1");
    const blind = await runHere("approve", workflow_id, "--db", db);
    expect([blind.code, blind.err]).toEqual([1, expect.stringContaining("T5_GATE_CONFLICT")]);
    await readHere("approve", workflow_id, "--digest", String(again.gates[0]?.payload_digest), "--db", db);
    const over = await runHere("retry", workflow_id, "--db", db);
    expect(over.code).toBe(1);
    expect(over.err).toContain("T4_WORKFLOW_CONFLICT");
  });
});

describe("reading", () => {
  let waiting: Shown;
  let done: Shown;
  beforeAll(async () => {
    waiting = await stopAtGate("READ.md");
    done = await readHere<Shown>("demo", "--repo", repo, "--db", db, "--out", "DONE.md", "--yes");
  });

  it("list, show and gates", async () => {
    const { workflows } = await readHere<{ workflows: Shown[] }>("list", "--db", db, "--state", "waiting_for_user");
    expect(workflows.map(({ workflow_id }) => workflow_id)).toContain(waiting.workflow_id);
    expect((await runHere("list", "--db", db)).out).toMatch(/^wf_\w+ +completed +Release notes of /m);
    const { gates } = await readHere<{ gates: Gate[] }>("gates", "--db", db);
    expect(gates.map(({ workflow_id }) => workflow_id)).toContain(waiting.workflow_id);
    expect((await runHere("gates", "--db", db)).out).toContain(waiting.workflow_id);
    expect(await readHere("show", waiting.workflow_id, "--db", db)).toMatchObject({ state: "waiting_for_user" });
    const shown = (await runHere("show", waiting.workflow_id, "--db", db)).out;
    for (const part of ["gate-publish", "collect", "succeeded", "Preview", "Changes", "lantern"])
      expect(shown).toContain(part);
  });

  it("sees its own tenant only", async () => {
    expect(await readHere("list", "--db", db, "--tenant", "2")).toEqual({ workflows: [] });
    expect(await readHere("list", "--db", db, "--key", "order-7")).toEqual({ workflows: [] });
    const foreign = await runHere("export", waiting.workflow_id, "--db", db, "--tenant", "2");
    expect(foreign).toMatchObject({ code: 1, out: "" });
    expect(foreign.err).toContain("T4_WORKFLOW_NOT_FOUND");
  });

  it("explain and trace", async () => {
    const explained = await readHere<{ why: string[] }>("explain", done.workflow_id, "--db", db);
    expect(explained.why).toEqual(done.why);
    const short = (await runHere("explain", done.workflow_id, "--db", db)).out;
    expect(short.split("\n").length).toBeLessThanOrEqual(13);
    expect(short).toContain("Publish the notes: approved by user local (user); File.Write has run");
    expect(short.match(/no rule matched/g)).toHaveLength(1);
    const text = (await runHere("explain", done.workflow_id, "--all", "--db", db)).out;
    expect(text).toMatch(/approval {2}user local \(user\) approved payload \w{12} at \S+, which is what ran/);
    const traced = await readHere<{ steps: unknown[] }>("trace", done.workflow_id, "--db", db);
    expect(traced).toMatchObject({ status: "completed" });
    expect(traced.steps).toHaveLength(6);
    expect((await runHere("trace", done.workflow_id, "--db", db)).out).toContain("File.Write");
  });

  it("events: all, after a number, and followed to the end", async () => {
    const all = readLines((await runHere("events", done.workflow_id, "--db", db, "--json")).out);
    expect(all.map((event) => event["sequence"])).toEqual(all.map((_, i) => i + 1));
    const last = readLines(
      (await runHere("events", done.workflow_id, "--after", String(all.length - 1), "--db", db, "--json")).out,
    );
    expect(last).toEqual(all.slice(-1));
    const followed = readLines((await runHere("events", done.workflow_id, "--follow", "--db", db, "--json")).out);
    expect(followed).toEqual(all);
    expect((await runHere("events", waiting.workflow_id, "--db", db)).out).toContain("GATE_OPENED");
  });

  it("export and verify, with the ledger and without", async () => {
    const { out } = await runHere("export", done.workflow_id, "--db", db);
    const file = join(folder.path, "export.jsonl");
    writeFileSync(file, out);
    expect(await readHere("verify", "--db", db)).toMatchObject({ ok: true, broken: [] });
    expect(await readHere("verify", done.workflow_id, "--db", db)).toMatchObject({ ok: true });
    expect(await readHere("verify", "--import", file)).toMatchObject({
      ok: true,
      heads: [{ stream: done.workflow_id }],
    });
    const told = readLines(out).filter((line) => "evidence" in line);
    expect(told.map((line) => line["evidence"])).toEqual(expect.arrayContaining(["audit_entry", "closing"]));
    expect((await runHere("verify", "--import", file)).out).toMatch(/: \d+ audit entries, 0 reports/);
    writeFileSync(file, out.slice(0, out.lastIndexOf('{"evidence":"closing"')));
    const cut = await runHere("verify", "--import", file);
    expect(cut).toMatchObject({ code: 1 });
    expect(cut.err).toMatch(/first at line \d+, wf_\S+ at sequence \d+ \(cut\)[\s\S]*T0_LEDGER_CORRUPT/);
    writeFileSync(file, out.replace("add a lantern", "add a cannon "));
    const broken = await runHere("verify", "--import", file, "--json");
    expect(broken.code).toBe(1);
    expect(JSON.parse(broken.out)).toMatchObject({ ok: false, broken: [{ stream: done.workflow_id, reason: "body" }] });
    expect(JSON.parse(broken.err)).toMatchObject({ extensions: { code: "T0_LEDGER_CORRUPT" } });
  });

  it("a reader that goes away does not make it fail", async () => {
    const child = startProcess(repo, "export", done.workflow_id, "--db", db);
    child.stdout.destroy();
    expect(await endOf(child)).toEqual({ code: 0, err: "" });
  });

  it
    .runIf(existsSync("/dev/full"))
    .each([[["--help"]], [["list"]], [["list", "--json"]], [["events", "WF"]], [["export", "WF"]]])(
    "%j on a full disk ends with 1 and one line",
    (words) => {
      using full = openFull();
      const args = words.map((word) => (word === "WF" ? done.workflow_id : word));
      const given = words.includes("--help") ? args : [...args, "--db", db];
      const stdio: StdioOptions = ["ignore", full.fd, "pipe"];
      const { status, stderr } = spawnSync(process.execPath, [launcher, ...given], { encoding: "utf8", stdio });
      expect([status, stderr]).toEqual([1, expect.stringMatching(/^.*stdout cannot be written \(ENOSPC: .*\n$/)]);
      if (words.includes("--json")) expect(JSON.parse(stderr)).toMatchObject({ title: "output failure" });
    },
  );

  it("an interrupted follower stops cleanly", async () => {
    const child = startProcess(repo, "events", waiting.workflow_id, "--follow", "--db", db);
    await once(child.stdout, "data");
    child.kill("SIGINT");
    expect(await endOf(child)).toEqual({ code: 130, err: "\nStopped. Nothing was changed.\n" });
  });
});

describe("run", () => {
  const from = (name: string): string => JSON.stringify(new URL(`../../src/define/${name}.ts`, import.meta.url).href);
  const module = `
    import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
    import { defineCapability, definePolicy } from ${from("define-capability")};
    import { defineOperator } from ${from("define-operator")};
    const input = z.object({ text: z.string() });
    const shout = defineOperator({ name: "Text.Shout", input, run: ({ input }) => input.text.toUpperCase() });
    const step = { step_id: "s1", name: "Shout", operator: "Text.Shout" };
    export default defineCapability({ intentType: "Text.Loud.Make", version: "1.0", input, operators: [shout],
      plan: ({ input }) => ({ reasoning: "shout it", steps: [{ ...step, params: input }] }) });
    const denial = { decision: "DENY", reason: "not at night" };
    export const noNight = definePolicy({ name: "no-night", stages: ["action"],
      evaluate: ({ subject }) => subject.payload.text === "night" ? denial : null });
  `;

  it("runs a package of one's own under one's own policy", async () => {
    const path = join(folder.path, "loud.ts");
    writeFileSync(path, module);
    const run = (input: string) =>
      runHere("run", "Text.Loud.Make", "--input", input, "--wait", "--db", db, "--capabilities", path, "--json");
    const day = await run('{"text":"day"}');
    expect(day).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(day.out)).toMatchObject({ state: "completed", steps: [{ output_text: "DAY" }] });
    const night = await run('{"text":"night"}');
    expect(night.code).toBe(1);
    expect(night.err).toContain("not at night");
  });

  it("has the work begin later, at an instant or after a time", async () => {
    const path = join(folder.path, "later.ts");
    writeFileSync(path, module);
    const run = (...when: readonly string[]) =>
      runHere(
        "run",
        "Text.Loud.Make",
        "--input",
        '{"text":"x"}',
        ...when,
        "--db",
        db,
        "--capabilities",
        path,
        "--json",
      );
    const begun = JSON.parse((await run("--delay", "6h")).out);
    const show = await runHere("show", begun.workflow_id, "--db", db, "--json");
    const { state, start_at } = JSON.parse(show.out);
    expect(state).toBe("accepted");
    expect(Date.parse(start_at) - Date.now()).toBeGreaterThan(5.9 * 3_600_000);
    expect((await run("--start-at", "2999-01-01T00:00:00Z")).code).toBe(0);
    const both = await run("--start-at", "2999-01-01T00:00:00Z", "--delay", "1d");
    expect(both.err).toContain("it stands beside delay_ms");
    expect((await run("--delay", "soon")).code).toBe(2);
  });

  it("names the queue of a request, and its priority there", async () => {
    const path = join(folder.path, "queued.ts");
    writeFileSync(path, module);
    const at = ["--db", db, "--capabilities", path, "--json"];
    const request = ["run", "Text.Loud.Make", "--input", '{"text":"x"}', "--delay", "6h", "--priority", "-3", ...at];
    const begun = await runHere(...request, "--queue", '{"name":"loud","concurrency":1}');
    const show = await runHere("show", JSON.parse(begun.out).workflow_id, "--db", db, "--json");
    expect(JSON.parse(show.out).queue).toMatchObject({ name: "loud", concurrency: 1, priority: -3, place: null });
    expect((await runHere(...request)).err).toContain("T1_QUEUE_INVALID");
    expect((await runHere("run", "Text.Loud.Make", "--priority", "high", ...at)).code).toBe(2);
  });

  it("refuses an unknown intent with problem details, and bad JSON as wrong usage", async () => {
    const unknown = await runHere("run", "No.Such.Thing", "--db", db, "--json");
    expect(unknown.code).toBe(1);
    expect(JSON.parse(unknown.err)).toMatchObject({
      type: expect.stringContaining("urn:kernel:error:"),
      extensions: { next: expect.any(String) },
    });
    const bad = await runHere("run", "A.B", "--input", '{"a": x}', "--db", db);
    expect(bad.code).toBe(2);
    expect(bad.err).toContain("position 6");
  });
});

describe("wrong usage and foreign files", () => {
  it.each([[["nonsense"]], [["list", "--nonsense"]], [["show"]], [[]]])("%j ends with 2", async (args) => {
    expect((await runHere(...args)).code).toBe(2);
  });

  it.each([
    [["list", "--nonsense"], "unknown option '--nonsense'"],
    [["show"], "missing required argument 'workflow'"],
    [["list", "--limit", "x"], "option '--limit <n>' argument 'x' is invalid. It must be a whole number from 0."],
    [["inspect"], "name a workflow, or a file with --import"],
  ])("%j with --json ends with one line of problem details", async (args, detail) => {
    const ran = await runHere(...args, "--json");
    expect([ran.code, ran.out, ran.err.split("\n")]).toEqual([2, "", [expect.any(String), ""]]);
    expect(JSON.parse(ran.err)).toEqual({ type: "about:blank", title: "wrong usage", status: 400, detail });
  });

  it("a foreign file as ledger is refused with its code and the next step, and is left alone", async () => {
    const foreign = join(folder.path, "letter.txt");
    writeFileSync(foreign, "Dear ledger,\n".repeat(100));
    const ran = await runProcess(folder.path, "list", "--db", foreign);
    expect(ran).toMatchObject({ code: 1, out: "" });
    expect(ran.err).toContain("T0_LEDGER_NOT_A_DATABASE");
    expect(ran.err).toContain("Point to a ledger file");
    expect(readFileSync(foreign, "utf8")).toBe("Dear ledger,\n".repeat(100));
  });

  it("a ledger that is not there is not made by reading it", async () => {
    const missing = join(folder.path, "missing.db");
    expect((await runHere("list", "--db", missing)).err).toContain("T0_LEDGER_UNAVAILABLE");
    expect(existsSync(missing)).toBe(false);
  });
});

// Gates taken one after another: by keys on a screen, by lines where nothing can be redrawn, by nobody over a pipe.
// Laws: a decision takes two keys and carries the digest shown; an edit counts once it was shown; leaving says how to
// go on.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Gate } from "../../src/contract/gate.ts";
import type { WorkflowState } from "../../src/contract/workflow-state.ts";
import type { TempFolder } from "../operators/temp-folder.ts";
import { makePerson, readHere, runAt, runHere } from "./command-line.ts";
import { makeWorkplace } from "./workplace.ts";

let folder: TempFolder;
let repo = "";
let db = "";
beforeEach(() => {
  ({ folder, repo, db } = makeWorkplace());
});
afterEach(() => folder[Symbol.dispose]());

const stopAtGate = (out: string) => readHere<WorkflowState>("demo", "--repo", repo, "--db", db, "--out", out);
const written = (out: string): boolean => existsSync(join(repo, out));
const stateOf = (id: string) => readHere<WorkflowState>("show", id, "--db", db);

describe("review", () => {
  it("takes the gates one after another, the oldest first, and shows what was decided", async () => {
    const [first, second] = [await stopAtGate("A.md"), await stopAtGate("B.md")];
    const person = makePerson(["a", "y", "r", "y"], () => "not today");
    const ran = await runAt(person.terminal, "review", "--db", db);
    expect(ran).toMatchObject({ code: 0, err: "" });
    expect(person.screens[0]).toContain("1 of 2");
    expect(person.screens[0]).toContain(first.workflow_id);
    expect(person.screens[1]).toContain("[y]approve");
    expect(person.screens[2]).toContain(second.workflow_id);
    expect([written("A.md"), written("B.md")]).toEqual([true, false]);
    const digest = first.gates[0]?.payload_digest.slice(0, 12);
    expect(ran.out).toContain(
      `Publish the notes  gate-publish\n  of ${first.workflow_id}\n  approve, resumed: File.Write, payload ${digest}\n`,
    );
    expect(ran.out).toContain("No gate waits any more.");
    const { gates } = await stateOf(second.workflow_id);
    expect(gates[0]?.decision).toMatchObject({ decision: "reject", comment: "not today" });
  });

  it("one key decides nothing, and leaving says what waits and how to go on", async () => {
    await stopAtGate("A.md");
    for (const [keys, code] of [
      [["a", "n", "q"], 0],
      [["a", "ctrl-c"], 130],
      [["r", "y"], 130],
    ] as const) {
      const ran = await runAt(makePerson(keys, () => null).terminal, "review", "--db", db);
      expect(ran.code).toBe(code);
      expect(ran.out + ran.err).toMatch(/1 gate waits as before\. Go on:\n {2}.*countersign review --db /);
    }
    expect(written("A.md")).toBe(false);
  });

  it("a payload that changed since it was shown is not decided: the gate is shown as it is now", async () => {
    const { workflow_id } = await stopAtGate("A.md");
    const person = makePerson(["a", "y", "pagedown", "ctrl-c"]);
    person.before("y", () => writeFileSync(join(repo, "A.md"), "by somebody\n"));
    const ran = await runAt(person.terminal, "review", "--db", db);
    expect(ran.out).toContain("T5_GATE_CONFLICT");
    expect(person.screens.at(-1)).toContain("-by somebody");
    expect(readFileSync(join(repo, "A.md"), "utf8")).toBe("by somebody\n");
    expect((await stateOf(workflow_id)).state).toBe("waiting_for_user");
  });

  it("what was decided elsewhere meanwhile is said, not asked", async () => {
    const [first] = [await stopAtGate("A.md"), await stopAtGate("B.md")];
    const person = makePerson(["n", "p", "ctrl-c"]);
    person.before("p", () => runHere("reject", first.workflow_id, "--db", db));
    const ran = await runAt(person.terminal, "review", "--db", db);
    expect(ran.out).toMatch(/rejected by user local, not here/);
  });

  it("an edit is shown as the change it makes, and counts once it is approved", async () => {
    const { workflow_id } = await stopAtGate("A.md");
    const change = (question: string): string => {
      const file = /Change (\S+),/.exec(question)?.[1];
      if (file !== undefined) writeFileSync(file, readFileSync(file, "utf8").replace("lantern", "brighter lantern"));
      return "";
    };
    const person = makePerson(["e", "a", "y"], change);
    const ran = await runAt(person.terminal, "review", "--db", db);
    expect(ran).toMatchObject({ code: 0, err: "" });
    expect(person.screens[1]).toContain("Your changes");
    expect(person.screens[1]).toContain("+- add a brighter lantern");
    expect(person.screens[1]).toContain("[a]approve-your-edit");
    expect(readFileSync(join(repo, "A.md"), "utf8")).toContain("brighter lantern");
    expect((await stateOf(workflow_id)).gates[0]?.decision?.edited).toBe(true);
  });

  it("an edit that is undone, or that changes nothing, is none", async () => {
    await stopAtGate("A.md");
    const change = (question: string): string => {
      const file = /Change (\S+),/.exec(question)?.[1];
      if (file !== undefined) writeFileSync(file, "all new\n");
      return "";
    };
    const undone = makePerson(["e", "u", "a", "y"], change);
    await runAt(undone.terminal, "review", "--db", db);
    expect(readFileSync(join(repo, "A.md"), "utf8")).toContain("lantern");
    await stopAtGate("B.md");
    const idle = makePerson(["e", "q"], () => "");
    await runAt(idle.terminal, "review", "--db", db);
    expect(idle.screens[1]).toContain("Nothing is changed.");
  });

  it("an edit that was not sent is not dropped unasked, whichever key leaves the gate", async () => {
    await stopAtGate("A.md");
    const change = (question: string): string => {
      const file = /Change (\S+),/.exec(question)?.[1];
      if (file !== undefined) writeFileSync(file, readFileSync(file, "utf8").replace("lantern", "brighter lantern"));
      return "";
    };
    const kept = makePerson(["e", "n", "x", "q", "n", "p", "n", "a", "y"], change);
    await runAt(kept.terminal, "review", "--db", db);
    for (const [at, word] of [
      [2, "next"],
      [4, "quit"],
      [6, "previous"],
    ] as const)
      expect(kept.screens[at]?.replaceAll(/\s+/g, " ")).toContain(
        `Your edit was not sent and is dropped. [y]${word}, any other key: no`,
      );
    expect(kept.screens[8]?.replaceAll(/\s+/g, " ")).not.toContain("is dropped");
    expect(readFileSync(join(repo, "A.md"), "utf8")).toContain("brighter lantern");

    await stopAtGate("B.md");
    const dropped = makePerson(["e", "q", "y"], change);
    const ran = await runAt(dropped.terminal, "review", "--db", db);
    expect([ran.code, ran.out]).toEqual([0, expect.stringContaining("1 gate waits as before")]);
    const unedited = makePerson(["q"], change);
    expect((await runAt(unedited.terminal, "review", "--db", db)).code).toBe(0);
  });

  /** Stops at a gate whose payload is edited as JSON; returns the options that its package needs. */
  async function stopAtOrder(): Promise<readonly string[]> {
    const path = join(folder.path, "orders.ts");
    const from = (file: string): string => JSON.stringify(new URL(`../../src/define/${file}`, import.meta.url).href);
    writeFileSync(
      path,
      `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
      import { defineCapability } from ${from("define-capability.ts")};
      import { defineOperator } from ${from("define-operator.ts")};
      const input = z.object({ n: z.int(), note: z.string() });
      const order = defineOperator({ name: "Shop.Order", input, effect: "final_write", run: ({ input }) => input });
      export default defineCapability({ intentType: "Shop.Order", version: "1.0", input, operators: [order],
        plan: ({ input }) => ({
          reasoning: "r", steps: [{ step_id: "order", name: "Order", operator: "Shop.Order", params: input }],
        }) });`,
    );
    const own = ["--db", db, "--capabilities", path];
    await runHere("run", "Shop.Order", "--input", '{"n":1,"note":"tin"}', "--wait", ...own);
    return own;
  }

  /** Returns what the newest order was called with. */
  async function orderedIn(ledger: string): Promise<unknown> {
    const shown = await readHere<{ workflows: readonly { workflow_id: string }[] }>("list", "--db", ledger);
    const { steps } = await stateOf(shown.workflows[0]?.workflow_id ?? "");
    return JSON.parse(steps[0]?.output_text ?? "null");
  }

  it("an edit that was refused is kept, and is what is edited further", async () => {
    const own = await stopAtOrder();
    const changes: readonly (readonly [string, string])[] = [
      ["tin", "lead"],
      ["1", '"many"'],
      ['"many"', "2"],
    ];
    const left = [...changes];
    const change = (question: string): string => {
      const file = /Change (\S+),/.exec(question)?.[1];
      const [old, made] = file === undefined ? ["", ""] : (left.shift() as readonly [string, string]);
      if (file !== undefined) writeFileSync(file, readFileSync(file, "utf8").replace(old, made));
      return "";
    };
    const person = makePerson(["e", "e", "a", "y", "e", "a", "y"], change);
    const ran = await runAt(person.terminal, "review", ...own);
    expect(ran.out).toContain("not decided");
    const kept = person.screens.find((screen) => screen.includes("Your edit is kept")) ?? "";
    expect(kept).toContain('+  "note": "lead"');
    expect(await orderedIn(db)).toEqual({ n: 2, note: "lead" });
  });

  it("an edit that is no JSON is kept unchanged, opened again, and dropped only after a confirmation", async () => {
    const own = await stopAtOrder();
    const typed: string[] = [];
    const write =
      (old: string, made: string) =>
      (question: string): string => {
        const file = /Change (\S+),/.exec(question)?.[1];
        if (file === undefined) return "";
        typed.push(readFileSync(file, "utf8"));
        writeFileSync(file, readFileSync(file, "utf8").replace(old, made));
        return "";
      };
    const left = [write('"tin"', '"lead'), write('"lead', '"lead"')];
    const person = makePerson(["e", "q", "x", "a", "x", "e", "a", "y"], (question) => left.shift()?.(question) ?? "");
    await runAt(person.terminal, "review", ...own);
    const screens = person.screens.map((screen) => screen.replaceAll(/\s+/g, " "));
    expect(screens[1]).toContain("What you wrote is kept: [e] opens it again.");
    expect(screens[2]).toContain("Your edit was not sent and is dropped. [y]quit, any other key: no");
    expect(screens[4]).toContain("What you wrote last could not be read and is dropped.");
    expect(typed[1]).toContain('"note": "lead\n');
    expect(await orderedIn(db)).toEqual({ n: 1, note: "lead" });
  });

  it("where nothing can be redrawn an edit is not dropped unasked either, and yes is a yes", async () => {
    await stopAtGate("A.md");
    const said = ["e", "n", "no", "a", "yes"];
    const ask = async (question: string): Promise<string | null> => {
      const file = /Change (\S+),/.exec(question)?.[1];
      if (file === undefined) return said.shift() ?? null;
      writeFileSync(file, readFileSync(file, "utf8").replace("lantern", "brighter lantern"));
      return "";
    };
    expect((await runAt({ interactive: true, ask }, "review", "--db", db)).code).toBe(0);
    expect(readFileSync(join(repo, "A.md"), "utf8")).toContain("brighter lantern");
  });

  it("where nothing can be redrawn the gate is printed, and lines are the answers", async () => {
    await stopAtGate("A.md");
    const said = ["what?", "a", "n", "approve", "y"];
    const ask = async (): Promise<string | null> => said.shift() ?? null;
    const ran = await runAt({ interactive: true, ask }, "review", "--db", db);
    expect(ran.code).toBe(0);
    expect(ran.out.split("Preview")).toHaveLength(2);
    expect(written("A.md")).toBe(true);
  });

  it("a call in doubt is asked about by what became of it", async () => {
    const path = join(folder.path, "letters.ts");
    const from = (file: string): string => JSON.stringify(new URL(`../../src/define/${file}`, import.meta.url).href);
    writeFileSync(
      path,
      `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
      import { defineCapability } from ${from("define-capability.ts")};
      import { defineOperator } from ${from("define-operator.ts")};
      const input = z.object({});
      const run = () => { throw new Error("cut off"); };
      const send = defineOperator({ name: "Letter.Send", input, effect: "final_write", run });
      const step = { step_id: "send", name: "Send the letter", operator: "Letter.Send", params: {} };
      export default defineCapability({ intentType: "Office.Letter", version: "1.0", input, operators: [send],
        plan: { reasoning: "send it", steps: [step] } });`,
    );
    const own = ["--db", db, "--capabilities", path];
    const waiting = await readHere<WorkflowState>("run", "Office.Letter", "--wait", ...own);
    const person = makePerson(["a", "y", "a", "f", "y", "q"], () => "it never left");
    const ran = await runAt(person.terminal, "review", ...own);
    expect(person.screens[2]).toMatch(/\[d\]it-happened \[t\]it-did-not:-try-again\s+\[f\]it-did-not:-give-up/);
    expect(ran.out).toContain("reject, rejected: Letter.Send");
    expect(person.screens[5]).toContain("gate-send_r1");
    const { gates } = await readHere<WorkflowState>("show", waiting.workflow_id, ...own);
    const doubt = gates.find(({ kind }) => kind === "in_doubt");
    expect(doubt?.decision).toMatchObject({ resolution: "failed", comment: "it never left" });

    // The next plan's call is lost as well: this time somebody knows what it gave.
    const answers = ['{"sent": ', '{"sent": 1}'];
    const knowing = makePerson(["a", "y", "d", "y", "d", "y"], () => answers.shift() ?? "");
    await runAt(knowing.terminal, "review", ...own);
    expect(knowing.questions[0]).toContain("Optional: what did the call give");
    expect(knowing.screens.join("\n")).toContain("Not taken: ");
    expect(knowing.screens.join("\n")).toContain("called Letter.Send");
    const done = await readHere<WorkflowState>("show", waiting.workflow_id, ...own);
    expect([done.state, done.steps.at(-1)?.output_text]).toEqual(["completed", '{"sent":1}']);
  });

  it("over a pipe it waits for no key: gates and the commands that decide them, or JSON", async () => {
    const { workflow_id, gates } = await stopAtGate("A.md");
    const ran = await runHere("review", "--db", db);
    expect(ran.out).toContain(`countersign approve ${workflow_id} gate-publish --digest ${gates[0]?.payload_digest}`);
    const json = await readHere<{ gates: Gate[] }>("review", "--db", db);
    expect(json.gates).toMatchObject([{ workflow_id, editable: { target: "outcome" } }]);
    expect((await runHere("review", "--db", db, "--operator", "No.Such")).out).toBe("no gate waits\n");
  });
});

describe("resume", () => {
  it("asks what the workflow waits for, and says where there is nothing to go on with", async () => {
    const { workflow_id } = await stopAtGate("A.md");
    expect((await runHere("resume", workflow_id, "--db", db)).out).toContain("countersign approve");
    const person = makePerson(["a", "y"]);
    expect(await runAt(person.terminal, "resume", workflow_id, "--db", db)).toMatchObject({ code: 0, err: "" });
    expect(written("A.md")).toBe(true);
    expect((await runHere("resume", workflow_id, "--db", db)).out).toContain("nothing to go on with");
  });

  it("runs what nobody has run yet", async () => {
    const input = JSON.stringify({ repo, out: "A.md" });
    const accepted = await readHere<WorkflowState>("run", "Repo.ReleaseNotes.Draft", "--input", input, "--db", db);
    expect(accepted).toMatchObject({ status: "accepted" });
    expect((await readHere<WorkflowState>("resume", accepted.workflow_id, "--db", db)).state).toBe("waiting_for_user");
  });
});

describe("demo at a terminal", () => {
  it("offers the notes that wait from before", async () => {
    const { workflow_id } = await stopAtGate("RELEASE_NOTES.md");
    const said = ["y"];
    const person = makePerson(["a", "y"], () => said.shift() ?? "");
    const ran = await runAt(person.terminal, "demo", "--repo", repo, "--db", db);
    expect(ran.out).toContain(workflow_id);
    expect(ran.out).toContain(`\nwritten: ${join(repo, "RELEASE_NOTES.md")}\n\nNext:\n`);
    const next = ran.out.slice(ran.out.indexOf("\nNext:"));
    expect(next).toMatch(new RegExp(`#/w/${workflow_id}\\n.* serve --db .*\\n.*\\n.* dev .*\\n.*src/guide/start\\.md`));
    expect((await readHere<{ workflows: unknown[] }>("list", "--db", db)).workflows).toHaveLength(1);
  });

  it.each(["n", "no", "q", "NO", null])(
    "%s is a no: nothing is taken up, and nothing else is drafted",
    async (said) => {
      const { workflow_id } = await stopAtGate("RELEASE_NOTES.md");
      const person = makePerson([], () => said);
      const ran = await runAt(person.terminal, "demo", "--repo", repo, "--db", db);
      expect([ran.code, person.questions.length, person.screens.length]).toEqual([0, 1, 0]);
      expect(ran.out).toContain(`review --workflow ${workflow_id}`);
      expect((await readHere<{ workflows: unknown[] }>("list", "--db", db)).workflows).toHaveLength(1);
      expect(written("RELEASE_NOTES.md")).toBe(false);
    },
  );

  it("drafts others only where that is said, and asks again where it is not understood", async () => {
    await stopAtGate("RELEASE_NOTES.md");
    const said = ["", "perhaps", "d"];
    const person = makePerson(["q"], () => said.shift() ?? "");
    await runAt(person.terminal, "demo", "--repo", repo, "--db", db);
    expect(person.questions).toHaveLength(3);
    expect((await readHere<{ workflows: unknown[] }>("list", "--db", db)).workflows).toHaveLength(2);
  });
});

// Completion scripts: complete with what the program has, and taken by the shells that are there.

import { spawnSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listPlainWords } from "../../src/faces/cli/complete-ids.ts";
import { createKernel } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { publishing } from "../gates/story.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { launcher, runHere } from "./command-line.ts";

const isThere = (shell: string): boolean => spawnSync(shell, ["--version"]).status === 0;
const script = async (shell: string): Promise<string> => (await runHere("completion", shell)).out;

const caller = { tenant_id: 1, principal: { type: "user", id: "ann", role: "user" } };

/** A ledger with a workflow that has ended, and a newer one that waits at a gate. */
async function fillLedger(path: string) {
  await using kernel = await createKernel({ ledger: sqliteLedger({ path }), capabilities: [publishing().capability] });
  const begin = async () => {
    const intent_hint = { intent_type: "Story.Note.Publish" };
    const { workflow_id } = await kernel.submit({ ...caller, input: { text: "note" }, intent_hint });
    return (await kernel.settled(workflow_id)).workflow_id;
  };
  const done = await begin();
  await kernel.cancel(done, caller);
  const waiting = await begin();
  const [gate] = await kernel.gates({ workflow_id: waiting }, caller);
  return { done, waiting, gate: String(gate?.gate_id) };
}

describe("completion", () => {
  it.each(["bash", "zsh", "fish"])("of %s knows every command of the help, and their options", async (shell) => {
    const text = await script(shell);
    const { out } = await runHere("--help");
    const commands = [...out.matchAll(/^ {2}([a-z-]+) /gm)].map((match) => String(match[1]));
    expect(commands.length).toBeGreaterThan(20);
    for (const command of commands.filter((name) => name !== "help")) expect(text).toContain(command);
    for (const option of ["tag-prefix", "for-role", "resume_failed_steps", "answer-gates"])
      expect(text).toContain(option);
  });

  it.each(["bash", "zsh", "fish"])("of %s is a script that the shell can read, if it is there", async (shell) => {
    const text = await script(shell);
    if (!isThere(shell)) return;
    using folder = makeTempFolder();
    const source = join(folder.path, "completion");
    writeFileSync(source, text);
    const { status, stderr } = spawnSync(shell, ["-n", source], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  it.runIf(isThere("bash"))(
    "in bash completes commands, options, what an option takes, and files with spaces",
    async () => {
      using folder = makeTempFolder();
      writeFileSync(join(folder.path, "my ledger.db"), "");
      const source = join(folder.path, "completion.bash");
      writeFileSync(source, await script("bash"));
      const complete = (...words: readonly string[]): string[] => {
        const typed = ["countersign", ...words].map((word) => `'${word}'`).join(" ");
        const setup = `source ${source}; COMP_WORDS=(${typed}); COMP_CWORD=${words.length}`;
        const line = `${setup}; _countersign; printf '%s\\n' "\${COMPREPLY[@]}"`;
        const { stdout } = spawnSync("bash", ["-c", line], { cwd: folder.path, encoding: "utf8" });
        return stdout.split("\n").filter(Boolean);
      };
      expect(complete("re")).toEqual(expect.arrayContaining(["reject", "replay", "resume", "retry", "review"]));
      expect(complete("demo", "--tag")).toEqual(["--tag-prefix"]);
      expect(complete("retry", "wf_1", "--mode", "re")).toEqual(["resume_failed_steps", "regenerate", "replay"]);
      expect(complete("list", "--db", "my")).toEqual(["my ledger.db"]);
      expect(complete("list", "--limit", "")).toEqual([]);
      expect(complete("completion", "")).toEqual(["bash", "zsh", "fish"]);
    },
  );

  it.runIf(isThere("bash"))(
    "in bash completes ids of workflows and of their open gates, and evaluates no word",
    async () => {
      using folder = makeTempFolder();
      const source = join(folder.path, "completion.bash");
      writeFileSync(source, await script("bash"));
      const db = join(folder.path, "my ledger.db");
      const { waiting, gate, done } = await fillLedger(db);
      const complete = (line: string): string[] => {
        const words = line.split(" ");
        const run = [
          `countersign() { '${process.execPath}' '${launcher}' "$@"; }`,
          `source ${source}`,
          `COMP_LINE=$1; COMP_POINT=\${#1}; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))`,
          `_countersign; printf '%s\\n' "\${COMPREPLY[@]}"`,
        ].join("; ");
        const { stdout } = spawnSync("bash", ["-c", run, "bash", line, ...words], {
          cwd: folder.path,
          encoding: "utf8",
        });
        return stdout.split("\n").filter(Boolean);
      };
      expect(complete(`countersign show --db '${db}' `)).toEqual([waiting, done]);
      expect(complete(`countersign gates --db "${db}" --workflow wf_`)).toEqual([waiting, done]);
      expect(complete(`countersign approve --db "${db}" --comment "two words" `)).toEqual([waiting]);
      expect(complete(`countersign approve --db "${db}" ${waiting} `)).toEqual([gate]);
      expect(complete(`countersign show --db $(touch\t${folder.path}/evil) `)).not.toContain(done);
      expect(complete(`countersign show --db no-such.db `)).toEqual(expect.arrayContaining(["--db"]));
      expect(readdirSync(folder.path)).not.toContain("evil");
      expect(readdirSync(folder.path)).not.toContain("no-such.db");
    },
  );

  it("offers no id that a shell would take for more than a word", () => {
    const forged = ["$(id)", "a b", "`id`", "x;id", "'", "", "--", "\u202ewf_1", "a\nb"];
    expect(listPlainWords(["wf_1", ...forged, "wf_1", "gate_2"])).toEqual(["wf_1", "gate_2"]);
  });

  it("of ids loads no module that is named, and says nothing where there is nothing to read", async () => {
    using folder = makeTempFolder();
    const host = join(folder.path, "host.mjs");
    writeFileSync(
      host,
      `import { readdirSync, writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(`${host}.ran`)}, "");`,
    );
    const none = join(folder.path, "none.db");
    for (const named of ["--host", "--capabilities", "--policies"])
      expect(await runHere("complete-ids", "--", "show", named, host, "--db", none)).toEqual({
        code: 0,
        out: "",
        err: "",
      });
    for (const words of [
      [],
      ["no-such-command"],
      ["show", "--limit", "x"],
      ["show", "--db", none],
      ["show", "--db", ""],
    ])
      expect(await runHere("complete-ids", "--", ...words)).toMatchObject({ code: 0, out: "" });
    expect(readdirSync(folder.path)).toEqual(["host.mjs"]);
  });

  it("of another shell is wrong usage", async () => {
    expect(await runHere("completion", "csh")).toMatchObject({
      code: 2,
      err: expect.stringContaining("bash, zsh, fish"),
    });
  });
});

// Completion scripts: complete with what the program has, and taken by the shells that are there.

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { runHere } from "./command-line.ts";

const isThere = (shell: string): boolean => spawnSync(shell, ["--version"]).status === 0;
const script = async (shell: string): Promise<string> => (await runHere("completion", shell)).out;

describe("completion", () => {
  it.each(["bash", "zsh", "fish"])("of %s knows every command of the help, and their options", async (shell) => {
    const text = await script(shell);
    const { out } = await runHere("--help");
    const commands = [...out.matchAll(/^ {2}([a-z]+) \[/gm)].map((match) => String(match[1]));
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
        const line = `source ${source}; COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _countersign; printf '%s\\n' "\${COMPREPLY[@]}"`;
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

  it("of another shell is wrong usage", async () => {
    expect(await runHere("completion", "csh")).toMatchObject({
      code: 2,
      err: expect.stringContaining("bash, zsh, fish"),
    });
  });
});

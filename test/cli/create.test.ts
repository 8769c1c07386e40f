// `create` where no folder can be made: wrong usage, and nothing is left of it. The program that it makes.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { asOrdinaryUser, makeTempFolder } from "../fixtures.ts";
import { readHere, runHere, runProcess } from "./command-line.ts";

it.each([["letter.txt"], ["letter.txt/sub"], [`new/folder/${"x".repeat(300)}`]])(
  "create %s is wrong usage, and nothing is made or changed",
  async (name) => {
    using folder = makeTempFolder();
    const letter = join(folder.path, "letter.txt");
    writeFileSync(letter, "Dear reader");
    const ran = await runHere("create", join(folder.path, name));
    expect([ran.code, ran.out]).toEqual([2, ""]);
    expect(ran.err).toMatch(/^error: .* cannot be made: [\s\S]*name another folder/);
    expect(readdirSync(folder.path)).toEqual(["letter.txt"]);
    expect(readFileSync(letter, "utf8")).toBe("Dear reader");
  },
);

it("create where nothing may be made is wrong usage", async () => {
  using folder = makeTempFolder();
  const ran = await asOrdinaryUser(() => runHere("create", join(folder.path, "mine")));
  expect([ran.code, ran.out]).toEqual([2, ""]);
  expect(ran.err).toContain("EACCES");
});

it("create makes the folders above it", async () => {
  using folder = makeTempFolder();
  const made = join(folder.path, "a/b");
  expect((await runHere("create", made)).code).toBe(0);
  expect(readdirSync(made)).toContain("package.json");
  expect((await runHere("create", made)).err).toContain("is not empty");
});

it("create from a checkout depends on that checkout, and says that it is to be built where it is not", async () => {
  using folder = makeTempFolder();
  const made = join(folder.path, "mine");
  const { out } = await runHere("create", made);
  const { dependencies } = JSON.parse(readFileSync(join(made, "package.json"), "utf8")) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
  expect(dependencies["countersign"]).toBe(`file:${root}`);
  const isBuilt = existsSync(join(root, "dist/src/index.js"));
  expect(out.includes(`  npm --prefix ${root} run build\n`)).toBe(!isBuilt);
});

it("create says what to type next, quoted where a shell needs it", async () => {
  using folder = makeTempFolder();
  const made = join(folder.path, "my shop");
  expect((await runHere("create", made)).out).toContain(`\n  cd '${made}'\n`);
});

it("the program of a new folder asks about the run that an earlier start left", async () => {
  using folder = makeTempFolder();
  const made = join(folder.path, "mine");
  await runHere("create", made);
  const preload = fileURLToPath(new URL("../../src/faces/cli/dev-preload.ts", import.meta.url));
  const start = (...args: readonly string[]) =>
    spawnSync(process.execPath, ["--import", preload, "main.ts", ...args], { cwd: made, encoding: "utf8" });
  expect(start().stderr).toContain("somebody has to agree");
  expect(start("--yes").stdout).toContain("completed");
  const { workflows } = await readHere<{ workflows: object[] }>("list", "--db", join(made, "workflows.db"));
  expect(workflows).toMatchObject([{ state: "completed" }]);
  // The command line finds what the folder's modules import, although nothing is installed there.
  const ran = await runProcess(made, "list", "--db", "workflows.db", "--capabilities", ".");
  expect(ran).toMatchObject({ code: 0, out: expect.stringContaining("completed"), err: "" });
});

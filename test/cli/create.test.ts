// `create` where no folder can be made: wrong usage, and nothing is left of it.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { asOrdinaryUser, makeTempFolder } from "../fixtures.ts";
import { runHere } from "./command-line.ts";

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

it("create says what to type next, quoted where a shell needs it", async () => {
  using folder = makeTempFolder();
  const made = join(folder.path, "my shop");
  expect((await runHere("create", made)).out).toContain(`\n  cd '${made}'\n`);
});

/** The launcher on a Node that is too old: what it says leads on, by whichever command it was called. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeTempFolder } from "../fixtures.ts";
import { launcher } from "./command-line.ts";

/** As far as the launcher can see. */
const older = 'data:text/javascript,Object.defineProperty(process.versions, "node", { value: "20.1.0" })';

/** A copy of the launcher in a folder where nothing else is. */
function runOlder(folder: string, ...words: readonly string[]) {
  const alone = join(folder, "bin.mjs");
  copyFileSync(launcher, alone);
  return spawnSync(process.execPath, ["--import", older, alone, ...words], { encoding: "utf8" });
}

describe("on an older Node", () => {
  it.each([
    [["list"], 'or run "npm install node@24" beside countersign.'],
    [["create"], 'or run "npx -p node@24 -p create-countersign create-countersign my-workflows".'],
    [["create", "shop"], 'or run "npx -p node@24 -p create-countersign create-countersign shop".'],
    [["create", "my shop"], "or run \"npx -p node@24 -p create-countersign create-countersign 'my shop'\"."],
  ])("%j ends with 2 and says what leads on", (words, next) => {
    using folder = makeTempFolder();
    const { status, stdout, stderr } = runOlder(folder.path, ...words);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^countersign needs Node 24 or newer; this is v[\d.]+\.\nNext: install Node 24 \(.*\), /);
    expect(stderr).toContain(next);
  });

  it("the Node that is installed beside it is taken, and its end passed through", () => {
    using folder = makeTempFolder();
    const beside = join(folder.path, "node_modules/node");
    mkdirSync(join(beside, "bin"), { recursive: true });
    writeFileSync(join(beside, "package.json"), '{"name":"node","version":"24.1.0"}');
    writeFileSync(join(beside, "bin/node"), '#!/bin/sh\necho "$@"\nexit 7\n', { mode: 0o755 });
    const { status, stdout } = runOlder(folder.path, "list", "--json");
    expect([status, stdout]).toEqual([7, expect.stringMatching(/bin\.mjs list --json\n$/)]);
  });
});

// What printed commands begin with, wherever the program is and wherever it is typed.

import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findInvocation } from "../../src/faces/cli/invocation.ts";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";

let folder: TempFolder;
beforeEach(() => {
  folder = makeTempFolder();
});
afterEach(() => folder[Symbol.dispose]());

/** A launcher in a folder, and what the folder's package is called. */
function makePackage(name: string, ...path: readonly string[]): { readonly top: string; readonly launcher: string } {
  const top = join(folder.path, ...path);
  const launcher = join(top, "src/faces/cli/bin.mjs");
  mkdirSync(join(top, "src/faces/cli"), { recursive: true });
  writeFileSync(join(top, "package.json"), JSON.stringify({ name }));
  writeFileSync(launcher, "");
  chmodSync(launcher, 0o755);
  return { top, launcher };
}

function link(launcher: string, ...path: readonly string[]): string {
  const bin = join(folder.path, ...path);
  mkdirSync(bin, { recursive: true });
  symlinkSync(launcher, join(bin, "countersign"));
  return bin;
}

describe("a printed command", () => {
  it("begins with npx in a checkout, wherever in it, also when npm has put its own folders first", () => {
    const { top, launcher } = makePackage("countersign", "checkout");
    const path = link(launcher, "checkout/node_modules/.bin");
    expect(findInvocation({ cwd: top, path, launcher })).toBe("npx countersign");
    expect(findInvocation({ cwd: join(top, "src"), path: "", launcher })).toBe("npx countersign");
  });

  it("begins with npx beside an installed package, and below it", () => {
    const { launcher } = makePackage("countersign", "app/node_modules/countersign");
    const app = join(folder.path, "app");
    link(launcher, "app/node_modules/.bin");
    writeFileSync(join(app, "package.json"), '{"name":"app"}');
    mkdirSync(join(app, "src"));
    for (const cwd of [app, join(app, "src")])
      expect(findInvocation({ cwd, path: "", launcher })).toBe("npx countersign");
  });

  it("is the bare name only where a shell finds this very program", () => {
    const { launcher } = makePackage("countersign", "lib/countersign");
    const other = makePackage("countersign", "other");
    const path = link(launcher, "bin");
    const cwd = folder.path;
    expect(findInvocation({ cwd, path: `/nowhere:${path}`, launcher })).toBe("countersign");
    expect(findInvocation({ cwd, path, launcher: other.launcher })).toBe(`node ${other.launcher}`);
  });

  it("names the program by its path elsewhere, quoted where a shell needs it", () => {
    const { launcher } = makePackage("countersign", "my tools");
    expect(findInvocation({ cwd: folder.path, path: "", launcher })).toBe(`node '${launcher}'`);
  });
});

/** The package that npm would publish: what is in it, for whom it resolves, how large it is, and that it runs. */

import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { describe, expect, inject, it } from "vitest";
import { readGuide as readOwnGuide } from "../../src/faces/http/guide/read-guide.ts";
import type { Packed } from "./pack-package.ts";
import { restoreManifest, stripManifest } from "./publish-manifest.ts";

// The workers of vitest ask for the condition `development`, under which the package points at its TypeScript sources.
const checker = new URL("../../node_modules/@arethetypeswrong/core/dist/index.js", import.meta.url).href;
type Checker = typeof import("@arethetypeswrong/core");
const { checkPackage, createPackageFromTarballData } = (await import(checker)) as Checker;

const { tarball, app } = inject("packed" as never) as Packed;
const root = join(import.meta.dirname, "../..");
const folder = join(app, "node_modules", "countersign");

/**
 * The sizes of the tarball and of its content; to be raised with a reason. Further kinds of steps, schedules,
 * children, undoing, queues, stages, addresses of waits, messages, grants, adapters for agents and lists of budgets
 * raised them from 1,600,000 and 6,000,000.
 */
const maxPackedBytes = 2_500_000;
const maxUnpackedBytes = 9_800_000;

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly types: string; readonly default?: string } | string>>;
  readonly keywords: readonly string[];
}
const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
const entries = Object.entries(manifest.exports).flatMap(([name, entry]) =>
  typeof entry === "string" ? [] : [[name, entry] as const],
);
const paths = globSync("**/*", { cwd: folder, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));

describe("the published package", () => {
  it("has no scripts, of which npm would warn at installation, and nothing else is left out", () => {
    const own = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const { scripts, ...rest } = own;
    expect(scripts).toMatchObject({ prepare: expect.any(String), prepack: expect.any(String) });
    expect(manifest).toEqual(rest);
    expect(paths.filter((path) => path.endsWith(".kept"))).toEqual([]);
  });

  it("leaves the manifest of the repository as it was, also after a packing that was interrupted", () => {
    const at = mkdtempSync(join(tmpdir(), "countersign-manifest-"));
    const text = '{ "name": "a",\n"scripts": { "prepare": "b" } }';
    writeFileSync(join(at, "package.json"), text);
    stripManifest(at);
    stripManifest(at);
    expect(JSON.parse(readFileSync(join(at, "package.json"), "utf8"))).toEqual({ name: "a" });
    restoreManifest(at);
    restoreManifest(at);
    expect(readFileSync(join(at, "package.json"), "utf8")).toBe(text);
    rmSync(at, { recursive: true });
  });

  it.each(entries)("has the entry point %s with its declarations", (_name, entry) => {
    for (const file of Object.values(entry)) expect(existsSync(join(folder, file))).toBe(true);
  });

  it("runs", async () => {
    const at = pathToFileURL(join(folder, "dist/src/index.js")).href;
    const { createKernel } = (await import(at)) as typeof import("../../src/index.ts");
    const kernel = await createKernel();
    expect((await kernel.verify()).ok).toBe(true);
    await kernel.stop();
  });

  it("a CommonJS program can require every entry, and gets what an import gets", async () => {
    const names = entries
      .filter(([, entry]) => entry.default !== undefined)
      .map(([name]) => `countersign${name.slice(1)}`);
    const program = `(async () => {
      for (const name of ${JSON.stringify(names)}) {
        const [required, imported] = [require(name), await import(name)];
        const differs = Object.keys(required).filter((key) => required[key] !== imported[key]);
        if (differs.length > 0 || Object.keys(required).length === 0) console.log(name, differs);
      }
      console.log("compared");
    })()`;
    writeFileSync(join(app, "required.cjs"), program);
    expect(execFileSync(process.execPath, [join(app, "required.cjs")], { encoding: "utf8" })).toBe("compared\n");
  });

  it("finds its guide, every page and picture of it", async () => {
    const at = pathToFileURL(join(folder, "dist/src/faces/http/guide/read-guide.js")).href;
    const { readGuide } = (await import(at)) as typeof import("../../src/faces/http/guide/read-guide.ts");
    expect(readGuide()).toEqual(readOwnGuide());
    expect(readOwnGuide()?.pages.length).toBeGreaterThan(10);
  });

  it("has the console, the launcher and no source that nothing reads", () => {
    const names = paths.map((path) => path.slice(folder.length + 1));
    expect(names).toEqual(expect.arrayContaining(["src/faces/cli/bin.mjs", "dist/console/index.html", "LICENSE"]));
    expect(
      names.filter((name) => name.endsWith(".map") || /^(src(?!\/faces\/cli\/template)|test)\/.*\.ts$/.test(name)),
    ).toEqual([]);
    expect(manifest.keywords.length).toBeGreaterThan(5);
  });

  it("names no path that a bundler takes for a module", () => {
    const assets = /new URL\((?!["'`])[^)]*import\.meta\.url/;
    expect(paths.filter((path) => path.endsWith(".js") && assets.test(readFileSync(path, "utf8")))).toEqual([]);
  });

  it("is as small as it is said to be", () => {
    expect(statSync(tarball).size).toBeLessThan(maxPackedBytes);
    expect(paths.reduce((sum, path) => sum + statSync(path).size, 0)).toBeLessThan(maxUnpackedBytes);
  });

  it("publint finds nothing", async () => {
    const { messages, pkg } = await publint({ pkgDir: folder, level: "suggestion", strict: true, pack: false });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  it("its types resolve wherever ECMAScript modules do", async () => {
    const checked = await checkPackage(createPackageFromTarballData(new Uint8Array(readFileSync(tarball))));
    if (checked.types === false) throw new Error("the package has no types");
    const served = checked.problems.filter((problem) => !unserved.has(resolutionOf(problem)));
    expect(served).toEqual([]);
  });

  it("its documents link to what is in it", () => {
    const documents = paths.filter((path) => path.endsWith(".md"));
    const dead = documents.flatMap((path) => linksIn(path).filter((link) => !existsSync(join(dirname(path), link))));
    expect(dead).toEqual([]);
  });
});

/** By an ECMAScript module's declaration: what cannot load one is not served. */
const unserved: ReadonlySet<string> = new Set(["node10", "node16-cjs"]);
const resolutionOf = (problem: object): string => {
  const named = problem as { readonly resolutionKind?: string; readonly resolutionOption?: string };
  return named.resolutionKind ?? named.resolutionOption ?? "";
};

const linksIn = (path: string): readonly string[] =>
  [
    ...readFileSync(path, "utf8")
      .replace(/```[\s\S]*?```/g, "")
      .matchAll(/\]\(([^)#\s]+)[^)]*\)/g),
  ]
    .map(([, link = ""]) => link)
    .filter((link) => !/^[a-z]+:/.test(link));

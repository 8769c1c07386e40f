// The production build: it compiles, every entry point of package.json is there with its declarations, and the built
// kernel runs a workflow.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../..");
let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(root, "node_modules", ".build-"));
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  execFileSync(process.execPath, [tsc, "-p", "tsconfig.build.json", "--outDir", folder], { cwd: root });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly exports: Readonly<Record<string, { readonly types: string; readonly default: string } | string>>;
};
const entries = Object.entries(manifest.exports).flatMap(([name, entry]) =>
  typeof entry === "string" ? [] : [[name, entry] as const],
);

describe("the production build", () => {
  it.each(entries)("has the entry point %s with its declarations", (_name, entry) => {
    for (const file of [entry.types, entry.default])
      expect(existsSync(join(folder, file.replace("./dist/", "")))).toBe(true);
  });

  it("runs", async () => {
    const { createKernel } = (await import(join(folder, "src/index.js"))) as typeof import("../../src/index.ts");
    const kernel = await createKernel();
    expect((await kernel.verify()).ok).toBe(true);
    await kernel.stop();
  });
});

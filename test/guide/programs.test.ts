/** What the documents for users show: every block of code compiles, runs and prints what it says. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packagesIn } from "../package/packages-in.ts";
import { canServe } from "../postgres/can-serve.ts";
import { startServer } from "../postgres/start-server.ts";
import { listPaths, readSource } from "../tidy/source-files.ts";
import {
  filesOf,
  isAsShown,
  type Program,
  programsOf,
  readBlocks,
  type ShellStep,
  shellOf,
  strayBlocks,
} from "./read-blocks.ts";
import type { ProgramRun } from "./run-programs.ts";
import { compilePrograms, runPrograms, runShell, writeFiles, writePrograms } from "./workshop.ts";

const guidePaths = listPaths("src/guide").filter((path) => path.endsWith(".md"));
const pages = guidePaths.map((path) => {
  const { text } = readSource(path);
  return { name: basename(path, ".md"), text, blocks: readBlocks(text) };
});
const readme = { name: "readme", blocks: readBlocks(readSource("README.md").text) };
const needsDatabase = (steps: readonly ShellStep[]): boolean => steps.some(({ code }) => code.includes("postgres://"));
const inShell = pages
  .filter(({ blocks }) => blocks.some(({ lang }) => lang === "sh"))
  .filter(({ blocks }) => canServe() || !needsDatabase(shellOf(blocks)));

/** A server for a page that shows one. */
async function openDatabase(steps: readonly ShellStep[]) {
  if (!needsDatabase(steps)) return { url: null, [Symbol.asyncDispose]: async () => undefined };
  const { url, stop } = await startServer();
  return { url, [Symbol.asyncDispose]: stop };
}
const programs: readonly Program[] = [readme, ...pages].flatMap(({ name, blocks }) => programsOf(name, blocks));

/** A machine may lack them; the library does not need them. */
const hasTools = ["curl", "bash"].every((tool) => spawnSync(tool, ["--version"]).status === 0);

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "countersign-guide-"));
  writePrograms(folder, programs);
  for (const { name, blocks } of inShell) writeFiles(join(folder, name), filesOf(blocks));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the programs of README and guide", () => {
  it("compile", async () => {
    expect(await compilePrograms(folder)).toBe("");
  });

  let runs: readonly ProgramRun[] = [];
  beforeAll(async () => {
    runs = await runPrograms(folder);
  });

  it.each(programs.map((program) => [program.name, program.section, program] as const))(
    "[CARD-22] %s, under %s, runs as it stands and prints what it says",
    (name, _, { prints }) => {
      const file = `${name}.mts`;
      expect(runs.find((run) => run.name === file)).toEqual({ name: file, lines: prints, error: null });
    },
  );

  it("[CARD-22] the README has one each of embedding, approvals and inspection, and all of them print", () => {
    const sections = programsOf("readme", readme.blocks).map(({ section }) => section.toLowerCase());
    for (const topic of ["embedding", "approvals", "inspection"]) expect(sections.join("\n")).toContain(topic);
    expect(programs.filter(({ prints }) => prints.length === 0).map(({ name }) => name)).toEqual([]);
  });
});

describe("the guide", () => {
  it("has no block of code that nothing runs, keeps or compares", () => {
    const strays = pages.flatMap(({ name, blocks }) =>
      strayBlocks(blocks).map(({ lang, code }) => `${name}: ${lang} ${code.split("\n")[0]}`),
    );
    expect(strays).toEqual([]);
  });

  it("says on each page what its programs need beside what the start installs", () => {
    const started = ["countersign", "zod"];
    const unnamed = pages.flatMap(({ name, text, blocks }) => {
      const named = [...text.matchAll(/npm install ([^`]+)`/g)].flatMap(([, packages = ""]) =>
        packages.split(" ").map((one) => one.replace(/(?<=.)@.*$/, "")),
      );
      const imported = blocks.flatMap(({ lang, code }) => (lang === "ts" ? packagesIn(code) : []));
      const missing = imported.filter((one) => ![...started, ...named].includes(one));
      return missing.map((one) => `${name}: ${one}`);
    });
    expect(unnamed).toEqual([]);
  });

  it.skipIf(!hasTools).each(inShell.map((page) => [page.name, page] as const))(
    "%s: its lines for a shell run and print what is shown",
    async (name, { blocks }) => {
      const steps = shellOf(blocks);
      await using database = await openDatabase(steps);
      const { code, outs, errors } = await runShell(join(folder, name), steps, database.url);
      expect({ code, errors: code === 0 ? "" : errors }).toEqual({ code: 0, errors: "" });
      for (const [i, { prints }] of steps.entries())
        if (prints !== null && !isAsShown(prints, outs[i] ?? "")) expect(outs[i]).toBe(prints);
    },
  );
});

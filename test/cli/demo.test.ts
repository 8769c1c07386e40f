/**
 * The demonstration on repositories as they are found: without a tag, cut short, with several packages.
 *
 * Never: touches the repository this file lies in, or the network.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { WorkflowState } from "../../src/contract/workflow-state.ts";
import { commit, git, makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { readHere, runHere } from "./command-line.ts";

let folder: TempFolder;
let repo = "";
beforeEach(() => {
  folder = makeTempFolder();
  repo = join(folder.path, "repo");
  mkdirSync(repo);
  git(repo, "init", "--quiet");
});
afterEach(() => folder[Symbol.dispose]());

const demo = (...args: readonly string[]) =>
  runHere("demo", "--repo", repo, "--db", join(folder.path, "l.db"), "--yes", ...args);
const notes = (name = "RELEASE_NOTES.md"): string => readFileSync(join(repo, name), "utf8");

describe("demo", () => {
  it("without a release begins a page of changes back, and says so", async () => {
    for (let i = 0; i < 30; i += 1) {
      commit(repo, `feat: number ${i}`);
      commit(repo, "ci: pin");
    }
    const ran = await demo();
    expect(ran).toMatchObject({ code: 0, err: "" });
    expect(ran.out).toMatch(/no release to begin at: a page of the newest changes, since [0-9a-f]{7}/);
    expect(notes()).toMatch(/^25 changes since `[0-9a-f]{7}`\.$/m);
    expect(notes()).toContain("Not listed: 26 CI changes.");
    expect([notes().includes("number 5 "), notes().includes("number 4 ")]).toEqual([true, false]);
  });

  it("sorts by folder if subjects name no kind of change, and says so; given sections are kept", async () => {
    const write = (path: string, subject: string) => {
      mkdirSync(join(repo, path), { recursive: true });
      writeFileSync(join(repo, path, `${subject}.txt`), "x");
      git(repo, "add", ".");
      commit(repo, subject);
    };
    write("src/inbox", "The inbox is live");
    write("src/inbox", "The inbox counts");
    write("src/clock", "A clock stands still");
    write("test/inbox", "The inbox is held by tests");
    write("src/clock", "fix: a clock that runs");
    const ran = await demo();
    expect(ran.out).toContain("most commit subjects name no kind of change");
    expect(notes().match(/^## .*|^- [^(]*/gm)).toEqual([
      ...["## Fixes", "- a clock that runs "],
      ...["## src/inbox", "- The inbox counts ", "- The inbox is live "],
      ...["## Other changes", "- A clock stands still "],
      ...["## Maintenance", "- The inbox is held by tests "],
      "## Contributors",
    ]);
    const own = await demo("--sections", '[{"title":"All"}]', "--out", "own.md");
    expect(own.out).not.toContain("by folder");
    expect(notes("own.md").match(/^## .*/gm)).toEqual(["## All", "## Contributors"]);
  });

  it("works in a clone without tags and with a history cut short", async () => {
    for (const word of ["one", "two", "three"]) commit(repo, `feat: ${word}`);
    const origin = repo;
    repo = join(folder.path, "clone");
    git(folder.path, "clone", "--quiet", "--depth=2", "--no-tags", `file://${origin}`, repo);
    expect(await demo()).toMatchObject({ code: 0, err: "" });
    expect(notes()).toMatch(/2 changes since the beginning[\s\S]*The clone that this was read from is shallow/);
  });

  it("of one package of several: its tags, its files, its release, under a title of one's own", async () => {
    commit(repo, "feat: begin");
    git(repo, "tag", "core@1.0.0");
    mkdirSync(join(repo, "core"));
    for (const [path, subject] of [
      ["core/a.ts", "feat: of the core"],
      ["b.ts", "feat: of something else"],
    ] as const) {
      writeFileSync(join(repo, path), "x");
      git(repo, "add", ".");
      commit(repo, subject);
    }
    git(repo, "tag", "core@1.1.0");
    commit(repo, "feat: later");
    const own = ["--tag-prefix", "core@", "--path", "core", "--until", "core@1.1.0", "--title", "Core"];
    expect(await demo(...own)).toMatchObject({ code: 0 });
    expect(notes()).toMatch(/^# Core: 1\.1\.0 \(2026-01-02\)\n\n1 change since core@1\.0\.0\.\n/);
    expect(notes()).toContain("of the core");
  });

  it("writes the same as JSON beside it, behind a gate of its own, in sections as configured", async () => {
    commit(repo, "feat: a lantern");
    commit(repo, "docs: say so");
    const sections = JSON.stringify([{ title: "New", kinds: ["feature"] }, { title: null }]);
    const state = await readHere<WorkflowState>(
      ...["demo", "--repo", repo, "--db", join(folder.path, "l.db"), "--yes"],
      ...["--data-out", "notes.json", "--sections", sections, "--release", "1.0"],
    );
    expect(state.gates.map(({ gate_id, status }) => [gate_id, status])).toEqual([
      ["gate-publish", "approved"],
      ["gate-publish_data", "approved"],
    ]);
    expect(notes()).toContain("## New\n");
    expect(JSON.parse(notes("notes.json"))).toMatchObject({
      version: "1.0",
      sections: [{ title: "New", changes: [{ summary: "a lantern" }] }],
      omitted: [{ why: "documentation" }],
    });
    const wrong = await demo("--sections", '[{"titel":"New"}]');
    expect(wrong.code).toBe(1);
    expect(wrong.err).toContain("T1_NORMALIZE_INPUTS_INVALID");
    expect(existsSync(join(repo, "notes.json"))).toBe(true);
  });
});

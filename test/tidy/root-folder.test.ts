/** The root of the repository: what the design names, and what convention expects beside it. */
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readSource, root } from "./source-files.ts";

const required = ["package.json", "tsconfig.json", "src", "machines", "test", "visualizations", "README.md"] as const;
const folders: ReadonlySet<string> = new Set(["src", "machines", "test", "visualizations"]);
const conventional: ReadonlySet<string> = new Set([
  ...required,
  "package-lock.json",
  "LICENSE",
  "CHANGELOG.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "CODE_OF_CONDUCT.md",
  "CITATION.cff",
  "tsconfig.build.json",
  "vitest.config.ts",
  "biome.json",
]);

/** What is tracked; before the first commit, and in a copy without a history, what nothing ignores. */
function rootEntries(): readonly string[] {
  const paths = listTracked(["--cached"]) ?? listTracked(["--others", "--exclude-standard"]) ?? listNotIgnored();
  return [...new Set(paths.map((path) => path.split("/")[0] as string))].sort();
}

function listTracked(options: readonly string[]): readonly string[] | null {
  try {
    const output = execFileSync("git", ["ls-files", "-z", ...options], { cwd: root, encoding: "utf8", stdio: "pipe" });
    const paths = output.split("\0").filter((path) => path !== "");
    return paths.length === 0 ? null : paths;
  } catch {
    return null;
  }
}

function listNotIgnored(): readonly string[] {
  const lines = readSource(".gitignore")
    .text.split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  const patterns = lines.map(
    (line) => new RegExp(`^${line.replace(/\/$/, "").replaceAll(".", "\\.").replaceAll("*", ".*")}$`),
  );
  return readdirSync(root).filter((name) => name !== ".git" && !patterns.some((pattern) => pattern.test(name)));
}

const entries = rootEntries();
const isFolder = (name: string): boolean =>
  readdirSync(root, { withFileTypes: true }).some((e) => e.name === name && e.isDirectory());

describe("the root folder", () => {
  it("[CARD-02] holds the seven entries of the design", () => {
    expect(required.filter((name) => !entries.includes(name))).toEqual([]);
  });

  it("[CARD-02] shows no folder but the four", () => {
    expect(entries.filter((name) => !name.startsWith(".") && isFolder(name) && !folders.has(name))).toEqual([]);
  });

  it("[CARD-02] has no other file than convention expects there", () => {
    const strays = entries.filter((name) => !name.startsWith(".") && !conventional.has(name));
    expect(strays.map((name) => `${name}: put it into one of the four folders`)).toEqual([]);
  });

  it("a copy without a history is read from the folder, without what is ignored", () => {
    const names = listNotIgnored();
    expect(names).toEqual(expect.arrayContaining(["package.json", "src", "machines"]));
    expect(names).not.toContain("node_modules");
  });
});

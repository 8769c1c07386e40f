/** Names of files and folders, and what each file says about itself. */
import { basename } from "node:path";
import { describe, expect, it } from "vitest";
import { listPaths, parseSource, placeOf, readSource, sourcesIn, walkWithParents } from "./source-files.ts";

const folders = ["src", "machines", "test", "visualizations"] as const;
const paths = folders.flatMap(listPaths);

/** Names that say nothing about what stands inside. */
const emptyNames: ReadonlySet<string> = new Set([
  "utils",
  "util",
  "helpers",
  "helper",
  "common",
  "types",
  "manager",
  "managers",
  "misc",
  "lib",
]);

/** Metaphors and everyday words, each with what the field says. */
const fieldTerms: Readonly<Record<string, string>> = {
  bell: "announcer",
  book: "limiter, recorder, accounts",
  desk: "context",
  kit: "runtime",
  news: "updates",
  said: "body, answer, value",
  shelf: "registry",
  stretch: "segment",
  whence: "origin, site",
};

const wordsOf = (name: string): readonly string[] =>
  (name.match(/[A-Z]?[a-z]+/g) ?? []).map((word) => word.toLowerCase());

/** Names that a file gives, with their places; keys of objects are left out: some are those of a format. */
const namesGiven = (file: Parameters<typeof parseSource>[0]) =>
  [...walkWithParents(parseSource(file))].flatMap(({ node, parent }) => {
    const isKey = parent !== null && (parent["key"] === node || parent["property"] === node);
    const name = /^(Private)?Identifier$/.test(node.type) && !isKey ? (node["name"] as string) : "";
    return name === "" ? [] : [{ name, place: placeOf(file, node) }];
  });

/** Where a package's entry point, or the list a command line registers, stands. */
function entryPoints(): ReadonlySet<string> {
  const { exports } = JSON.parse(readSource("package.json").text) as {
    readonly exports: Record<string, string | { readonly types: string; readonly default?: string }>;
  };
  const targets = Object.values(exports).map((target) =>
    typeof target === "string" ? target : (target.default ?? target.types),
  );
  const sources = targets.map((target) => target.replace("./dist/", "").replace(/\.js$/, ".ts"));
  return new Set([...sources, "src/packages/capabilities/index.ts"]);
}

describe("names", () => {
  it("files and folders are written in kebab-case", () => {
    // Next names routes `[...path]`.
    const isKebab = (part: string) =>
      /^\.?[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9-]+)*$/.test(part) || /^[A-Z_]+\.md$/.test(part) || part === "[...path]";
    expect(paths.filter((path) => !path.split("/").every(isKebab))).toEqual([]);
  });

  it("no file or folder has a name that says nothing", () => {
    const stems = (path: string) => path.split("/").map((part) => part.split(".")[0] as string);
    const empty = paths.filter((path) =>
      stems(path).some((stem) => emptyNames.has(stem) || /-(utils?|helpers?|manager|types)$/.test(stem)),
    );
    expect(empty).toEqual([]);
  });

  it("what the field has a term for is called by it", () => {
    const files = sourcesIn("src", "machines");
    const inNames = files.flatMap(namesGiven).filter(({ name }) => wordsOf(name).some((word) => word in fieldTerms));
    const inPaths = files.filter(({ path }) => path.split(/[/.-]/).some((word) => word in fieldTerms));
    expect([...inNames.map(({ name, place }) => `${place}  ${name}`), ...inPaths.map(({ path }) => path)]).toEqual([]);
  });

  it("an index file stands at an entry point only", () => {
    const entries = entryPoints();
    const barrels = sourcesIn("src", "machines")
      .map((file) => file.path)
      .filter((path) => basename(path) === "index.ts" && !entries.has(path));
    expect(barrels).toEqual([]);
  });

  it("every file of src and machines opens with a comment that says what it is", () => {
    const silent = sourcesIn("src", "machines").filter(
      (file) => !/^(#!.*\n)?\s*(\/\*\*?|\/\/)\s*\S*/.test(file.text) || headerOf(file.text) === "",
    );
    expect(silent.map((file) => file.path)).toEqual([]);
  });
});

/** The words of the comment that a file opens with. */
function headerOf(text: string): string {
  const [header = ""] = /^(?:#!.*\n)?(?:\s*\/\*[\s\S]*?\*\/|(?:\s*\/\/[^\n]*\n?)+)/.exec(text) ?? [];
  return header
    .replace(/^#!.*/, "")
    .replace(/[/*\s]+/g, " ")
    .trim();
}

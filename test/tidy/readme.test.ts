/** The documents: what they name exists, and they stay short enough to read. */
import { existsSync, readdirSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { ladder } from "./ladder.ts";
import { listPaths, readSource, root } from "./source-files.ts";

const maxLines = { "README.md": 150, "ARCHITECTURE.md": 300, "CONTRIBUTING.md": 200 } as const;
const maxWords = 3500;
const maxRoomLines = 25;
/** That of the tests has a table with a row for each room of the code. */
const maxTestLines = 66;

const foldersIn = (folder: string): readonly string[] =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => posix.join(folder, entry.name));

const rooms = ["machines", "test", ...foldersIn("src")];
const roomPages = rooms.map((room) => `${room}/README.md`);
const guidePages = listPaths("src/guide").filter((path) => path.endsWith(".md"));
const pages = [...Object.keys(maxLines), "CHANGELOG.md", ...guidePages, ...roomPages];

const textOf = (path: string): string => {
  if (!existsSync(join(root, path))) throw new Error(`${path} does not exist yet`);
  return readSource(path).text;
};
const lineCount = (path: string): number => textOf(path).replace(/\n$/, "").split("\n").length;

/** What stands in backticks, outside blocks of code. */
const quotedIn = (text: string): readonly string[] =>
  [...text.replace(/```[\s\S]*?```/g, "").matchAll(/`([^`\n]+)`/g)].map(([, quoted = ""]) => quoted);

/** The two folders of T4 that pages name without their tier. */
const ofExecution: ReadonlySet<string> = new Set(["decide", "perform"]);
const topFolders: ReadonlySet<string> = new Set(["src", "machines", "test", "visualizations", ".ci", ...ofExecution]);

/** A path from the root: it begins with a folder of the root, or is a file of the root by its ending. */
function pathsIn(text: string): readonly string[] {
  return quotedIn(text).filter((quoted) => {
    const [first = "", ...rest] = quoted.split("/");
    if (/\s/.test(quoted)) return false;
    return rest.length > 0 ? topFolders.has(first) : /\.(ts|md|json|mjs|yaml)$/.test(quoted);
  });
}

/** `src/packages/operators/<name>/` stands for any folder there: the folder around the placeholder must exist. */
function exists(path: string): boolean {
  const full = ofExecution.has(path.split("/")[0] as string) ? `src/tiers/t4-execution/${path}` : path;
  return existsSync(join(root, full.replace(/[^/]*[<*].*$/, "")));
}

describe("the documents", () => {
  it.each(Object.entries(maxLines))("%s has at most %i lines", (path, most) => {
    expect(lineCount(path)).toBeLessThanOrEqual(most);
  });

  it(`ARCHITECTURE.md has at most ${maxWords} words`, () => {
    const words = textOf("ARCHITECTURE.md").split(/\s+/);
    expect(words.filter((word) => /[\p{L}\p{N}]/u.test(word)).length).toBeLessThanOrEqual(maxWords);
  });

  it(`every room has a README of at most ${maxRoomLines} lines`, () => {
    expect(roomPages.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    const mostOf = (path: string): number => (path === "test/README.md" ? maxTestLines : maxRoomLines);
    expect(roomPages.filter((path) => lineCount(path) > mostOf(path))).toEqual([]);
  });

  it("the tiers' README has a line for each tier", () => {
    const text = textOf("src/tiers/README.md");
    const tiers = foldersIn("src/tiers").map((path) => `\`${posix.basename(path)}/\``);
    expect(tiers.filter((tier) => !text.includes(tier))).toEqual([]);
  });

  it("every npm script that they name is one", () => {
    const { scripts } = JSON.parse(textOf("package.json")) as { readonly scripts: Readonly<Record<string, string>> };
    const named = pages.flatMap((path) =>
      [...textOf(path).matchAll(/npm (?:run ([a-z:-]+)|(start|test)\b)/g)].map(([, run, short]) => ({
        path,
        script: run ?? short ?? "",
      })),
    );
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter(({ script }) => !(script in scripts))).toEqual([]);
  });

  it.each(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])("every file that %s names exists", (path) => {
    const named = pathsIn(textOf(path));
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((file) => !exists(file))).toEqual([]);
  });

  it("every file that a room's README names is in the room, in a folder of it, or on the way to it", () => {
    const missing = roomPages.flatMap((page) => {
      const room = posix.dirname(page);
      const places = [room, ...foldersIn(room), posix.dirname(room), "src/ports"];
      return quotedIn(textOf(page))
        .filter((quoted) => /^[\w.-]+\.(ts|mjs)$/.test(quoted))
        .filter((file) => !places.some((place) => exists(`${place}/${file}`)))
        .map((file) => `${page} names ${file}`);
    });
    expect(missing).toEqual([]);
  });

  it("ARCHITECTURE.md draws the ladder as the table has it", () => {
    const rows = ladder.map(({ room, may }) => `${room.padEnd(14)}→ ${may.join(" ") || "nothing of ours"}`);
    expect(textOf("ARCHITECTURE.md")).toContain(`\`\`\`text\n${rows.join("\n")}\n\`\`\``);
  });

  it("ARCHITECTURE.md numbers its invariants and decisions without a gap", () => {
    const numbersOf = (letter: string) =>
      [...textOf("ARCHITECTURE.md").matchAll(new RegExp(`^- \\*\\*${letter}-(\\d+)`, "gm"))].map(([, n]) => Number(n));
    for (const numbers of [numbersOf("INV"), numbersOf("D")]) {
      expect(numbers.length).toBeGreaterThan(0);
      expect(numbers).toEqual(numbers.map((_, i) => i + 1));
    }
  });
});

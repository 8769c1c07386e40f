/** The documents: what they name exists, and they stay short enough to read. */
import { existsSync, readdirSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { ladder } from "./ladder.ts";
import { listPaths, readSource, root } from "./source-files.ts";

const maxLines = { "README.md": 150, "ARCHITECTURE.md": 400, "CONTRIBUTING.md": 150 } as const;
const maxRoomLines = 25;
/** That of the tests has a table with a row for each room of the code. */
const maxTestLines = 66;

const foldersIn = (folder: string): readonly string[] =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => posix.join(folder, entry.name));

const rooms = ["machines", "test", ...foldersIn("src")];
const roomPages = rooms.map((room) => `${room}/README.md`);
<<<<<<< HEAD
const guidePages = listPaths("src/guide").filter((path) => path.endsWith(".md"));
const pages = [...Object.keys(maxLines), "CHANGELOG.md", ...guidePages, ...roomPages];
=======
/** Pages beside the README whose examples run. */
const guides = ["src/define/governing.md", "src/guide/versions.md"];
const pages = [...Object.keys(maxLines), "CHANGELOG.md", ...guides, ...roomPages];
>>>>>>> 135a238 (Versions in flight: a doctor that lists what cannot run, migration under another version, a guide)

const textOf = (path: string): string => {
  if (!existsSync(join(root, path))) throw new Error(`${path} does not exist yet`);
  return readSource(path).text;
};
const lineCount = (path: string): number => textOf(path).replace(/\n$/, "").split("\n").length;

<<<<<<< HEAD
=======
const folder = mkdtempSync(join(tmpdir(), "countersign-readme-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What a reader's program would resolve; `zod` by the file that the kernel itself loads, so that schemas are of one kind. */
const resolved: Readonly<Record<string, string>> = {
  countersign: pathToFileURL(join(root, "src/index.ts")).href,
  "countersign/machines": pathToFileURL(join(root, "machines/index.ts")).href,
  "countersign/sqlite": pathToFileURL(join(root, "src/ledgers/sqlite/index.ts")).href,
  "countersign/testing": pathToFileURL(join(root, "src/testing/index.ts")).href,
  zod: import.meta.resolve("zod"),
};

interface Example {
  readonly section: string;
  readonly code: string;
  /** Lines after an arrow in a comment: what the example says that it prints. */
  readonly prints: readonly string[];
}

const headingsIn = (text: string): readonly string[] => text.match(/^## .*$/gm) ?? [];

function examplesIn(text: string): readonly Example[] {
  return [...text.matchAll(/<!-- runs -->\n```ts\n([\s\S]*?)```/g)].map(({ 1: code = "", index }) => ({
    code,
    section: headingsIn(text.slice(0, index)).at(-1) ?? "",
    prints: [...code.matchAll(/\/\/ → (.*)$/gm)].map(([, line = ""]) => line),
  }));
}

const withResolvedImports = (code: string): string =>
  code.replace(/(from |import\()"([^"]+)"/g, (_, how: string, name: string) => `${how}"${resolved[name] ?? name}"`);

/** In a process of its own, outside node_modules: Node runs no TypeScript from there. */
function runExample({ code }: Example, name: string) {
  const path = join(folder, `${name}.mts`);
  writeFileSync(path, withResolvedImports(code));
  const { status, stdout, stderr } = spawnSync(process.execPath, [path], {
    cwd: folder,
    encoding: "utf8",
    timeout: 20_000,
  });
  return { status, lines: stdout.trimEnd().split("\n"), stderr };
}

describe("the examples of the README and of the guides", () => {
  const examples = ["README.md", ...guides].flatMap((path) => examplesIn(textOf(path)));

  it("[CARD-22] embedding, approvals and inspection each have one", () => {
    const sections = examples.map((example) => example.section.toLowerCase()).join("\n");
    for (const topic of ["embedding", "approvals", "inspection"]) expect(sections).toContain(topic);
    expect(examples.filter((example) => example.prints.length === 0)).toEqual([]);
  });

  it.each(examples.map((example, i) => [example.section, i] as const))(
    "[CARD-22] the example under %s runs as it stands and prints what it says",
    (_, i) => {
      const example = examples[i] as Example;
      expect(runExample(example, `example-${i}`)).toEqual({ status: 0, lines: example.prints, stderr: "" });
    },
  );
});

>>>>>>> 135a238 (Versions in flight: a doctor that lists what cannot run, migration under another version, a guide)
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

/** `src/operators/<name>/` stands for any folder there: the folder around the placeholder must exist. */
function exists(path: string): boolean {
  const full = ofExecution.has(path.split("/")[0] as string) ? `src/tiers/t4-execution/${path}` : path;
  return existsSync(join(root, full.replace(/[^/]*[<*].*$/, "")));
}

describe("the documents", () => {
  it.each(Object.entries(maxLines))("%s has at most %i lines", (path, most) => {
    expect(lineCount(path)).toBeLessThanOrEqual(most);
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

/** The form of lines and of docstrings: what a reader meets in every file. */
import { describe, expect, it } from "vitest";
import { type SourceFile, sourcesIn } from "./source-files.ts";

const maxColumns = 120;

/** The numbers of offenders that a room still has. They may only shrink; a room that is not listed has none. */
const allowedLong: Readonly<Record<string, number>> = {
  "src/tiers": 75,
  test: 419,
};
const allowedDocs: Readonly<Record<string, number>> = {
  "src/tiers": 109,
};

const code = sourcesIn("src", "machines", "test", "visualizations");
const product = sourcesIn("src", "machines");

/** Returns the room of a file: a folder of `src`, or a folder of the root. */
const roomOf = ({ path }: SourceFile): string => path.split("/", path.startsWith("src/") ? 2 : 1).join("/");

/** A line that is one word, such as a regular expression or an address, cannot be wrapped. */
const isLong = (line: string): boolean => line.length > maxColumns && /\S\s+\S/.test(line.trim());

const longLinesOf = (file: SourceFile): string[] =>
  file.text.split("\n").flatMap((line, index) => (isLong(line) ? [`${file.path}:${index + 1}`] : []));

/** A question word without a sentence. `Whether` is the form for a member that is true or false. */
const headless = /^(What|Who|Whom|Whose|Where|Whence|Why|How|Which|That|Of|As)\b/;
const thirdPerson = /^([A-Z][a-z]+s\b|@)/;
const ofFunction = /^(export )?(async )?(function\b|const \w+ = (async )?(<[^=]*>)?\([^()]*\)(: [^=]+)? =>)/;

interface Docstring {
  readonly place: string;
  readonly text: string;
  readonly before: string;
}

function docstringsOf(file: SourceFile): Docstring[] {
  return [...file.text.matchAll(/^[ \t]*\/\*\*([\s\S]*?)\*\/[ \t]*\n[ \t]*(.*)$/gm)].map((match) => {
    const text = (match[1] ?? "").replace(/^[\s*]+/, "");
    const line = file.text.slice(0, match.index).split("\n").length;
    return { place: `${file.path}:${line}`, text, before: match[2] ?? "" };
  });
}

const isOffending = ({ text, before }: Docstring): boolean =>
  headless.test(text) || (ofFunction.test(before) && !thirdPerson.test(text));

const badDocsOf = (file: SourceFile): string[] =>
  docstringsOf(file)
    .filter(isOffending)
    .map(({ place, text }) => `${place}  ${text.slice(0, 60)}`);

/** Returns the offenders of the rooms that have more of them than they may. */
function beyond(files: readonly SourceFile[], find: (file: SourceFile) => string[], allowed: typeof allowedLong) {
  const byRoom = Map.groupBy(files, roomOf);
  return [...byRoom].flatMap(([room, inRoom]) => {
    const found = inRoom.flatMap(find);
    return found.length > (allowed[room] ?? 0) ? [`${room} has ${found.length}`, ...found] : [];
  });
}

describe("the form of the text", () => {
  it(`a line of code or comment has at most ${maxColumns} columns`, () => {
    expect(beyond(code, longLinesOf, allowedLong)).toEqual([]);
  });

  it("a docstring has a subject, and that of a function begins with a verb in the third person", () => {
    expect(beyond(product, badDocsOf, allowedDocs)).toEqual([]);
  });

  it("the scan finds a headless clause, a function without a verb and a long line", () => {
    const text = `/** What is told. */\nconst a = 1;\n/** The sum. */\nfunction f() {}\n// ${"a ".repeat(60)}b\n`;
    expect(badDocsOf({ path: "probe.ts", text })).toHaveLength(2);
    expect(longLinesOf({ path: "probe.ts", text })).toEqual(["probe.ts:5"]);
  });
});

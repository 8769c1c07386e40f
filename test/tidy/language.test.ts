/** The form of lines and of docstrings: what a reader meets in every file. */
import { describe, expect, it } from "vitest";
import { type SourceFile, sourcesIn } from "./source-files.ts";

const maxColumns = 120;

const code = sourcesIn("src", "machines", "test", "visualizations");
const product = sourcesIn("src", "machines");

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

describe("the form of the text", () => {
  it(`a line of code or comment has at most ${maxColumns} columns`, () => {
    expect(code.flatMap(longLinesOf)).toEqual([]);
  });

  it("a docstring has a subject, and that of a function begins with a verb in the third person", () => {
    expect(product.flatMap(badDocsOf)).toEqual([]);
  });

  it("the scan finds a headless clause, a function without a verb and a long line", () => {
    const text = `/** What is told. */\nconst a = 1;\n/** The sum. */\nfunction f() {}\n// ${"a ".repeat(60)}b\n`;
    expect(badDocsOf({ path: "probe.ts", text })).toHaveLength(2);
    expect(longLinesOf({ path: "probe.ts", text })).toEqual(["probe.ts:5"]);
  });
});

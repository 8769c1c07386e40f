/** What no file may contain, and the compiler's settings that make the rest sure. */
import { describe, expect, it } from "vitest";
import { lineAt, nodesOf, placeOf, readSource, type SourceFile, type SyntaxNode, sourcesIn } from "./source-files.ts";

const product = sourcesIn("src", "machines");
const everything = [...product, ...sourcesIn("test", "visualizations")];

/** Places of the nodes of one type. */
function findNodes(files: readonly SourceFile[], wanted: (node: SyntaxNode) => boolean): string[] {
  return files.flatMap((file) =>
    nodesOf(file)
      .filter(wanted)
      .map((node) => placeOf(file, node)),
  );
}

function findText(files: readonly SourceFile[], pattern: RegExp): string[] {
  return files.flatMap((file) =>
    [...file.text.matchAll(pattern)].map((match) => `${file.path}:${lineAt(file, match.index)}  ${match[0]}`),
  );
}

const literalTypes: ReadonlySet<string> = new Set(["Literal", "TemplateElement"]);

/** The text with its literals blanked: code and comments stand where they stood. */
function withoutLiterals(file: SourceFile): SourceFile {
  let text = file.text;
  for (const { type, start, end } of nodesOf(file)) {
    if (literalTypes.has(type))
      text = text.slice(0, start) + text.slice(start, end).replace(/[^\n]/g, " ") + text.slice(end);
  }
  return { path: file.path, text };
}

describe("syntax", () => {
  it("nothing is exported by default", () => {
    expect(findNodes(everything, (node) => node.type === "ExportDefaultDeclaration")).toEqual([]);
  });

  it("there is no enum and no namespace", () => {
    expect(
      findNodes(everything, (node) => node.type === "TSEnumDeclaration" || node.type === "TSModuleDeclaration"),
    ).toEqual([]);
  });

  it("nothing has the type any", () => {
    expect(findNodes(everything, (node) => node.type === "TSAnyKeyword")).toEqual([]);
  });

  it("relative imports name the file with its ending", () => {
    const bare = (node: SyntaxNode) => {
      const source = (node["source"] as { readonly value?: unknown } | null | undefined)?.value;
      return typeof source === "string" && source.startsWith(".") && !/\.(ts|tsx|mjs|json)$/.test(source);
    };
    expect(findNodes(everything, bare)).toEqual([]);
  });

  it("nothing is left to be done in a comment", () => {
    const marks = new RegExp(
      `(?<![\`])\\b(${["TO" + "DO", "FIX" + "ME", "X".repeat(3), "HA" + "CK"].join("|")})\\b`,
      "g",
    );
    const marked = everything.filter(({ text }) => text.search(marks) >= 0);
    expect(findText(marked.map(withoutLiterals), marks)).toEqual([]);
  });

  it("no test is skipped or run alone", () => {
    expect(findText(sourcesIn("test"), /\b(it|test|describe)\.(skip|only|todo)\b(?=\()/g)).toEqual([]);
  });
});

describe("types", () => {
  it("[CARD-03] src and machines suppress no error of the compiler", () => {
    expect(findText(product, /@ts-(ignore|nocheck|expect-error)\b/g)).toEqual([]);
  });

  it("[CARD-03] the compiler is strict, and reads src, machines, test and visualizations", () => {
    const { compilerOptions, include } = JSON.parse(readSource("tsconfig.json").text);
    expect(compilerOptions).toMatchObject({ strict: true, erasableSyntaxOnly: true, noUncheckedIndexedAccess: true });
    expect(
      Object.keys(compilerOptions).filter(
        (option) => /^(noImplicitAny|strict[A-Z])/.test(option) && compilerOptions[option] === false,
      ),
    ).toEqual([]);
    expect(include).toEqual(expect.arrayContaining(["src", "machines", "test", "visualizations"]));
  });

  it("[CARD-03] the test command checks the types", () => {
    const { scripts } = JSON.parse(readSource("package.json").text);
    expect(scripts.types).toMatch(/^tsc\b/);
    expect(scripts.test).toContain("npm run types");
  });
});

/** The catalogue of errors and the code that emits them say the same. */
import { describe, expect, it } from "vitest";
import { errorCodePattern } from "../../src/contract/error.ts";
import { errorCodes, isErrorCode } from "../../src/contract/error-codes.ts";
import { nodesOf, placeOf, type SourceFile, type SyntaxNode, sourcesIn, stringOf } from "./source-files.ts";

const catalogue = "src/contract/error-codes.ts";
const sources = sourcesIn("src").filter((file) => file.path !== catalogue);
/** The suites that users test with only look at codes; the test kernel has one of its own. */
const isEmitter = ({ path }: SourceFile): boolean =>
  path === "src/testing/test-kernel.ts" || !path.startsWith("src/testing/");

interface Mention {
  readonly file: SourceFile;
  readonly node: SyntaxNode;
  /** A code, or a pattern for what a template such as `T${tier}_ESCALATION_UNHANDLED` becomes. */
  readonly code: string | RegExp;
}

/** Codes as strings, as keys of an object, and as templates; comments do not count. */
function mentionsIn(file: SourceFile): readonly Mention[] {
  return nodesOf(file).flatMap((node) => {
    const code = stringOf(node) ?? (node.type === "Identifier" ? (node["name"] as string) : null);
    if (code !== null) return /^T\d_[A-Z0-9_]*[A-Z0-9]$/.test(code) ? [{ file, node, code }] : [];
    return node.type === "TemplateLiteral" ? patternOf(file, node) : [];
  });
}

function patternOf(file: SourceFile, node: SyntaxNode): readonly Mention[] {
  const quasis = node["quasis"] as readonly { readonly value: { readonly raw: string } }[];
  const texts = quasis.map((quasi) => quasi.value.raw);
  const isCode = texts.length > 1 && texts[0]?.startsWith("T") && texts.every((text) => /^[A-Z0-9_]*$/.test(text));
  return isCode && texts.some((text) => text.length > 3)
    ? [{ file, node, code: new RegExp(`^${texts.join("[A-Z0-9_]+")}$`) }]
    : [];
}

const mentions = sources.flatMap(mentionsIn);
const isMentioned = (row: string): boolean =>
  mentions.some(({ file, code }) => isEmitter(file) && (typeof code === "string" ? code === row : code.test(row)));

describe("error codes", () => {
  it("every row of the catalogue is used outside it", () => {
    const unused = Object.keys(errorCodes).filter((row) => !isMentioned(row));
    expect(unused.map((row) => `${row} is a row of ${catalogue} that nothing emits`)).toEqual([]);
  });

  it("every code that a source names is a row", () => {
    const unknown = mentions.filter(
      ({ code }) => typeof code === "string" && errorCodePattern.test(code) && !isErrorCode(code),
    );
    expect(unknown.map(({ file, node, code }) => `${placeOf(file, node)}  ${code} is no row of ${catalogue}`)).toEqual(
      [],
    );
  });

  it("codes in templates count for each row that they can become", () => {
    const text =
      "emit(`T$" + "{tier}_ESCALATION_UNHANDLED`, 'T4_TOOL_TIMEOUT', `took $" + "{ms}`); // T9_NOT_EMITTED\n";
    const found = mentionsIn({ path: "probe.ts", text }).map(({ code }) => String(code));
    expect(found).toEqual(["/^T[A-Z0-9_]+_ESCALATION_UNHANDLED$/", "T4_TOOL_TIMEOUT"]);
  });
});

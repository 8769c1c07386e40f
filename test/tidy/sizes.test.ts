/** Sizes: a file, a function and its nesting stay small enough to read at once. */
import { describe, expect, it } from "vitest";
import {
  asNode,
  childrenOf,
  lineAt,
  nameOf,
  nodesOf,
  type SourceFile,
  type SyntaxNode,
  sourcesIn,
} from "./source-files.ts";

const limits = { fileLines: 400, functionLines: 70, nesting: 3, medianFunctionLines: 10 } as const;

const product = sourcesIn("src", "machines");
const everything = [...product, ...sourcesIn("test", "visualizations")];

const lineCount = (file: SourceFile): number => file.text.replace(/\n$/, "").split("\n").length;

interface FunctionSize {
  readonly file: SourceFile;
  readonly node: SyntaxNode;
  readonly lines: number;
}

const functionTypes: ReadonlySet<string> = new Set([
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
]);

function functionsOf(file: SourceFile): readonly FunctionSize[] {
  const groups = new Set<unknown>();
  const sizes: FunctionSize[] = [];
  for (const node of nodesOf(file)) {
    if (isTestGroup(node)) for (const argument of node["arguments"] as readonly unknown[]) groups.add(argument);
    if (!functionTypes.has(node.type) || groups.has(node)) continue;
    sizes.push({ file, node, lines: lineAt(file, node.end) - lineAt(file, node.start) + 1 });
  }
  return sizes;
}

/** The function given to `describe` is a list of tests; each of them is measured. */
function isTestGroup(node: SyntaxNode): boolean {
  if (node.type !== "CallExpression") return false;
  let callee = asNode(node["callee"]);
  while (callee !== null && nameOf(callee) === null) callee = asNode(callee["object"] ?? callee["callee"]);
  return nameOf(callee) === "describe";
}

const blockTypes: ReadonlySet<string> = new Set([
  "IfStatement",
  "ForStatement",
  "ForOfStatement",
  "ForInStatement",
  "WhileStatement",
  "DoWhileStatement",
  "SwitchStatement",
  "TryStatement",
]);

/** The deepest block in a function, its inner functions apart; `else if` stands beside its `if`. */
function nestingOf(node: SyntaxNode, parent: SyntaxNode | null = null): number {
  const depths = childrenOf(node).map((child) => (functionTypes.has(child.type) ? 0 : nestingOf(child, node)));
  const isElseIf = node.type === "IfStatement" && parent?.type === "IfStatement" && parent["alternate"] === node;
  return Math.max(0, ...depths) + (blockTypes.has(node.type) && !isElseIf ? 1 : 0);
}

function medianOf(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

const placeOfFunction = ({ file, node }: FunctionSize): string => `${file.path}:${lineAt(file, node.start)}`;

describe("sizes", () => {
  it(`a file has at most ${limits.fileLines} lines`, () => {
    const long = everything.filter((file) => lineCount(file) > limits.fileLines);
    expect(long.map((file) => `${file.path} has ${lineCount(file)} lines`)).toEqual([]);
  });

  it(`a function has at most ${limits.functionLines} lines`, () => {
    const long = everything.flatMap(functionsOf).filter((size) => size.lines > limits.functionLines);
    expect(long.map((size) => `${placeOfFunction(size)} has ${size.lines} lines`)).toEqual([]);
  });

  // Tests are left out: a table of all cases is a loop in a loop.
  it(`blocks are nested at most ${limits.nesting} deep`, () => {
    const deep = product.flatMap(functionsOf).filter(({ node }) => nestingOf(node) > limits.nesting);
    expect(deep.map((size) => `${placeOfFunction(size)} is nested ${nestingOf(size.node)} deep`)).toEqual([]);
  });

  it(`half of all functions have fewer than ${limits.medianFunctionLines} lines`, () => {
    expect(medianOf(product.flatMap(functionsOf).map((size) => size.lines))).toBeLessThan(limits.medianFunctionLines);
  });

  it("the measures count a ladder of else-ifs once, and an inner function for itself", () => {
    const text =
      "function f(a) {\n  if (a) {\n    for (;;) if (a) go(() => { if (a) stop(); });\n  } else if (b) go();\n}\n";
    const sizes = functionsOf({ path: "probe.ts", text });
    expect(sizes.map(({ node, lines }) => [lines, nestingOf(node)])).toEqual([
      [5, 3],
      [1, 1],
    ]);
  });
});

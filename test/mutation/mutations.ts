/**
 * Which small changes a source file allows: each is a span of its text and what would stand there instead.
 *
 * Owns: the kinds of change, and the block whose running says that a change may be noticed. Never: reads a file, runs a
 * test.
 * M1  A change is text for text: nothing is printed from a syntax tree, so all else of the file stays byte for byte.
 * M2  Types, imports and texts for people (strings with a space) are left alone: no test should rest on them.
 * M3  A change outside every block has the block null: it takes effect when the module is loaded. The tree comes from
 *     `test/tidy/source-files.ts`; the drawing is `test/mutation/draw-mutations.ts`.
 */
import {
  asNode,
  childrenOf,
  lineAt,
  parseSource,
  type SourceFile,
  type SyntaxNode,
  textOf,
} from "../tidy/source-files.ts";

export interface Mutation {
  readonly path: string;
  readonly line: number;
  readonly kind: string;
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly after: string;
  /** Where the innermost block begins in which the change stands, as `path:offset`; null at the top of a module. */
  readonly block: string | null;
}

type Change = Pick<Mutation, "kind" | "start" | "end" | "after">;

interface Site {
  readonly file: SourceFile;
  readonly node: SyntaxNode;
  readonly parent: SyntaxNode | null;
}

const operators: ReadonlyMap<unknown, string> = new Map([
  ["===", "!=="],
  ["!==", "==="],
  ["<", "<="],
  ["<=", "<"],
  [">", ">="],
  [">=", ">"],
  ["+", "-"],
  ["-", "+"],
  ["*", "/"],
  ["&&", "||"],
  ["||", "&&"],
]);

const calls: ReadonlyMap<unknown, string> = new Map([
  ["some", "every"],
  ["every", "some"],
  ["min", "max"],
  ["max", "min"],
]);

const passedThrough: ReadonlySet<unknown> = new Set(["filter", "slice", "toSorted", "sort", "reverse", "trim"]);

const child = (node: SyntaxNode, name: string): SyntaxNode => asNode(node[name]) as SyntaxNode;

const replaced = (kind: string, node: SyntaxNode, after: string): Change => ({
  kind,
  start: node.start,
  end: node.end,
  after,
});

/** The operator's own span: between the operands, behind a bracket that may close the left one. */
function swapOperator({ file, node }: Site): readonly Change[] {
  const after = operators.get(node["operator"]);
  const [left, right] = [child(node, "left"), child(node, "right")];
  if (node["operator"] === "??") return [replaced("leave out default", node, textOf(file, left))];
  const isText = [left, right].some((side) => side.type === "TemplateLiteral" || typeof side["value"] === "string");
  if (after === undefined || (isText && node["operator"] === "+")) return [];
  const operator = String(node["operator"]);
  const start = file.text.indexOf(operator, left.end);
  return start > right.start ? [] : [{ kind: "swap operator", start, end: start + operator.length, after }];
}

const negate = (file: SourceFile, test: SyntaxNode): Change =>
  replaced("negate condition", test, `!(${textOf(file, test)})`);

function changeIf({ file, node }: Site): readonly Change[] {
  const drop = node["alternate"] === null ? [replaced("drop guard", node, ";")] : [];
  return [negate(file, child(node, "test")), ...drop];
}

function swapBranches({ file, node }: Site): readonly Change[] {
  const [yes, no] = [child(node, "consequent"), child(node, "alternate")];
  const between = file.text.slice(yes.end, no.start);
  const after = `${textOf(file, no)}${between}${textOf(file, yes)}`;
  return [{ kind: "swap branches", start: yes.start, end: no.end, after }];
}

function dropStatement({ node }: Site): readonly Change[] {
  return typeof node["directive"] !== "string" ? [replaced("drop statement", node, ";")] : [];
}

function changeReturn({ node }: Site): readonly Change[] {
  const value = asNode(node["argument"]);
  if (value === null || value.type === "Literal") return [];
  return [replaced("return nothing", value, value.type === "ArrayExpression" ? "[]" : "null")];
}

function changeLiteral({ node, parent }: Site): readonly Change[] {
  const { value } = node as { readonly value?: unknown };
  if (typeof value === "boolean") return [replaced("flip boolean", node, String(!value))];
  if (typeof value === "number") return [replaced("change number", node, String(value + 1))];
  const isName = parent?.type === "Property" && parent["key"] === node;
  if (typeof value !== "string" || isName || value.includes(" ")) return [];
  return [replaced("change text", node, value === "" ? '"x"' : '""')];
}

/** A property goes with the comma behind it. */
function dropProperty({ file, node, parent }: Site): readonly Change[] {
  if (parent?.type !== "ObjectExpression") return [];
  const comma = /^\s*,/.exec(file.text.slice(node.end));
  return [{ kind: "drop property", start: node.start, end: node.end + (comma?.[0].length ?? 0), after: "" }];
}

function changeCall({ file, node }: Site): readonly Change[] {
  const callee = child(node, "callee");
  if (callee.type !== "MemberExpression" || callee["computed"] === true) return [];
  const [object, property] = [child(callee, "object"), child(callee, "property")];
  const name = property["name"];
  const other = calls.get(name);
  if (other !== undefined) return [replaced("change call", property, other)];
  // An asserted type stands in parentheses, which are no part of its node.
  const text = typed.has(object.type) ? `(${textOf(file, object)})` : textOf(file, object);
  return passedThrough.has(name) ? [replaced("leave out call", node, text)] : [];
}

const changes: Readonly<Record<string, (site: Site) => readonly Change[]>> = {
  IfStatement: changeIf,
  WhileStatement: ({ file, node }) => [negate(file, child(node, "test"))],
  ConditionalExpression: swapBranches,
  LogicalExpression: swapOperator,
  BinaryExpression: swapOperator,
  UnaryExpression: ({ file, node }) =>
    node["operator"] === "!" ? [replaced("leave out not", node, textOf(file, child(node, "argument")))] : [],
  ExpressionStatement: dropStatement,
  ReturnStatement: changeReturn,
  Literal: changeLiteral,
  Property: dropProperty,
  SpreadElement: dropProperty,
  ArrayExpression: ({ node }) =>
    (node["elements"] as readonly unknown[]).length > 0 ? [replaced("empty list", node, "[]")] : [],
  CallExpression: changeCall,
};

const skipped: ReadonlySet<string> = new Set(["ImportDeclaration", "ExportAllDeclaration", "ImportExpression"]);
const typed: ReadonlySet<string> = new Set(["TSAsExpression", "TSSatisfiesExpression", "TSNonNullExpression"]);

/** What runs below a node: types are passed by. */
function runningChildren(node: SyntaxNode): readonly SyntaxNode[] {
  if (typed.has(node.type)) return [child(node, "expression")];
  return childrenOf(node).filter(({ type }) => !skipped.has(type) && (typed.has(type) || !type.startsWith("TS")));
}

/** A block is a body in braces or the expression behind an arrow: what runs as a whole once it is entered. */
const isBlock = (node: SyntaxNode, parent: SyntaxNode | null): boolean =>
  node.type === "BlockStatement" || (parent?.type === "ArrowFunctionExpression" && parent["body"] === node);

const blockName = (file: SourceFile, node: SyntaxNode): string => `${file.path}:${node.start}`;

interface Visited extends Site {
  readonly block: string | null;
}

function* visit({ file, node, parent, block }: Visited): Generator<Visited> {
  const inside = isBlock(node, parent) ? blockName(file, node) : block;
  yield { file, node, parent, block: inside };
  for (const below of runningChildren(node)) yield* visit({ file, node: below, parent: node, block: inside });
}

const visitFile = (file: SourceFile): Generator<Visited> =>
  visit({ file, node: parseSource(file), parent: null, block: null });

/** Every change that the file allows, in the order of the text. */
export function mutationsOf(file: SourceFile): readonly Mutation[] {
  const found: Mutation[] = [];
  for (const site of visitFile(file)) {
    for (const change of changes[site.node.type]?.(site) ?? []) {
      const before = file.text.slice(change.start, change.end);
      if (before === change.after) continue;
      found.push({ path: file.path, line: lineAt(file, change.start), ...change, before, block: site.block });
    }
  }
  return found.sort((a, b) => a.start - b.start || a.end - b.end);
}

export const mutate = (text: string, { start, end, after }: Mutation): string =>
  text.slice(0, start) + after + text.slice(end);

/** The file's text with a call at the head of each block that names the block: see `test/mutation/record-hits.ts`. */
export function instrument(file: SourceFile): string {
  const inserts: { readonly at: number; readonly text: string }[] = [];
  for (const { node, parent } of visitFile(file)) {
    if (!isBlock(node, parent)) continue;
    const hit = `globalThis.__hit?.(${JSON.stringify(blockName(file, node))})`;
    if (node.type === "BlockStatement") inserts.push({ at: node.start + 1, text: `${hit};` });
    else inserts.push({ at: node.start, text: `(${hit},` }, { at: node.end, text: ")" });
  }
  const pieces: string[] = [];
  let done = 0;
  for (const { at, text } of inserts.toSorted((a, b) => a.at - b.at)) {
    pieces.push(file.text.slice(done, at), text);
    done = at;
  }
  return pieces.join("") + file.text.slice(done);
}

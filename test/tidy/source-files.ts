/**
 * Reading the sources as text and as syntax trees, for the tests of this folder.
 *
 * Owns: which files there are, what each imports, where a syntax node stands. Never: a rule (each test file has its
 * own).
 * R1  Paths are relative to the repository and use forward slashes, so that messages can be clicked and tables
 *     compared.
 * R2  An import is type-only when nothing of it is left at run time: `import { type A }` still loads its module.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, extname, join, posix, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAst } from "vitest/node";

export const root = fileURLToPath(new URL("../../", import.meta.url));

export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** A syntax node as the parser gives it (ESTree with TypeScript). */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

export interface Import {
  readonly from: string;
  readonly specifier: string;
  /** The imported file's path, or null for a package or a builtin. */
  readonly file: string | null;
  /** The package's or builtin's name, or null for a file. */
  readonly package: string | null;
  readonly kind: "runtime" | "type" | "dynamic";
  readonly line: number;
}

const codeExtensions: ReadonlySet<string> = new Set([".ts", ".tsx", ".mts", ".mjs", ".js"]);
const skippedFolders: ReadonlySet<string> = new Set(["node_modules", "dist", "coverage", ".git", ".vitest"]);

/** Every file under a folder of the repository, in a stable order. */
export function listPaths(folder: string): readonly string[] {
  const full = join(root, folder);
  if (!existsSync(full)) return [];
  const entries = readdirSync(full, { withFileTypes: true, recursive: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"));
  return paths.filter((path) => !path.split("/").some((part) => skippedFolders.has(part))).sort();
}

const byPath = new Map<string, SourceFile>();

export function readSource(path: string): SourceFile {
  const known = byPath.get(path);
  if (known !== undefined) return known;
  const file = { path, text: readFileSync(join(root, path), "utf8") };
  byPath.set(path, file);
  return file;
}

/** Programs of users, by the rules of their own: they import the package by its name and read their environment. */
const ofUsers = ["src/faces/cli/template/", "src/faces/cli/create-countersign/", "test/examples/"] as const;

/** The code files under the given folders, but for programs of users. */
export function sourcesIn(...folders: readonly string[]): readonly SourceFile[] {
  const paths = folders.flatMap(listPaths).filter((path) => codeExtensions.has(extname(path)));
  return paths.filter((path) => !ofUsers.some((folder) => path.startsWith(folder))).map(readSource);
}

export const lineAt = (file: SourceFile, offset: number): number => file.text.slice(0, offset).split("\n").length;

/** `path:line`, for messages. */
export const placeOf = (file: SourceFile, node: SyntaxNode): string => `${file.path}:${lineAt(file, node.start)}`;

export const textOf = (file: SourceFile, node: SyntaxNode): string => file.text.slice(node.start, node.end);

const trees = new WeakMap<SourceFile, SyntaxNode>();

export function parseSource(file: SourceFile): SyntaxNode {
  const known = trees.get(file);
  if (known !== undefined) return known;
  const lang = file.path.endsWith("x") ? "tsx" : file.path.endsWith("ts") ? "ts" : "js";
  const tree = parseAst(file.text, { lang }, file.path) as unknown as SyntaxNode;
  trees.set(file, tree);
  return tree;
}

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" && value !== null && typeof (value as { readonly type?: unknown }).type === "string";

export function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (const value of Object.values(node)) {
    if (isNode(value)) children.push(value);
    else if (Array.isArray(value)) children.push(...value.filter(isNode));
  }
  return children;
}

/** The node and everything below it, parents before children. */
export function* walk(node: SyntaxNode): Generator<SyntaxNode> {
  const left = [node];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    yield next;
    left.push(...childrenOf(next).reverse());
  }
}

export interface Parented {
  readonly node: SyntaxNode;
  readonly parent: SyntaxNode | null;
}

export function* walkWithParents(node: SyntaxNode, parent: SyntaxNode | null = null): Generator<Parented> {
  yield { node, parent };
  for (const child of childrenOf(node)) yield* walkWithParents(child, node);
}

const nodes = new WeakMap<SourceFile, readonly SyntaxNode[]>();

export function nodesOf(file: SourceFile): readonly SyntaxNode[] {
  const known = nodes.get(file) ?? [...walk(parseSource(file))];
  nodes.set(file, known);
  return known;
}

export const asNode = (value: unknown): SyntaxNode | null => (isNode(value) ? value : null);

/** The text of a string literal, or null. */
export function stringOf(value: unknown): string | null {
  const node = asNode(value);
  return node?.type === "Literal" && typeof node["value"] === "string" ? node["value"] : null;
}

/** The name of an identifier, or null. */
export function nameOf(value: unknown): string | null {
  const node = asNode(value);
  return node?.type === "Identifier" ? (node["name"] as string) : null;
}

/** What a file imports and re-exports, with the place of each. */
export function importsOf(file: SourceFile): readonly Import[] {
  const found: Import[] = [];
  for (const node of nodesOf(file)) {
    const kind = importKind(node);
    const specifier = stringOf(node["source"] ?? node["argument"]);
    if (kind === null || specifier === null) continue;
    const target = specifier.startsWith(".") ? posix.join(dirname(file.path), specifier) : null;
    const name = target === null ? packageOf(specifier) : null;
    found.push({ from: file.path, specifier, file: target, package: name, kind, line: lineAt(file, node.start) });
  }
  return found;
}

function importKind(node: SyntaxNode): Import["kind"] | null {
  if (node.type === "TSImportType") return "type";
  if (node.type === "ImportExpression") return "dynamic";
  if (node.type === "ImportDeclaration") return node["importKind"] === "type" ? "type" : "runtime";
  if (node.type !== "ExportNamedDeclaration" && node.type !== "ExportAllDeclaration") return null;
  return node["exportKind"] === "type" ? "type" : "runtime";
}

function packageOf(specifier: string): string {
  if (specifier.startsWith("node:")) return specifier;
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

/** The kernel rooms of the requirements: what must know no business, no vendor and no shipped package. */
export const kernelRooms = [
  "machines",
  "src/contract",
  "src/ports",
  "src/protocol",
  "src/define",
  "src/engine",
  "src/tiers",
] as const;

/**
 * `node test/guide/annotate-declarations.ts DIST`: gives the declarations in DIST the docstrings that the compiler
 * drops.
 *
 * The compiler writes the type of `z.object({ … })` without the comments of its keys, so an editor would show none
 * for what is inferred from a schema: plans, gates, requests, options. Each comment is read from the sources and put
 * before its key. The script beside the declarations then need not hold it: it is taken out there, and the package
 * stays small.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { ts } from "@ts-morph/common";
import { root } from "../tidy/source-files.ts";
import { createProgram } from "./typed-program.ts";

interface Insertion {
  readonly at: number;
  readonly text: string;
}

class Annotation {
  readonly #checker: ts.TypeChecker;
  readonly #declared: ts.SourceFile;
  readonly insertions: Insertion[] = [];
  /** The comments that stand in the declarations now. */
  readonly comments = new Set<string>();

  constructor(checker: ts.TypeChecker, declared: ts.SourceFile) {
    this.#checker = checker;
    this.#declared = declared;
  }

  /** Walks a type as it is declared beside the type that the source has there. */
  walk(node: ts.TypeNode | undefined, type: ts.Type): void {
    if (node === undefined) return;
    if (ts.isTypeLiteralNode(node)) for (const member of node.members) this.#member(member, type);
    else if (ts.isTypeReferenceNode(node) || ts.isArrayTypeNode(node) || ts.isTupleTypeNode(node))
      this.#each(elementsOf(node), this.#argumentsOf(type));
    else if (ts.isTypeOperatorNode(node)) this.walk(node.type, type);
  }

  #each(nodes: readonly ts.TypeNode[], types: readonly ts.Type[]): void {
    for (const [i, node] of nodes.entries()) {
      const type = types[i];
      if (type !== undefined) this.walk(node, type);
    }
  }

  #argumentsOf(type: ts.Type): readonly ts.Type[] {
    if (type.aliasTypeArguments !== undefined) return type.aliasTypeArguments;
    const isReference = ((type as ts.ObjectType).objectFlags & ts.ObjectFlags.Reference) !== 0;
    return isReference ? this.#checker.getTypeArguments(type as ts.TypeReference) : [];
  }

  #member(member: ts.TypeElement, type: ts.Type): void {
    if (!ts.isPropertySignature(member) || (!ts.isIdentifier(member.name) && !ts.isStringLiteral(member.name))) return;
    const key = type.getProperty(member.name.text);
    if (key === undefined) return;
    const comment = commentOf(key);
    const at = member.getStart(this.#declared);
    const has = ts.getLeadingCommentRanges(this.#declared.text, member.getFullStart()) !== undefined;
    if (comment !== null && !has) {
      this.insertions.push({ at, text: `${comment}${indentAt(this.#declared, at)}` });
      this.comments.add(comment);
    }
    this.walk(member.type, this.#checker.getTypeOfSymbol(key));
  }
}

const elementsOf = (node: ts.TypeReferenceNode | ts.ArrayTypeNode | ts.TupleTypeNode): readonly ts.TypeNode[] => {
  if (ts.isArrayTypeNode(node)) return [node.elementType];
  return ts.isTupleTypeNode(node) ? node.elements : (node.typeArguments ?? []);
};

/** The comment as it stands before the key in its source, on one line of its own. */
function commentOf(key: ts.Symbol): string | null {
  const declaration = key.valueDeclaration ?? key.declarations?.[0];
  const file = declaration?.getSourceFile();
  if (declaration === undefined || file === undefined) return null;
  const ranges = ts.getLeadingCommentRanges(file.text, declaration.getFullStart()) ?? [];
  const text = ranges.map(({ pos, end }) => file.text.slice(pos, end)).findLast((one) => one.startsWith("/**"));
  return text === undefined ? null : text.replace(/\n\s*\*/g, "\n *");
}

/** The line break and the blanks before this place. */
function indentAt(file: ts.SourceFile, at: number): string {
  const line = file.text.slice(file.text.lastIndexOf("\n", at) + 1, at);
  return `\n${/^\s*/.exec(line)?.[0] ?? ""}`;
}

const variablesOf = (file: ts.SourceFile): readonly ts.VariableDeclaration[] =>
  file.statements.filter(ts.isVariableStatement).flatMap(({ declarationList }) => declarationList.declarations);

interface Annotated {
  readonly declarations: string;
  readonly comments: ReadonlySet<string>;
}

/** The declarations of one source file, with the comments of its schemas' keys. */
function annotate(checker: ts.TypeChecker, source: ts.SourceFile, declarations: string): Annotated {
  const declared = ts.createSourceFile("declared.d.ts", declarations, ts.ScriptTarget.Latest, true);
  const annotation = new Annotation(checker, declared);
  const written = new Map(variablesOf(source).map((variable) => [variable.name.getText(), variable] as const));
  for (const { name, type } of variablesOf(declared)) {
    const variable = written.get(name.getText());
    if (variable !== undefined) annotation.walk(type, checker.getTypeAtLocation(variable));
  }
  const annotated = annotation.insertions
    .sort((a, b) => b.at - a.at)
    .reduce((text, { at, text: comment }) => text.slice(0, at) + comment + text.slice(at), declarations);
  return { declarations: annotated, comments: annotation.comments };
}

const wordsIn = (comment: string): string => comment.replace(/\s*\n\s*\*/g, " ").replace(/\s+/g, " ");

/** A script without these comments; comments of functions and files stay. */
const withoutComments = (script: string, comments: ReadonlySet<string>): string => {
  const known = new Set([...comments].map(wordsIn));
  return script.replace(/^[ \t]*(\/\*\*(?:(?!\*\/).|\n)*\*\/)\n/gm, (whole, comment: string) =>
    known.has(wordsIn(comment)) ? "" : whole,
  );
};

const dist = process.argv[2] ?? join(root, "dist");
const entries = [
  "src/ledger/sqlite",
  "src/ledger/postgres",
  "src/hosts/restate",
  "src/observers/telemetry",
  "src/observers/inspect",
  "src",
  "src/faces/http",
  "src/faces/protocols/a2a",
  "src/faces/protocols/agui",
  "src/faces/events",
  "src/faces/mcp",
  "src/faces/agents/ai-sdk",
  "src/faces/agents/langgraph",
  "src/faces/agents/mastra",
  "src/faces/agents/claude-agent",
  "src/faces/agents/openai-agents",
  "src/observers/notifiers",
  "src/packages/operators/llm",
  "src/packages/policies/cedar",
  "src/packages/policies/opa",
  "src/testing",
];
const program = createProgram(
  root,
  entries.map((entry) => join(root, entry, "index.ts")),
);
for (const source of program.getSourceFiles()) {
  const path = relative(root, source.fileName);
  if (!/^(src|machines)[/]/.test(path) || source.isDeclarationFile) continue;
  const at = join(dist, path.replace(/\.ts$/, ".d.ts"));
  const { declarations, comments } = annotate(program.getTypeChecker(), source, readFileSync(at, "utf8"));
  writeFileSync(at, declarations);
  const script = join(dist, path.replace(/\.ts$/, ".js"));
  writeFileSync(script, withoutComments(readFileSync(script, "utf8"), comments));
}

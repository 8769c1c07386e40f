/**
 * The hover texts of what people write: every key of what public functions take, as an editor shows it.
 *
 * Owns: the walk from a function's parameters to the keys of what may be given. Never: says which keys need a text.
 */
import { join } from "node:path";
import { ts } from "@ts-morph/common";
import { createProgram } from "./typed-program.ts";

/** A key that may be written, and what an editor tells of it. */
export interface Hover {
  /** From the function on: `submit.intent_hint.inputs`. */
  readonly path: string;
  /** The file that declares it. */
  readonly file: string;
  readonly text: string;
}

/** The declarations in a folder, read once for all of their entries. */
export interface Declarations {
  readonly home: string;
  readonly program: ts.Program;
}

/** Reads the declarations of the entries, which are paths in `home`. */
export const readDeclarations = (home: string, entries: readonly string[]): Declarations => ({
  home,
  program: createProgram(
    home,
    entries.map((entry) => join(home, entry)),
  ),
});

/**
 * Returns every key of what the named exports of an entry take, each once, by the first way to it. Keys that are
 * declared outside the folder of the declarations are left out.
 */
export function readHovers({ home, program }: Declarations, entry: string, names: readonly string[]): readonly Hover[] {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(join(home, entry)) as ts.SourceFile;
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(source) as ts.Symbol);
  const walk = new Walk(checker, home);
  for (const name of names) {
    const found = exported.find((one) => one.name === name);
    if (found === undefined) throw new Error(`${entry} exports no ${name}`);
    const symbol = (found.flags & ts.SymbolFlags.Alias) === 0 ? found : checker.getAliasedSymbol(found);
    const isType = (symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias)) !== 0;
    const type = isType ? checker.getDeclaredTypeOfSymbol(symbol) : checker.getTypeOfSymbol(symbol);
    if (type.getCallSignatures().length > 0) walk.parameters(type, name);
    else if (name === "Kernel") walk.methods(type);
    else walk.keys(type, name);
  }
  return [...walk.hovers.values()];
}

class Walk {
  readonly hovers = new Map<ts.Declaration, Hover>();
  readonly #seen = new Set<ts.Type>();
  readonly #checker: ts.TypeChecker;

  readonly #home: string;

  constructor(checker: ts.TypeChecker, home: string) {
    this.#checker = checker;
    this.#home = home;
  }

  methods(type: ts.Type): void {
    for (const method of type.getProperties()) this.parameters(this.#checker.getTypeOfSymbol(method), method.name);
  }

  parameters(type: ts.Type, path: string): void {
    for (const signature of type.getCallSignatures())
      for (const parameter of signature.getParameters()) this.keys(this.#checker.getTypeOfSymbol(parameter), path);
  }

  /** The keys of an object that is written, or of each that may be; of a list, of its elements. */
  keys(given: ts.Type, path: string): void {
    const type = this.#checker.getNonNullableType(given);
    if (this.#seen.has(type)) return;
    this.#seen.add(type);
    if (type.isUnionOrIntersection() && type.isUnion()) for (const one of type.types) this.keys(one, path);
    else if (this.#checker.isArrayLikeType(type))
      for (const element of this.#checker.getTypeArguments(type as ts.TypeReference)) this.keys(element, path);
    else if ((type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) !== 0) this.#object(type, path);
    else if ((type.flags & ts.TypeFlags.TypeParameter) !== 0) {
      const constraint = this.#checker.getBaseConstraintOfType(type);
      if (constraint !== undefined && constraint !== type) this.keys(constraint, path);
    }
  }

  #object(type: ts.Type, path: string): void {
    const values = type.getStringIndexType();
    if (values !== undefined) this.keys(values, `${path}.*`);
    for (const key of type.getProperties()) this.#key(key, path);
  }

  #key(key: ts.Symbol, path: string): void {
    const [declaration] = key.declarations ?? [];
    if (declaration === undefined) return;
    const file = declaration.getSourceFile().fileName;
    if (!file.startsWith(`${this.#home}/`) || file.slice(this.#home.length).includes("node_modules")) return;
    const at = `${path}.${key.name}`;
    if (!this.hovers.has(declaration)) {
      const text = ts.displayPartsToString(key.getDocumentationComment(this.#checker));
      this.hovers.set(declaration, { path: at, file: file.slice(this.#home.length + 1), text });
    }
    this.keys(this.#checker.getTypeOfSymbol(key), at);
  }
}

/**
 * Reads YAML, of which JSON is a part, as plain data, for rules from any source.
 *
 * Owns: the accepted YAML, and the check that a field is written once. Never: knows the meaning or the source of the
 * data.
 * 1.  A field that is written twice is refused, under a quoted name or an alias, too. All fields are checked at once:
 *     the parser's own check compares each with each, and a large file blocked a process for minutes.
 */
import type { Document } from "yaml";
import { loadPeers } from "./load-peers.ts";

/** Reads YAML. @throws Error for invalid YAML and for its warnings, and for aliases that would grow without end. */
export async function readYaml(text: string): Promise<unknown> {
  // The parser is loaded late, because most users who may read rules read none.
  const { isAlias, isScalar, parseDocument, visit } = await loadPeers(
    { user: "reading YAML", packages: ["yaml@2"] },
    () => import("yaml"),
  );
  const read: Document = parseDocument(text, { schema: "core", uniqueKeys: false });
  const [wrong] = [...read.errors, ...read.warnings];
  if (wrong !== undefined) throw wrong;
  const nameOf = (key: unknown): string => {
    const named = isAlias(key) ? key.resolve(read) : key;
    return String(isScalar(named) ? named.value : named);
  };
  visit(read, { Map: (_, { items }) => requireOnce(items.map(({ key }) => nameOf(key))) });
  return read.toJS();
}

function requireOnce(names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw new Error(`Map keys must be unique: ${name} is written twice`);
    seen.add(name);
  }
}

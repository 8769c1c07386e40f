/** Titles of tests carry requirements; each must be one of test/spec/requirements.yaml. */
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import {
  asNode,
  nameOf,
  nodesOf,
  placeOf,
  readSource,
  type SourceFile,
  type SyntaxNode,
  sourcesIn,
  stringOf,
} from "./source-files.ts";

interface Requirement {
  readonly id: string;
  readonly must: string;
  readonly check: string;
}

const requirements = parse(readSource("test/spec/requirements.yaml").text) as readonly Requirement[];
const known: ReadonlySet<string> = new Set(requirements.map((requirement) => requirement.id));

/** Decisions on conflicts and ambiguities: a title may name one; they are no requirements. */
const isDecision = (id: string): boolean => /^[AC]-\d+$/.test(id);

const testCalls: ReadonlySet<string> = new Set(["it", "test", "describe"]);

/** The name a call begins with: `it` of `it.each(table)("…")`. */
function baseOf(node: SyntaxNode): string | null {
  let at = asNode(node["callee"]);
  while (at !== null && nameOf(at) === null) at = asNode(at["object"] ?? at["callee"] ?? at["tag"]);
  return nameOf(at);
}

function titleOf(node: SyntaxNode): string {
  const [first] = (node["arguments"] ?? []) as readonly unknown[];
  const quasis = (asNode(first)?.["quasis"] ?? []) as readonly { readonly value: { readonly raw: string } }[];
  return stringOf(first) ?? quasis.map((quasi) => quasi.value.raw).join("…");
}

const idsIn = (title: string): readonly string[] =>
  [...title.matchAll(/\[((?:[A-Z]+-\d+[\s,]*)+)\]/g)].flatMap(([, list]) => list?.match(/[A-Z]+-\d+/g) ?? []);

function unknownIds(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) =>
    nodesOf(file)
      .filter((node) => node.type === "CallExpression" && testCalls.has(baseOf(node) ?? ""))
      .flatMap((node) =>
        idsIn(titleOf(node))
          .filter((id) => !known.has(id) && !isDecision(id))
          .map((id) => `${placeOf(file, node)}  ${id} is no requirement`),
      ),
  );
}

describe("requirements", () => {
  it("each has an id of its own, a text and a check", () => {
    expect(requirements.length).toBe(known.size);
    expect(requirements.filter((r) => !/^[A-Z]+-\d+$/.test(r.id) || !r.must || !r.check)).toEqual([]);
  });

  it("every id in the title of a test is a requirement", () => {
    expect(unknownIds([...sourcesIn("test"), ...sourcesIn("src/testing")])).toEqual([]);
  });

  it("the scan finds an unknown id in every kind of title, and lets decisions pass", () => {
    const id = "ZZZ" + "-99";
    const text = `it("[${id}] a", f); describe.each(t)("[INV-06, ${id}] %s", f); it(\`[C-01] [${id}] \${x}\`, f);`;
    expect(unknownIds([{ path: "probe.ts", text }])).toHaveLength(3);
  });
});

/** The executor treats all work alike, and takes its timeout from one place. */
import { describe, expect, it } from "vitest";
import {
  asNode,
  nameOf,
  nodesOf,
  parseSource,
  placeOf,
  type SourceFile,
  type SyntaxNode,
  sourcesIn,
  textOf,
  walkWithParents,
} from "./source-files.ts";

const executor = sourcesIn("src/tiers/t4-execution");
const product = sourcesIn("src", "machines");

const comparisons: ReadonlySet<string> = new Set(["===", "!==", "==", "!="]);
const textTests: ReadonlySet<string> = new Set([
  "startsWith",
  "endsWith",
  "includes",
  "match",
  "test",
  "has",
  "localeCompare",
]);

/** `intent.type`, `intent_type`, `scope.type`, `capability.name`, `capabilityName`, `capability.intent_type` … */
const meaning =
  /\b(intent_?type|intent\??\.type|scope_?type|scope\??\.type|capability_?name|capability\??\.(name|intent_?type)|scope_?kind)\b/i;

/** What a node decides on: the sides of a comparison, the subject of a switch, what a text test is asked of. */
function subjectsOf(node: SyntaxNode): readonly unknown[] {
  if (node.type === "BinaryExpression" && comparisons.has(node["operator"] as string))
    return isAbsence(node) ? [] : [node["left"], node["right"]];
  if (node.type === "SwitchStatement") return [node["discriminant"]];
  const callee = node.type === "CallExpression" ? asNode(node["callee"]) : null;
  if (callee === null || !textTests.has(nameOf(callee["property"]) ?? "")) return [];
  return [callee["object"], ...(node["arguments"] as readonly unknown[])];
}

/** Whether there is one at all is no branch on which. */
function isAbsence(node: SyntaxNode): boolean {
  const sides = [asNode(node["left"]), asNode(node["right"])];
  return sides.some((side) => nameOf(side) === "undefined" || (side?.type === "Literal" && side["value"] === null));
}

function branchesOnMeaning(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) =>
    nodesOf(file)
      .filter((node) => subjectsOf(node).some((subject) => isMeaning(file, subject)))
      .map((node) => `${placeOf(file, node)}  ${textOf(file, node)}`),
  );
}

function isMeaning(file: SourceFile, subject: unknown): boolean {
  const node = asNode(subject);
  return (
    node !== null &&
    (node.type === "MemberExpression" || node.type === "ChainExpression" || node.type === "Identifier") &&
    meaning.test(textOf(file, node))
  );
}

describe("the executor", () => {
  it("[EXE-06] compares no intent type, scope type or capability name", () => {
    expect(executor.length).toBeGreaterThan(0);
    expect(branchesOnMeaning(executor)).toEqual([]);
  });

  it("the scan finds such a branch however it is written", () => {
    const lines = [
      'if (record.intent.type === "A.B") go();',
      "switch (plan.intent_type) { default: }",
      'const x = intent.scope.type !== "project" ? 1 : 2;',
      'if (capabilityName.startsWith("Mail")) go();',
      "if (special.has(capability.intent_type)) go();",
    ];
    const fine = 'if (run.capability === null || intent_type === undefined) stop(); if (step.type === "x") go();';
    const text = [...lines, fine].join("\n");
    expect(branchesOnMeaning([{ path: "probe.ts", text }]).map((line) => line.split(" ")[0])).toEqual(
      lines.map((_, i) => `probe.ts:${i + 1}`),
    );
  });
});

describe("the timeout", () => {
  const callsOf = (name: string) =>
    product.flatMap((file) =>
      nodesOf(file)
        .filter((node) => node.type === "CallExpression" && nameOf(node["callee"]) === name)
        .map((node) => placeOf(file, node)),
    );

  it("[INV-08] is written by exactly one caller", () => {
    const callers = callsOf("writeTimeout");
    expect(callers, "writeTimeout must be called once: by the Timeout middleware").toHaveLength(1);
    expect(callers[0]).toMatch(/^src\/tiers\/t4-execution\//);
  });

  it("[INV-08] has no other writer: nothing assigns a timeout to an object that exists", () => {
    const wrong = executor.flatMap((file) =>
      [...walkWithParents(parseSource(file))]
        .filter(
          ({ node, parent }) =>
            parent?.type === "AssignmentExpression" &&
            parent["left"] === node &&
            /\.timeout(_?sec|_?ms)?$/i.test(textOf(file, node)),
        )
        .map(({ node }) => `${placeOf(file, node)}  ${textOf(file, node)}`),
    );
    expect(wrong).toEqual([]);
  });
});

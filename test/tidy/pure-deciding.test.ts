/**
 * What decides in T4 is synchronous and pure: it waits for nothing, reads no clock, and reaches no runtime and no
 * store.
 */
import { describe, expect, it } from "vitest";
import {
  asNode,
  importsOf,
  nameOf,
  nodesOf,
  placeOf,
  type SourceFile,
  type SyntaxNode,
  sourcesIn,
  stringOf,
} from "./source-files.ts";

const folder = "src/tiers/t4-execution/decide/";
/** What is ready is one piece for plans, turns and tokens; it is held to the same. */
const queue = "src/engine/actors/ready-queue.ts";
const files = [
  ...sourcesIn("src/tiers/t4-execution/decide"),
  ...sourcesIn("src/engine/actors").filter(({ path }) => path === queue),
];

const impure: ReadonlySet<string> = new Set([
  "Promise",
  "setTimeout",
  "setInterval",
  "setImmediate",
  "queueMicrotask",
  "fetch",
  "process",
  "performance",
  "console",
  "crypto",
  "globalThis",
  "runtime",
  "clock",
  "store",
]);
/** They read what was thrown, and nothing else. */
const pureHelpers: ReadonlySet<string> = new Set(["errorOf", "messageOf"]);

/** `Date` reads instants that are given: `Date.parse(text)`, `new Date(instant)`. */
function isGivenInstant(node: SyntaxNode): boolean {
  if (node.type === "MemberExpression")
    return nameOf(node["object"]) !== "Date" || nameOf(node["property"]) === "parse";
  if (node.type === "CallExpression") return nameOf(node["callee"]) !== "Date";
  if (node.type !== "NewExpression" || nameOf(node["callee"]) !== "Date") return true;
  return (node["arguments"] as readonly unknown[]).length > 0;
}

function isImpure(node: SyntaxNode): boolean {
  if (node.type === "AwaitExpression" || node["async"] === true || node["await"] === true) return true;
  if (impure.has(nameOf(node) ?? "")) return true;
  const isRandom = nameOf(node["object"]) === "Math" && nameOf(node["property"]) === "random";
  return isRandom || !isGivenInstant(node);
}

const impureIn = (file: SourceFile): string[] =>
  nodesOf(file)
    .filter(isImpure)
    .map((node) => `${placeOf(file, node)}  ${nameOf(node) ?? node.type}`);

/**
 * Types may say what the runtime and the ports are; what runs comes from the words, the machines, and deciding itself.
 */
function strangersIn(file: SourceFile): string[] {
  const isOwn = (path: string): boolean =>
    path === queue || ["src/contract/", "machines/", folder].some((room) => path.startsWith(room));
  return importsOf(file)
    .filter(({ file: path, package: name, kind, specifier }) => {
      if (path === null) return name !== "zod";
      if (path.startsWith("src/tiers/")) return !path.startsWith(folder);
      return kind !== "type" && !isOwn(path) && !takesHelpers(file, specifier);
    })
    .map((edge) => `${edge.from}:${edge.line}  imports ${edge.specifier}`);
}

function takesHelpers(file: SourceFile, specifier: string): boolean {
  if (!specifier.endsWith("/engine/actors/within.ts")) return false;
  const declaration = nodesOf(file).find(
    (node) => node.type === "ImportDeclaration" && stringOf(node["source"]) === specifier,
  );
  const specifiers = (declaration?.["specifiers"] ?? []) as readonly unknown[];
  return specifiers.every((one) => pureHelpers.has(nameOf(asNode(one)?.["imported"]) ?? ""));
}

describe("deciding", () => {
  it("contains no async, await or Promise, no clock, chance or timer, no runtime and no store", () => {
    expect(files.length).toBeGreaterThan(10);
    expect(files.flatMap(impureIn)).toEqual([]);
  });

  it("loads nothing but the contract, the machines, zod and itself", () => {
    expect(files.flatMap(strangersIn)).toEqual([]);
  });

  it("the scan finds each of them, and leaves given instants alone", () => {
    const at = (text: string): SourceFile => ({ path: `${folder}probe.ts`, text });
    const wrong = [
      "const f = async () => 1;",
      "async function f() { await g(); }",
      "let p: Promise<void>;",
      "const n = Date.now();",
      "const n = new Date();",
      "const n = Math.random();",
      "setImmediate(f);",
      "run.runtime.send(1);",
      "const { store } = run;",
    ];
    expect(wrong.filter((text) => impureIn(at(text)).length === 0)).toEqual([]);
    expect(impureIn(at("const n = Math.max(Date.parse(a), 1); const t = new Date(n).toISOString();"))).toEqual([]);
    const strange = [
      'import { callWithin } from "../../../engine/actors/within.ts";',
      'import type { Asking } from "../perform/ask.ts";',
      'import { readFile } from "node:fs";',
    ];
    expect(strange.filter((text) => strangersIn(at(text)).length === 0)).toEqual([]);
    expect(strangersIn(at('import { errorOf } from "../../../engine/actors/within.ts";'))).toEqual([]);
  });
});

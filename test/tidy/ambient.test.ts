/** Time, chance, timers and environment are injected: what touches the machine's own has a row in ambient.ts. */
import { expect, it } from "vitest";
import { type AmbientCall, ambientCalls, ambientRows } from "./ambient.ts";
import {
  lineAt,
  nameOf,
  parseSource,
  type SourceFile,
  type SyntaxNode,
  sourcesIn,
  stringOf,
  walkWithParents,
} from "./source-files.ts";

interface Touch {
  readonly file: SourceFile;
  readonly call: AmbientCall;
  readonly line: number;
}

const known: ReadonlySet<string> = new Set(ambientCalls);
const isKnown = (call: string): call is AmbientCall => known.has(call);

function touchesOf(file: SourceFile): readonly Touch[] {
  const touches: Touch[] = [];
  for (const { node, parent } of walkWithParents(parseSource(file))) {
    const call = memberCall(node) ?? dateCall(node) ?? globalCall(node, parent) ?? importedCall(node, parent);
    if (call !== null && isKnown(call)) touches.push({ file, call, line: lineAt(file, node.start) });
  }
  return touches;
}

/** `Date.now`, `globalThis.setTimeout`. */
function memberCall(node: SyntaxNode): string | null {
  if (node.type !== "MemberExpression" || node["computed"] === true) return null;
  const [object, property] = [nameOf(node["object"]), nameOf(node["property"])];
  return object === "globalThis" ? property : `${object}.${property}`;
}

/** `new Date()` and `Date()`; with an argument it only converts. */
function dateCall(node: SyntaxNode): string | null {
  if (nameOf(node["callee"]) !== "Date") return null;
  const bare = node.type === "NewExpression" && (node["arguments"] as readonly unknown[]).length === 0;
  return bare || node.type === "CallExpression" ? "new Date()" : null;
}

/** `setTimeout` as a name of its own: not a property, not a key, not a word of a type. */
function globalCall(node: SyntaxNode, parent: SyntaxNode | null): string | null {
  const name = nameOf(node);
  if (name === null || parent === null || parent["property"] === node || parent["key"] === node) return null;
  return parent.type.startsWith("TS") || parent.type.startsWith("Import") ? null : name;
}

/** `import { randomUUID } from "node:crypto"`, `import { setTimeout } from "node:timers/promises"`. */
function importedCall(node: SyntaxNode, parent: SyntaxNode | null): string | null {
  const from = stringOf((node.type === "ImportDeclaration" ? node : parent)?.["source"])?.replace("node:", "");
  if (from === "timers/promises") return node.type === "ImportDeclaration" ? from : null;
  if (node.type !== "ImportSpecifier") return null;
  const name = nameOf(node["imported"]);
  return from === "timers" ? name : `${from === "perf_hooks" ? "performance" : from}.${name}`;
}

const isAllowed = ({ file, call }: Touch): boolean =>
  ambientRows.some(
    (row) =>
      (row.path.endsWith("/") ? file.path.startsWith(row.path) : file.path === row.path) && row.calls.includes(call),
  );

const describeTouch = ({ file, call, line }: Touch): string => `${file.path}:${line}  ${call}`;

it("only rows of the table touch the machine's clock, chance, timers and environment", () => {
  const touches = sourcesIn("src", "machines", "test", "visualizations").flatMap(touchesOf);
  const strays = touches.filter((touch) => !isAllowed(touch));
  expect(
    strays.map((touch) => `${describeTouch(touch)}: inject it, or add a row with its reason to ambient.ts`),
  ).toEqual([]);
});

it("the check finds every spelling, and leaves conversions and the injected clock alone", () => {
  const text = `
    import { randomUUID } from "node:crypto";
    import { setTimeout as sleep } from "node:timers/promises";
    const a = Date.now(), b = new Date(), c = performance.now(), d = process.env["X"], e = process.hrtime.bigint();
    const later = globalThis.setInterval; setTimeout(() => {}, 1); run(setImmediate);
    Math.random(); crypto.randomBytes(1);
    const fine = new Date(5); clock.setTimeout(1); const f = { setTimeout: 1, now: Date.parse("x") };
    type T = ReturnType<typeof setTimeout>;
  `;
  const found = touchesOf({ path: "probe.ts", text }).map((touch) => touch.call);
  expect([...new Set(found)].sort()).toEqual([
    "Date.now",
    "Math.random",
    "crypto.randomBytes",
    "crypto.randomUUID",
    "new Date()",
    "performance.now",
    "process.env",
    "process.hrtime",
    "setInterval",
    "setTimeout",
    "timers/promises",
  ]);
});

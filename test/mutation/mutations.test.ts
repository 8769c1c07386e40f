/** Mutations: what a source allows, how they are drawn, and who can notice them. */
import { describe, expect, it } from "vitest";
import { parseAst } from "vitest/node";
import { type SourceFile, sourcesIn } from "../tidy/source-files.ts";
import type { TestFile } from "./coverage.ts";
import { drawMutations } from "./draw-mutations.ts";
import { type MutationReport, noticing, sourcesMatching, survivorsAmong, within } from "./mutate.ts";
import { instrument, mutate, mutationsOf } from "./mutations.ts";

const sourceOf = (text: string): SourceFile => ({ path: "sample.ts", text });

/** `before → after` of every change of a text. */
const changesOf = (text: string): readonly string[] =>
  mutationsOf(sourceOf(text)).map(({ before, after }) => `${before} → ${after}`);

describe("the changes of a source", () => {
  it.each([
    ["if (a < b) f();", ["if (a < b) f(); → ;", "a < b → !(a < b)", "< → <=", "f(); → ;"]],
    ["while (a) f();", ["a → !(a)", "f(); → ;"]],
    ["const x = a && b;", ["&& → ||"]],
    ["const x = a ?? 1;", ["a ?? 1 → a", "1 → 2"]],
    ["const x = a ? b : c;", ["b : c → c : b"]],
    ["const x = !a;", ["!a → a"]],
    ["const x = { a: b, ...c };", ["a: b, → ", "...c → "]],
    ["const x = [a];", ["[a] → []"]],
    ["const x = a.some(f);", ["some → every"]],
    ["const x = a.filter(f);", ["a.filter(f) → a"]],
    ["function f() { return g(); }", ["g() → null"]],
    ["const x = true;", ["true → false"]],
    ['const x = "a";', ['"a" → ""']],
    ["const x = (a + b) === c;", ["+ → -", "=== → !=="]],
  ])("of %s are these", (text, changes) => {
    expect(changesOf(text)).toEqual(changes);
  });

  it.each([
    'import { a } from "b";',
    'export * from "b";',
    'type A = "b" | "c";',
    "interface A { readonly b: 1 }",
    'const x = a as "b";',
    "const x = f`a`;",
    'raise("nobody answers");',
  ])("are none of %s but the statement's own", (text) => {
    expect(changesOf(text).filter((change) => !change.endsWith("→ ;"))).toEqual([]);
  });

  it("leave a file of the kernel a program, and change one span alone", () => {
    const texts = new Map(sourcesIn("src", "machines").map(({ path, text }) => [path, text]));
    const all = sourcesMatching(["machines/**", "src/contract/**", "src/tiers/**"]).flatMap(mutationsOf);
    const broken: string[] = [];
    for (const mutation of drawMutations(all, 1).slice(0, 500)) {
      const { path, line, kind, start, end, before } = mutation;
      const text = texts.get(path) ?? "";
      expect(text.slice(start, end)).toBe(before);
      expect(mutate(text, mutation)).not.toBe(text);
      try {
        parseAst(mutate(text, mutation), { lang: "ts" }, path);
      } catch {
        broken.push(`${path}:${line} ${kind}`);
      }
    }
    expect(broken).toEqual([]);
  });
});

describe("an instrumented source", () => {
  it("is a program still, whatever the file", () => {
    for (const file of sourcesIn("src", "machines").filter(({ path }) => path.endsWith(".ts")))
      expect(() => parseAst(instrument(file), { lang: "ts" }, file.path)).not.toThrow();
  });

  it("does what it did, and names each block that it enters", () => {
    const file = sourceOf("const pick = (a) => { if (a) { return [1].map((n) => ({ n })); } return []; };");
    const run = (text: string, flag: boolean): readonly [unknown, number] => {
      const hits = new Set<string>();
      const program = new Function("flag", "globalThis", `${text} return pick(flag);`) as (
        flag: boolean,
        world: object,
      ) => unknown;
      return [program(flag, { __hit: (block: string) => hits.add(block) }), hits.size];
    };
    expect(run(instrument(file), true)).toEqual([run(file.text, true)[0], 3]);
    expect(run(instrument(file), false)).toEqual([[], 1]);
  });
});

describe("a draw", () => {
  const all = sourcesMatching(["machines/**"]).flatMap(mutationsOf);

  it("is the same for a seed, another for another, and has nothing twice", () => {
    const drawn = drawMutations(all, 7);
    expect(drawMutations(all, 7)).toEqual(drawn);
    expect(drawMutations(all, 8)).not.toEqual(drawn);
    expect(new Set(drawn).size).toBe(all.length);
  });

  it("is found again where the file has changed around it", () => {
    const [first, second] = mutationsOf(sourceOf("f(1);\ng(2);")).filter(({ kind }) => kind === "change number");
    const report = { survivors: [second] } as unknown as MutationReport;
    const moved = mutationsOf(sourceOf("g(2);\n// more\nf(1);\ng(2);\n"));
    const [again] = survivorsAmong(moved, report);
    expect([again?.before, again?.line]).toEqual(["2", 1]);
    expect(survivorsAmong([first as never], report)).toEqual([]);
  });

  it("has about as many of each kind", () => {
    const kinds = Object.values(Object.groupBy(drawMutations(all, 1).slice(0, 60), ({ kind }) => kind));
    expect(kinds.length).toBeGreaterThan(8);
  });
});

describe("who can notice", () => {
  const test = (path: string, tookMs: number, blocks: readonly string[], passed = true): TestFile => ({
    path,
    key: "",
    tookMs,
    passed,
    blocks,
  });
  const [mutation] = mutationsOf(sourceOf("function f() { g(); }"));
  const block = mutation?.block as string;
  const elsewhere = block.replace(/\d+$/, "999");
  const tests = [test("slow", 90, [block]), test("other", 1, [elsewhere]), test("fast", 20, [block])];

  it("is who enters the block, fastest first, and sooner who noticed others; never who fails unchanged", () => {
    if (mutation === undefined) throw new Error("no mutation");
    const order = (kills?: ReadonlyMap<string, number>): readonly string[] =>
      noticing(mutation, [...tests, test("failing", 0, [block], false)], kills).map(({ path }) => path);
    expect(order()).toEqual(["fast", "slow"]);
    expect(order(new Map([["slow", 9]]))).toEqual(["slow", "fast"]);
    const atTop = { ...mutation, block: null };
    expect(noticing(atTop, tests).map(({ path }) => path)).toEqual(["other", "fast", "slow"]);
  });

  it("a quick look runs the first tests that fit into its time, and one in any case", () => {
    const took = [400, 500, 200].map((ms, i) => test(String(i), ms, []));
    const ran = (seconds: number) => within(seconds, took).map(({ path }) => path);
    expect([ran(0.1), ran(0.9), ran(1), ran(2)].map((paths) => paths.join(""))).toEqual(["0", "01", "01", "012"]);
  });
});

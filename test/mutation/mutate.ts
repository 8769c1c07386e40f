/**
 * `npm run mutate -- --seed S --count N [--files GLOB] [--json]`: draws small changes of the kernel's sources, runs for
 * each the tests that enter its block, and lists the changes that no test notices. `--skip N` leaves out the first of
 * the draw; `--again REPORT` tries the survivors of a report (of `--json`) once more; `--seconds S` runs of each one's
 * tests the first that together take so long, for a quick look whose survivors are then tried with all by `--again`.
 *
 * Owns: the trial of one mutation, and the listing. Never: changes the checkout; survivors are a list, not a failure
 * (exit code 0).
 * T1  A mutation is killed by the first failing test or by a run that goes silent; it survives otherwise.
 * T2  What does not compile is no mutation: it is passed over, and so is a survivor that breaks the types of another
 *     file.
 */
import { readFileSync } from "node:fs";
import { matchesGlob } from "node:path";
import { parseArgs } from "node:util";
import { sourcesIn } from "../tidy/source-files.ts";
import { type CheckoutCopy, copyCheckout } from "./checkout-copy.ts";
import { readCoverage, type TestFile } from "./coverage.ts";
import { drawMutations } from "./draw-mutations.ts";
import { type Mutation, mutate, mutationsOf } from "./mutations.ts";
import { openTypeChecker, type TypeChecker } from "./type-checker.ts";

type Fate = "killed" | "timeout" | "survived";

export interface Trial extends Mutation {
  readonly fate: Fate;
  /** The test file that noticed. */
  readonly by: string | null;
  readonly covered_by: readonly string[];
}

export interface MutationReport {
  readonly count: number;
  readonly fates: Readonly<Record<Fate, number>>;
  readonly failing_before: readonly string[];
  readonly survivors: readonly Trial[];
}

const mutated: readonly string[] = ["machines/**", "src/contract/**", "src/tiers/**"];

export const sourcesMatching = (globs: readonly string[]) =>
  sourcesIn("machines", "src").filter(({ path }) => globs.some((glob) => matchesGlob(path, glob)));

/**
 * The tests that can notice, fastest first, and sooner those that have noticed others. What stands outside every block
 * can be noticed by whoever enters its file.
 */
export function noticing(
  { path, block }: Mutation,
  tests: readonly TestFile[],
  kills: ReadonlyMap<string, number> = new Map(),
): readonly TestFile[] {
  const enters = ({ blocks }: TestFile): boolean =>
    block === null ? blocks.some((entered) => entered.startsWith(`${path}:`)) : blocks.includes(block);
  const able = tests.filter(({ passed }) => passed);
  const entering = able.filter(enters);
  const noticed = entering.length === 0 && block === null ? able : entering;
  const cost = (test: TestFile): number => test.tookMs / (1 + (kills.get(test.path) ?? 0));
  return noticed.toSorted((a, b) => cost(a) - cost(b));
}

interface Trying {
  readonly copy: CheckoutCopy;
  readonly types: TypeChecker;
  readonly able: readonly TestFile[];
}

/** Null for a change that does not compile. */
async function tryMutation(mutation: Mutation, { copy, types, able }: Trying): Promise<Trial | null> {
  const covered_by = able.map(({ path }) => path);
  const told = (fate: Fate, by: string | null = null): Trial => ({ ...mutation, fate, by, covered_by });
  const text = copy.read(mutation.path);
  copy.write(mutation.path, mutate(text, mutation));
  try {
    if (!types.accepts(mutation.path)) return null;
    if (able.length > 0) {
      const { ended, files } = await copy.runTests(covered_by, 1);
      if (ended === "timeout") return told("timeout");
      if (ended === "failed") return told("killed", files.find(({ passed }) => !passed)?.path ?? null);
    }
    return (await copy.compiles()) ? told("survived") : null;
  } finally {
    copy.write(mutation.path, text);
  }
}

const excerpt = (text: string): string => text.replaceAll(/\s+/g, " ").slice(0, 100);

function describeTrial({ path, line, kind, before, after, covered_by }: Trial): string {
  const covering = covered_by.length === 0 ? "no test" : `${covered_by.length}: ${covered_by.slice(0, 4).join(" ")}`;
  return `${path}:${line}  ${kind}\n    - ${excerpt(before)}\n    + ${excerpt(after)}\n    covered by ${covering}`;
}

interface Trials {
  readonly count: number;
  readonly tell: (line: string) => void;
  /** What the tests of one may take together, unchanged. */
  readonly seconds?: number;
}

/** The first of them, as long as they take no longer together. */
export function within(seconds: number, tests: readonly TestFile[]): readonly TestFile[] {
  let left = 1000 * seconds;
  const end = tests.findIndex(({ tookMs }) => {
    left -= tookMs;
    return left < 0;
  });
  return end === -1 ? tests : tests.slice(0, Math.max(1, end));
}

/**
 * Tries one after another until so many have been tried, and tells how each ended; `tell` hears of it at once. What is
 * changed is the text that was drawn from.
 */
export async function tryMutations(
  drawn: readonly Mutation[],
  { count, tell, seconds = Number.POSITIVE_INFINITY }: Trials,
): Promise<MutationReport> {
  using copy = copyCheckout();
  using types = openTypeChecker(copy.folder);
  const tests = await readCoverage((files) => tell(`collects what ${files} test files enter`));
  const trials: Trial[] = [];
  const kills = new Map<string, number>();
  for (const mutation of drawn) {
    if (trials.length === count) break;
    const trial = await tryMutation(mutation, { copy, types, able: within(seconds, noticing(mutation, tests, kills)) });
    if (trial === null) continue;
    const { fate, path, line, kind, by } = trial;
    trials.push(trial);
    if (by !== null) kills.set(by, (kills.get(by) ?? 0) + 1);
    tell(`${trials.length} ${fate} ${path}:${line} ${kind} ${by ?? ""}`);
  }
  const fates = { killed: 0, timeout: 0, survived: 0 };
  for (const { fate } of trials) fates[fate] += 1;
  return {
    count: trials.length,
    fates,
    failing_before: tests.filter(({ passed }) => !passed).map(({ path }) => path),
    survivors: trials.filter(({ fate }) => fate === "survived"),
  };
}

/** Of these, what an earlier report lists as survivors: the same change of the same file, nearest to where it stood. */
export const survivorsAmong = (all: readonly Mutation[], { survivors }: MutationReport): readonly Mutation[] =>
  survivors.flatMap(({ path, kind, before, after, start }) => {
    const same = all.filter((m) => m.path === path && m.kind === kind && m.before === before && m.after === after);
    return same.toSorted((a, b) => Math.abs(a.start - start) - Math.abs(b.start - start)).slice(0, 1);
  });

function printReport({ survivors, fates, failing_before }: MutationReport): void {
  const { killed, timeout, survived } = fates;
  console.log([...survivors.map(describeTrial), ""].join("\n"));
  console.log(`${killed} killed, ${timeout} went silent, ${survived} survived`);
  if (failing_before.length > 0) console.log(`left out, as they fail unchanged: ${failing_before.join(" ")}`);
}

if (import.meta.main) {
  // Ending by the way of every exit ends what runs in the copy, and removes it.
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => process.exit(1));
  const { values } = parseArgs({
    options: {
      seed: { type: "string", default: "1" },
      count: { type: "string", default: "50" },
      files: { type: "string", multiple: true, default: [...mutated] },
      skip: { type: "string", default: "0" },
      seconds: { type: "string", default: "Infinity" },
      again: { type: "string" },
      json: { type: "boolean", default: false },
    },
  });
  const all = sourcesMatching(values.files).flatMap(mutationsOf);
  const drawn =
    values.again === undefined
      ? drawMutations(all, Number(values.seed)).slice(Number(values.skip))
      : survivorsAmong(all, JSON.parse(readFileSync(values.again, "utf8")) as MutationReport);
  const count = values.again === undefined ? Number(values.count) : drawn.length;
  const report = await tryMutations(drawn, {
    count,
    tell: (line) => console.error(line),
    seconds: Number(values.seconds),
  });
  if (values.json) console.log(JSON.stringify(report, null, 2));
  else printReport(report);
}

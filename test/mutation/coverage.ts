/**
 * Which test files enter which blocks of the sources, and how long each test file takes; collected once, kept outside
 * git.
 *
 * Owns: the instrumented run and its cache under `node_modules/`. Never: runs a changed source.
 * V1  A test file that fails in the unchanged copy notices nothing: it is listed, and left out of every run.
 * V2  What is kept for a test file holds as long as its own text and that of everything it loads stay as they are.
 * V3  Where none passes, nothing is tried: every change would seem to survive.
 * V4  Blocks entered in processes that tests start are not counted.
 */
import { hash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { importsOf, listPaths, readSource, root, sourcesIn } from "../tidy/source-files.ts";
import { type CheckoutCopy, copyCheckout } from "./checkout-copy.ts";
import { instrument } from "./mutations.ts";

export interface TestFile {
  readonly path: string;
  readonly key: string;
  readonly tookMs: number;
  readonly passed: boolean;
  readonly blocks: readonly string[];
}

/**
 * Tests that read the sources as text, those that build, pack, or only start processes and browsers, and those of real
 * sockets: the first notice no change by running it, what is built cannot be built of instrumented sources, the last
 * fail of themselves where the machine is busy.
 */
const leftOut: readonly string[] = [
  "test/tidy/",
  "test/mutation/",
  "test/sim/",
  "test/console/",
  "test/guide/",
  "test/package/",
  "test/http/sockets.test.ts",
  "test/http/raw-requests.test.ts",
  "test/mcp/conformance.test.ts",
  "test/mcp/processes.test.ts",
];

const cachePath = join(root, "node_modules/.cache/countersign/mutation-coverage.json");
const isTest = (path: string): boolean => path.endsWith(".test.ts");

export const testPaths = (): readonly string[] =>
  listPaths("test").filter((path) => isTest(path) && !leftOut.some((folder) => path.startsWith(folder)));

const loadedBy = new Map<string, readonly string[]>();

/** The files of ours that a file loads. */
function loadsOf(path: string): readonly string[] {
  const known = loadedBy.get(path);
  if (known !== undefined) return known;
  const loads = importsOf(readSource(path)).flatMap(({ file, kind }) =>
    file === null || kind === "type" ? [] : [file],
  );
  loadedBy.set(path, loads);
  return loads;
}

/** The file and all that it loads, directly or through others, in a stable order. */
function closureOf(path: string): readonly string[] {
  const reached = new Set([path]);
  for (const at of reached) for (const file of loadsOf(at)) reached.add(file);
  return [...reached].sort();
}

/** What a test file's coverage rests on: its own text, and that of everything it loads. */
const keyOf = (path: string): string =>
  hash(
    "sha256",
    closureOf(path)
      .map((reached) => `${reached}\n${readSource(reached).text}`)
      .join("\n"),
  );

const readCache = (): readonly TestFile[] =>
  existsSync(cachePath) ? (JSON.parse(readFileSync(cachePath, "utf8")) as readonly TestFile[]) : [];

const hitsFile = (folder: string, path: string): string => join(folder, `${path.replaceAll("/", "+")}.json`);

function instrumentCopy(copy: CheckoutCopy, tests: readonly string[], folder: string): void {
  for (const file of sourcesIn("src", "machines")) {
    if (file.path.endsWith(".ts")) copy.write(file.path, instrument(file));
  }
  for (const path of tests) {
    const recorder = `${"../".repeat(path.split("/").length - 1)}test/mutation/record-hits.ts`;
    const head = `import { recordHits } from "${recorder}"; recordHits(${JSON.stringify(hitsFile(folder, path))});`;
    copy.write(path, `${head}\n${copy.read(path)}`);
  }
}

async function collect(missing: readonly string[], keys: ReadonlyMap<string, string>): Promise<readonly TestFile[]> {
  using copy = copyCheckout();
  const folder = mkdtempSync(join(dirname(copy.folder), "hits-"));
  instrumentCopy(copy, missing, folder);
  const ends = new Map((await copy.runTests(missing, 0)).files.map((end) => [end.path, end]));
  return missing.map((path) => {
    const end = ends.get(path);
    const hits = hitsFile(folder, path);
    return {
      path,
      key: keys.get(path) ?? "",
      tookMs: end?.took_ms ?? 0,
      passed: end?.passed ?? false,
      blocks: existsSync(hits) ? (JSON.parse(readFileSync(hits, "utf8")) as readonly string[]) : [],
    };
  });
}

/** Every test file with what it enters; runs only those of which nothing valid is kept. */
export async function readCoverage(onCollect: (files: number) => void): Promise<readonly TestFile[]> {
  const paths = testPaths();
  const keys = new Map(paths.map((path) => [path, keyOf(path)]));
  const kept = readCache().filter(({ path, key }) => keys.get(path) === key);
  const known = new Set(kept.map(({ path }) => path));
  const missing = paths.filter((path) => !known.has(path));
  if (missing.length === 0) return kept;
  onCollect(missing.length);
  const all = [...kept, ...(await collect(missing, keys))];
  if (!all.some(({ passed }) => passed))
    throw new Error("no test file passes in the unchanged copy: nothing could notice a change");
  mkdirSync(dirname(cachePath), { recursive: true });
  writeFileSync(cachePath, JSON.stringify(all));
  return all;
}

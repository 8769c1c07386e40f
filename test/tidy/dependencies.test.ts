/** What the package depends on, why, and what its root entry really loads. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { importsOf, readSource, root, sourcesIn } from "./source-files.ts";

type Dependencies = Readonly<Record<string, string>>;

interface Manifest {
  readonly dependencies?: Dependencies;
  readonly devDependencies?: Dependencies;
  readonly peerDependencies?: Dependencies;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

const manifest = JSON.parse(readSource("package.json").text) as Manifest;
const namesIn = (list: Dependencies | undefined): readonly string[] => Object.keys(list ?? {});
const core = ["xstate", "zod", "rxjs", "ulid"] as const;

/** The first column of the table headed `| Dependency |`, with its reason. */
function dependencyTable(): ReadonlyMap<string, string> {
  const path = "ARCHITECTURE.md";
  if (!existsSync(join(root, path))) throw new Error(`${path} does not exist yet: it holds the table of dependencies`);
  const lines = readSource(path).text.split("\n");
  const head = lines.findIndex((line) => /^\|\s*Dependency\s*\|/.test(line));
  if (head < 0) throw new Error(`${path} has no table headed "| Dependency |"`);
  const rest = lines.slice(head + 2);
  const end = rest.findIndex((line) => !line.startsWith("|"));
  const rows = rest.slice(0, end < 0 ? rest.length : end).map((line) => line.split("|").map((cell) => cell.trim()));
  return new Map(
    rows.flatMap(([, names = "", ...cells]) => packagesIn(names).map((name) => [name, cells.join(" ").trim()])),
  );
}

/** A row may name several: "`vitest`, `@xstate/graph` 3". */
const packagesIn = (cell: string): readonly string[] =>
  cell.split(/[,;]|\band\b/).flatMap((part) => /(?:@[\w.-]+\/)?[\w.-]+/.exec(part)?.[0] ?? []);

describe("dependencies", () => {
  it("[CARD-01] package.json names the six packages of the design in their places", () => {
    expect(namesIn(manifest.dependencies)).toEqual(expect.arrayContaining([...core]));
    expect(namesIn(manifest.devDependencies)).toEqual(expect.arrayContaining(["vitest", "@xstate/graph"]));
  });

  it("[CARD-01] every dependency has a row with a reason in ARCHITECTURE.md", () => {
    const table = dependencyTable();
    const lists = [manifest.dependencies, manifest.devDependencies, manifest.peerDependencies];
    const without = lists.flatMap(namesIn).filter((name) => (table.get(name) ?? "") === "");
    expect(without.map((name) => `${name} has no row with a reason`)).toEqual([]);
  });

  it("[CARD-01] @xstate/graph and the clients of Postgres and Restate are optional peers, if peers at all", () => {
    const mustNotComeAlong = ["@xstate/graph", "pg", "postgres", "@restatedev/restate-sdk"];
    expect(namesIn(manifest.dependencies).filter((name) => mustNotComeAlong.includes(name))).toEqual([]);
    const forced = namesIn(manifest.peerDependencies).filter(
      (name) => manifest.peerDependenciesMeta?.[name]?.optional !== true,
    );
    expect(forced).toEqual([]);
  });

  it("every dependency is used, and what the product loads is one", () => {
    const used = new Set(
      sourcesIn("src", "machines")
        .flatMap(importsOf)
        .flatMap((edge) => edge.package ?? []),
    );
    expect(namesIn(manifest.dependencies).filter((name) => !used.has(name))).toEqual([]);
    const shipped = new Set([...namesIn(manifest.dependencies), ...namesIn(manifest.peerDependencies)]);
    expect([...used].filter((name) => !name.startsWith("node:") && !shipped.has(name))).toEqual([]);
  });
});

/** What importing a file of the repository loads, asked of a process of its own. */
function loadedBy(path: string): readonly string[] {
  if (!existsSync(join(root, path))) throw new Error(`${path} does not exist yet`);
  const script = join(root, "test/tidy/list-loaded.ts");
  return JSON.parse(
    execFileSync(process.execPath, [script, join(root, path)], { encoding: "utf8" }),
  ) as readonly string[];
}

/** The four packages and all that they depend on. */
function allowedPackages(): ReadonlySet<string> {
  const allowed = new Set<string>(core);
  for (const name of allowed) {
    const path = join("node_modules", name, "package.json");
    for (const inner of namesIn((JSON.parse(readSource(path).text) as Manifest).dependencies)) allowed.add(inner);
  }
  return allowed;
}

describe("the root entry", () => {
  it("[CARD-01] loads no package but xstate, zod, rxjs, ulid and their own", () => {
    const allowed = allowedPackages();
    const packages = loadedBy("src/index.ts").filter((name) => !name.startsWith("node:"));
    expect(packages).toEqual(expect.arrayContaining([...core]));
    expect(packages.filter((name) => !allowed.has(name))).toEqual([]);
  });

  it("[CARD-01] loads neither a database nor a network", () => {
    const heavy =
      /^node:(sqlite|http|https|http2|net|tls|dgram|dns|child_process|cluster|worker_threads|inspector|repl)$/;
    expect(loadedBy("src/index.ts").filter((name) => heavy.test(name))).toEqual([]);
  });

  it("the machines load xstate and nothing else", () => {
    expect(loadedBy("machines/index.ts")).toEqual(["xstate"]);
  });
});
